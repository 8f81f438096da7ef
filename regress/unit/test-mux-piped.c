/* SPDX-License-Identifier: ISC */
/*
 * A session of a master for a program with a loop: what the master gets, and
 * what becomes of the session after each of its answers, right or wrong.
 */
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/mux/mux-piped.h"
#include "compat/sock.h"

enum { REQUEST = 1, CHANNEL = 77, TURNS = 20 };

static struct client_conf conf;
static struct loop *loop;
static struct mux_piped *piped;
static int master = -1, ours[2], theirs[MUX_SESSION_FDS];

/* ---- the master's end --------------------------------------------------- */

static void
read_request(struct mux_session *s)
{
	struct buf in = { 0 };
	uint8_t head[4];
	struct rd r;
	size_t len;

	assert_int_equal(read(master, head, sizeof head), sizeof head);
	len = wire_get_u32(head);
	assert_true(len < MUX_MESSAGE_MAX);
	assert_int_equal(read(master, buf_reserve(&in, len), len), len);
	buf_commit(&in, len);
	r = rd_from_buf(&in);
	assert_int_equal(rd_u32(&r), MUX_SESSION);
	assert_int_equal(rd_u32(&r), REQUEST);
	assert_int_equal(mux_read_session(&r, s), 0);
	buf_clear(&in);
	for (int i = 0; i < MUX_SESSION_FDS; i++)
		assert_int_equal(fd_receive_fds(master, &theirs[i], 1), 0);
}

static void
begin(bool quiet)
{
	const struct mux_piped_params params = {
		.loop = loop,
		.wanted = { .conf = &conf, .command = "sftp",
			.subsystem = true },
		.quiet = quiet,
	};
	struct mux_conn conn = { .fd = -1 };
	struct mux_session s;
	int pair[2];

	messages_forget();
	assert_int_equal(sock_pair(SOCK_STREAM, pair), 0);
	master = pair[0];
	conn.fd = pair[1];
	assert_int_equal(mux_piped_new(&piped, &params, &conn, ours), 0);
	read_request(&s);
	assert_true(s.subsystem && !s.tty && !s.agent && !s.x11);
	assert_string_equal(s.command, "sftp");
	mux_session_clear(&s);
	assert_true(mux_piped_is_asked(piped));
}

static void
turn(void)
{
	for (int i = 0; i < TURNS; i++)
		assert_int_equal(loop_turn(loop, 0), 0);
}

/* type and numbers, and a text if there is one */
static void
answer(uint32_t type, uint32_t first, uint32_t second, const char *text)
{
	struct buf b = { 0 }, frame = { 0 };

	mux_begin(&b, (enum mux_type)type);
	buf_put_u32(&b, first);
	if (text == NULL)
		buf_put_u32(&b, second);
	else
		buf_put_cstring(&b, text);
	assert_int_equal(mux_frame(&frame, &b), 0);
	assert_int_equal(fd_write_all(master, buf_data(&frame),
			     buf_len(&frame)), 0);
	buf_clear(&b);
	buf_clear(&frame);
	turn();
}

static void
end_master(void)
{
	for (int i = 0; i < MUX_SESSION_FDS; i++)
		fd_close(&theirs[i]);
	fd_close(&master);
	turn();
}

static void
finish(void)
{
	end_master();
	mux_piped_free(piped);
	fd_close(&ours[0]);
	fd_close(&ours[1]);
}

/* ---- cases -------------------------------------------------------------- */

