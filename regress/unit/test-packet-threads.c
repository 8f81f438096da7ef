/* SPDX-License-Identifier: ISC */
/* What the environment says of the threads that precompute keystream. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet.h"

/* A connection that is logged in and encrypts with AES-CTR. */
static struct packet *
open_packet(int fd[2])
{
	struct packet_keys k = { .cipher = cipher_by_name("aes128-ctr"),
		.mac = mac_by_name("umac-64-etm@openssh.com") };
	struct packet *p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	p = packet_new(fd[0], fd[0], false);
	assert_non_null(p);
	assert_int_equal(packet_set_keys(p, PACKET_TX, &k, false), 0);
	assert_int_equal(packet_set_keys(p, PACKET_RX, &k, false), 0);
	assert_int_equal(packet_authenticated(p), 0);
	return p;
}

/* HPN-SSH's variable: a number that is out of range stands for the nearest one
 * that is in it, and is the threads of each direction. */
static void
test_environment(void **state)
{
	static const struct {
		const char *value;
		size_t threads;
	} rows[] = { { "4", 4 }, { "0", 1 }, { "-7", 1 }, { "100", 32 },
		{ "many", 1 }, { "", 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet *p;
		int fd[2];

		setenv("SSH_CIPHER_THREADS", rows[i].value, 1);
		p = open_packet(fd);
		packet_set_threads(p, 2);
		packet_set_form(p, PACKET_FORM_KEYSTREAM, false);
		(void)packet_poll(p);
		assert_int_equal(packet_threads(p), 2 * rows[i].threads);
		packet_free(p);
		fd_close(&fd[0]);
		fd_close(&fd[1]);
	}
	unsetenv("SSH_CIPHER_THREADS");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
	};

	log_init("test-packet-threads", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
