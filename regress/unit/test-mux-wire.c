/* SPDX-License-Identifier: ISC */
/*
 * Messages of shared connections: bytes as OpenSSH sends them, and whatever is
 * put is what is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/mux/mux-wire.h"
#include "regress/unit/dice.h"

static void
assert_bytes(const struct buf *b, const void *p, size_t len)
{
	assert_int_equal(buf_err(b), 0);
	assert_int_equal(buf_len(b), len);
	assert_memory_equal(buf_data(b), p, len);
}

static void
test_hello(void **state)
{
	/* Length 16, HELLO, version 4, "info", "0". */
	static const char bytes[] = "\0\0\0\x15\0\0\0\1\0\0\0\4"
				    "\0\0\0\4info\0\0\0\1" "0";
	struct buf b = { 0 }, out = { 0 };
	struct rd r;

	(void)state;
	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, "info", "0");
	assert_int_equal(mux_frame(&out, &b), 0);
	assert_bytes(&out, bytes, sizeof bytes - 1);
	assert_int_equal(mux_unframe(&out, &r), 1);
	assert_int_equal(rd_u32(&r), MUX_HELLO);
	assert_int_equal(mux_read_hello(&r), 0);
	/* Another version, and an extension without its value. */
	r = rd_from("\0\0\0\5", 4);
	assert_int_equal(mux_read_hello(&r), ERR_UNSUPPORTED);
	r = rd_from("\0\0\0\4\0\0\0\1x", 9);
	assert_int_equal(mux_read_hello(&r), ERR_TRUNCATED);
	buf_clear(&out);
	buf_clear(&b);
}

static void
test_session_bytes(void **state)
{
	static const char bytes[] =
	    "\x10\0\0\2\0\0\0\7" /* NEW_SESSION, request 7 */
	    "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7e"
	    "\0\0\0\5xterm\0\0\0\2id\0\0\0\3A=b";
	struct mux_session s = { .tty = true, .escape = '~',
		.term = strdup("xterm"), .command = strdup("id") };
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(strlist_add(&s.env, "A=b"), 0);
	mux_begin_request(&b, MUX_SESSION, 7);
	mux_put_session(&b, &s);
	assert_bytes(&b, bytes, sizeof bytes - 1);
	mux_session_clear(&s);
	buf_clear(&b);
}

static void
test_numbers(void **state)
{
	(void)state;
	assert_int_equal(MUX_CHECK, 0x10000004);
	assert_int_equal(MUX_EXIT, 0x10000005);
	assert_int_equal(MUX_ADD_FORWARD, 0x10000006);
	assert_int_equal(MUX_CANCEL_FORWARD, 0x10000007);
	assert_int_equal(MUX_STDIO, 0x10000008);
	assert_int_equal(MUX_STOP, 0x10000009);
	assert_int_equal(MUX_OK, 0x80000001);
	assert_int_equal(MUX_NO_TTY, 0x80000008);
	assert_int_equal(MUX_PORT_PATH, 0xfffffffeu);
}

/* ---- property: what is put is read -------------------------------------- */

