/* SPDX-License-Identifier: ISC */
/*
 * What the monitor and the session process of a session that survives say to
 * each other. Either end may be somebody's by now: what is malformed is
 * refused, at once, and leaves no descriptor open.
 */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/survive-talk.h"

static int
open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static void
test_words(void **state)
{
	struct survive_message m, got;
	int ends[2], fd;

	(void)state;
	socket_pair(SOCK_DGRAM, ends);
	for (int word = SURVIVE_FREEZE; word < SURVIVE_WORDS; word++) {
		m = (struct survive_message){ (enum survive_word)word,
			UINT64_C(0x0102030405060708) * (unsigned)word, -1 };
		if (word == SURVIVE_ATTACH)
			m.fd = ends[1];
		assert_int_equal(survive_say(ends[0], &m), 0);
		assert_int_equal(survive_hear(ends[1], &got), 0);
		assert_int_equal(got.word, word);
		assert_true(got.n == m.n);
		assert_true((got.fd != -1) == (word == SURVIVE_ATTACH));
		fd = got.fd;
		fd_close(&fd);
	}
	fd_close(&ends[0]);
	/* The other end is gone. */
	assert_true(survive_hear(ends[1], &got) < 0);
	fd_close(&ends[1]);
}

/* Words that there are not, and descriptors where they mean nothing. */
static void
test_malformed(void **state)
{
	struct survive_message got;
	uint8_t bytes[16] = { 0 };
	int ends[2], before;

	(void)state;
	socket_pair(SOCK_DGRAM, ends);
	before = open_descriptors();
	for (int word = 0; word < 256; word++)
		for (int with = 0; with < 2; with++) {
			bool good = word > 0 && word < SURVIVE_WORDS &&
			    (word == SURVIVE_ATTACH) == (with != 0);

			bytes[0] = (uint8_t)word;
			assert_int_equal(fd_send_with(ends[0], bytes, 9,
			    with != 0 ? ends[0] : -1), 0);
			got.fd = -1;
			assert_int_equal(survive_hear(ends[1], &got),
			    good ? 0 : ERR_PROTOCOL);
			if (good)
				fd_close(&got.fd);
			assert_int_equal(got.fd, -1);
			assert_int_equal(open_descriptors(), before);
		}
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

/* A datagram of another length is an error, which does not wait for more. */
static void
test_lengths(void **state)
{
	struct survive_message got;
	uint8_t bytes[16] = { SURVIVE_FROZEN };
	int ends[2];

	(void)state;
	for (size_t len = 1; len < 9; len++) {
		socket_pair(SOCK_DGRAM, ends);
		assert_int_equal(send(ends[0], bytes, len, 0), len);
		assert_int_equal(survive_hear(ends[1], &got), ERR_SYSTEM);
		fd_close(&ends[0]);
		fd_close(&ends[1]);
	}
}

static void
test_connections(void **state)
{
	struct survive_connection c = { .fd = -1 }, got;
	int ends[2], pair[2], before = open_descriptors();

	(void)state;
	socket_pair(SOCK_STREAM, ends);
	socket_pair(SOCK_STREAM, pair);
	buf_init_secret(&c.packet_state);
	buf_init_secret(&c.kex_state);
	buf_put(&c.packet_state, "packet", 6);
	for (int i = 0; i < 20000; i++)
		buf_put_u8(&c.kex_state, (uint8_t)i);
	c.fd = pair[0];
	assert_int_equal(survive_send_connection(ends[0], &c), 0);
	assert_int_equal(survive_receive_connection(ends[1], &got), 0);
	assert_int_equal(buf_len(&got.packet_state), 6);
	assert_int_equal(buf_len(&got.kex_state), 20000);
	assert_memory_equal(buf_data(&got.kex_state), buf_data(&c.kex_state),
	    20000);
	assert_int_equal(write(got.fd, "x", 1), 1);
	assert_int_equal(read(pair[1], &(char){ 0 }, 1), 1);
	survive_connection_clear(&got);
	assert_int_equal(got.fd, -1);
	/* One that ends behind the descriptor. */
	assert_int_equal(fd_send_fds(ends[0], &pair[0], 1), 0);
	fd_close(&ends[0]);
	assert_true(survive_receive_connection(ends[1], &got) < 0);
	survive_connection_clear(&got);
	survive_connection_clear(&c);
	fd_close(&pair[1]);
	fd_close(&ends[1]);
	assert_int_equal(open_descriptors(), before);
}

/* Bytes behind the two states are an error. */
static void
test_more_behind(void **state)
{
	struct survive_connection got;
	struct buf b = { 0 };
	int ends[2];

	(void)state;
	socket_pair(SOCK_STREAM, ends);
	buf_put_cstring(&b, "one");
	buf_put_cstring(&b, "two");
	buf_put_u8(&b, 0);
	assert_int_equal(fd_send_fds(ends[0], &ends[0], 1), 0);
	assert_int_equal(fd_send_msg(ends[0], &b), 0);
	assert_true(survive_receive_connection(ends[1], &got) < 0);
	survive_connection_clear(&got);
	buf_clear(&b);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_more_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