/* Data goes in both directions, and is the last to come. */
static void
test_session(void **state)
{
	char byte = 'x';

	(void)state;
	begin(false);
	answer(MUX_OPENED, REQUEST, CHANNEL, NULL);
	assert_true(mux_piped_is_open(piped));
	assert_int_equal(mux_piped_status(piped), 0);
	assert_int_equal(write(ours[1], "u", 1), 1);
	assert_int_equal(read(theirs[0], &byte, 1), 1);
	assert_int_equal(byte, 'u');
	assert_int_equal(write(theirs[1], "d", 1), 1);
	answer(MUX_STATUS, CHANNEL, 41, NULL);
	end_master();
	assert_false(mux_piped_is_open(piped));
	assert_int_equal(mux_piped_status(piped), 41);
	assert_int_equal(read(ours[0], &byte, 1), 1);
	assert_int_equal(byte, 'd');
	assert_int_equal(read(ours[0], &byte, 1), 0);
	finish();
	assert_text(messages, "");
}

/* It may set O_NONBLOCK on what it gets: not on what others have too. */
static void
test_errors_are_its_own(void **state)
{
	int pipe_ends[2], saved = dup(STDERR_FILENO);

	(void)state;
	assert_int_equal(sock_pipe(pipe_ends, SOCK_WAITS), 0);
	assert_true(dup2(pipe_ends[1], STDERR_FILENO) >= 0);
	begin(true);
	assert_int_equal(fd_set_nonblock(theirs[2], true), 0);
	assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	finish();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	fd_close(&saved);
	fd_close(&pipe_ends[0]);
	fd_close(&pipe_ends[1]);
}

static const struct {
	const char *name;
	uint32_t type, first, second;
	const char *text, *message; /* NULL: any; not for a quiet one */
} refusals[] = {
	{ "failure", MUX_FAILURE, REQUEST, 0, "no\nmore",
	    "mux_client_request_session: session request failed: no\\012more" },
	{ "denied", MUX_DENIED, REQUEST, 0, "never",
	    "Master refused session request: never" },
	{ "another request's", MUX_OPENED, REQUEST + 1, CHANNEL, NULL, NULL },
	{ "another answer", MUX_OK, REQUEST, CHANNEL, NULL, NULL },
	{ "too much", MUX_OPENED, REQUEST, CHANNEL, "text", NULL },
	{ "too early", MUX_STATUS, CHANNEL, 0, NULL, NULL },
};

static void
test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(refusals); i++) {
		size_t n = i / 2;
		bool quiet = i % 2 == 1;

		begin(quiet);
		answer(refusals[n].type, refusals[n].first, refusals[n].second,
		    refusals[n].text);
		assert_false(mux_piped_is_asked(piped));
		assert_false(mux_piped_is_open(piped));
		assert_int_equal(mux_piped_status(piped), 255);
		if (quiet)
			assert_text(messages, "");
		else if (refusals[n].message != NULL)
			assert_non_null(strstr(messages,
			    refusals[n].message));
		else
			assert_int_not_equal(messages[0], '\0');
		finish();
	}
}

static void
test_master_goes(void **state)
{
	(void)state;
	begin(false);
	end_master();
	assert_false(mux_piped_is_asked(piped));
	assert_non_null(strstr(messages, "its master is gone"));
	finish();
	begin(false);
	answer(MUX_OPENED, REQUEST, CHANNEL, NULL);
	end_master();
	assert_false(mux_piped_is_open(piped));
	assert_int_equal(mux_piped_status(piped), 255);
	finish();
	assert_text(messages, ""); /* the end of the data tells it */
}

/* A status of another session is none of this one. */
static void
test_wrong_status(void **state)
{
	(void)state;
	begin(false);
	answer(MUX_OPENED, REQUEST, CHANNEL, NULL);
	answer(MUX_STATUS, CHANNEL + 1, 3, NULL);
	assert_false(mux_piped_is_open(piped));
	assert_int_equal(mux_piped_status(piped), 255);
	finish();
}

static int
setup(void **state)
{
	(void)state;
	messages_keep();
	client_conf_init(&conf);
	loop = loop_new();
	return loop == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	client_conf_clear(&conf);
	loop_free(loop);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_errors_are_its_own),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_master_goes),
		cmocka_unit_test(test_wrong_status),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