static char *
some_text(struct dice *d, size_t max)
{
	size_t len = dice_below(d, (uint32_t)max + 1);
	char *s = xcalloc(1, len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = (char)(1 + dice_below(d, 255));
	return s;
}

static void
same_session(const struct mux_session *a, const struct mux_session *b)
{
	assert_int_equal(a->tty, b->tty);
	assert_int_equal(a->x11, b->x11);
	assert_int_equal(a->agent, b->agent);
	assert_int_equal(a->subsystem, b->subsystem);
	assert_int_equal(a->escape, b->escape);
	assert_string_equal(a->term, b->term);
	assert_string_equal(a->command, b->command);
	assert_int_equal(a->env.n, b->env.n);
	for (size_t i = 0; i < a->env.n; i++)
		assert_string_equal(a->env.v[i], b->env.v[i]);
}

static void
one_session(struct dice *d)
{
	struct mux_session s = {
		.tty = dice_below(d, 2),
		.x11 = dice_below(d, 2),
		.agent = dice_below(d, 2),
		.subsystem = dice_below(d, 2),
		.escape = (uint32_t)dice_below(d, 300),
		.term = some_text(d, 40),
		.command = some_text(d, 3000),
	}, back;
	struct buf b = { 0 };
	struct rd r;
	char *entry;

	for (size_t n = dice_below(d, 20); n > 0; n--) {
		entry = some_text(d, 60);
		assert_int_equal(strlist_add(&s.env, entry), 0);
		free(entry);
	}
	mux_put_session(&b, &s);
	r = rd_from_buf(&b);
	assert_int_equal(mux_read_session(&r, &back), 0);
	same_session(&s, &back);
	mux_session_clear(&back);
	/* Cut off anywhere: an error, or fewer variables. */
	r = rd_from(buf_data(&b), dice_below(d, (uint32_t)buf_len(&b)));
	if (mux_read_session(&r, &back) == 0)
		assert_true(back.env.n < s.env.n);
	mux_session_clear(&back);
	mux_session_clear(&s);
	buf_clear(&b);
}

static void
one_forward(struct dice *d)
{
	struct mux_forward f = {
		.type = (uint32_t)dice_below(d, 5),
		.listen_host = some_text(d, 100),
		.listen_port = dice_below(d, 4) == 0 ? MUX_PORT_PATH :
		    (uint32_t)dice_below(d, 65536),
		.target_host = some_text(d, 100),
		.target_port = (uint32_t)dice_below(d, 65536),
	}, back;
	struct buf b = { 0 };
	struct rd r;

	mux_put_forward(&b, &f);
	r = rd_from_buf(&b);
	assert_int_equal(mux_read_forward(&r, &back), 0);
	assert_int_equal(back.type, f.type);
	assert_string_equal(back.listen_host, f.listen_host);
	assert_int_equal(back.listen_port, f.listen_port);
	assert_string_equal(back.target_host, f.target_host);
	assert_int_equal(back.target_port, f.target_port);
	mux_forward_clear(&back);
	buf_put_u8(&b, 0);
	r = rd_from_buf(&b);
	assert_int_equal(mux_read_forward(&r, &back), ERR_TRAILING);
	mux_forward_clear(&back);
	mux_forward_clear(&f);
	buf_clear(&b);
}

static void
test_round_trips(void **state)
{
	struct dice d = { 1 };

	(void)state;
	for (int i = 0; i < 2000; i++) {
		one_session(&d);
		one_forward(&d);
	}
}

/* ---- limits ------------------------------------------------------------- */

/* Messages in a row, byte by byte. */
static void
test_frames(void **state)
{
	struct buf message = { 0 }, wire = { 0 }, in = { 0 };
	struct rd r;
	unsigned got = 0;

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		mux_begin_request(&message, MUX_CHECK, i);
		for (uint32_t k = 0; k < i; k++)
			buf_put_u8(&message, (uint8_t)k);
		assert_int_equal(mux_frame(&wire, &message), 0);
	}
	for (size_t i = 0; i < buf_len(&wire); i++) {
		buf_put(&in, buf_data(&wire) + i, 1);
		if (mux_unframe(&in, &r) == 0)
			continue;
		assert_int_equal(rd_u32(&r), MUX_CHECK);
		assert_int_equal(rd_u32(&r), got);
		assert_int_equal(r.len, got++);
		mux_consume(&in);
		assert_int_equal(buf_len(&in), 0);
	}
	assert_int_equal(got, 50);
	buf_clear(&message);
	buf_clear(&wire);
	buf_clear(&in);
}

static void
test_limits(void **state)
{
	struct buf b = { 0 }, out = { 0 };
	struct mux_session s;
	struct rd r;

	(void)state;
	assert_non_null(buf_reserve(&b, MUX_MESSAGE_MAX + 1));
	memset(buf_reserve(&b, MUX_MESSAGE_MAX), 0, MUX_MESSAGE_MAX);
	buf_commit(&b, MUX_MESSAGE_MAX);
	assert_int_equal(mux_frame(&out, &b), 0);
	assert_int_equal(mux_unframe(&out, &r), 1);
	buf_put_u8(&b, 0);
	assert_int_equal(mux_frame(&out, &b), ERR_LIMIT);
	/* The length is enough to know. */
	buf_reset(&out);
	buf_put_u32(&out, MUX_MESSAGE_MAX + 1);
	assert_int_equal(mux_unframe(&out, &r), ERR_LIMIT);

	buf_reset(&b);
	for (int i = 0; i < 8; i++)
		buf_put_u32(&b, 0); /* a session of nothing */
	for (int i = 0; i <= MUX_ENV_MAX; i++) {
		r = rd_from_buf(&b);
		if (i % 512 == 0) {
			assert_int_equal(mux_read_session(&r, &s), 0);
			assert_int_equal(s.env.n, i);
			mux_session_clear(&s);
		}
		buf_put_u32(&b, 0);
	}
	r = rd_from_buf(&b);
	assert_int_equal(mux_read_session(&r, &s), ERR_LIMIT);
	mux_session_clear(&s);
	buf_clear(&b);
	buf_clear(&out);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_session_bytes),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
