/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <sys/socket.h>
#include <unistd.h>

#include "compat/sock.h"

static void
test_peer(void **state)
{
	int ends[2], tcp[2];
	uid_t uid = 12345;
	gid_t gid = 12345;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(sock_peer_ids(ends[0], &uid, &gid), 0);
	assert_int_equal(uid, geteuid());
	assert_int_equal(gid, getegid());
	/* Nobody is known at the other end of these. */
	tcp_pair(tcp);
	assert_int_equal(sock_peer_ids(tcp[0], &uid, &gid), -1);
	assert_int_equal(sock_peer_ids(-1, &uid, &gid), -1);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(tcp[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
