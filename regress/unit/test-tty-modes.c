/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ttymodes.h"

static struct termios
some_modes(void)
{
	struct termios t;

	memset(&t, 0, sizeof t);
	for (size_t i = 0; i < NCCS; i++)
		t.c_cc[i] = _POSIX_VDISABLE;
	t.c_cc[VINTR] = 3;
	t.c_cc[VERASE] = 127;
	t.c_iflag = ICRNL | IXON;
	t.c_oflag = OPOST | ONLCR;
	t.c_lflag = ISIG | ICANON | ECHO;
	t.c_cflag = CS8 | PARENB;
	cfsetispeed(&t, B38400);
	cfsetospeed(&t, B38400); /* Linux has one speed for both */
	return t;
}

/* The argument of an opcode in an encoded list; -1 if it is not there. */
static int64_t
argument_of(const struct buf *b, uint8_t op)
{
	struct rd r = rd_from_buf(b);

	while (r.len > 0) {
		uint8_t o = rd_u8(&r);

		if (o == 0)
			return -1;
		uint32_t v = rd_u32(&r);
		if (o == op)
			return v;
	}
	return -1;
}

static void
encodes_rfc_4254_opcodes(void **state)
{
	static const struct {
		uint8_t op;
		int64_t value;
	} want[] = {
		{ 1, 3 },	/* VINTR */
		{ 2, 255 },	/* VQUIT: none */
		{ 3, 127 },	/* VERASE */
		{ 36, 1 },	/* ICRNL */
		{ 34, 0 },	/* INLCR */
		{ 50, 1 },	/* ISIG */
		{ 53, 1 },	/* ECHO */
		{ 54, 0 },	/* ECHOE */
		{ 72, 1 },	/* ONLCR */
		{ 90, 0 },	/* CS7 */
		{ 91, 1 },	/* CS8 */
		{ 92, 1 },	/* PARENB */
		{ 128, 38400 }, /* TTY_OP_ISPEED */
		{ 129, 38400 }, /* TTY_OP_OSPEED */
		{ 19, -1 },	/* not assigned */
	};
	struct termios t = some_modes();
	struct buf b = { 0 };

	(void)state;
	ttymodes_encode(&t, &b);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_int_equal(argument_of(&b, want[i].op), want[i].value);
	assert_int_equal(buf_data(&b)[buf_len(&b) - 1], 0);
	buf_clear(&b);
}

static void
comes_back_the_same(void **state)
{
	struct termios t = some_modes(), u;
	struct buf b = { 0 };

	(void)state;
	memset(&u, 0xff, sizeof u);
	u.c_cflag = CS7;
	ttymodes_encode(&t, &b);
	assert_int_equal(ttymodes_apply(buf_span(&b),
			     &u),
	    0);
	assert_int_equal(u.c_cc[VINTR], 3);
	assert_int_equal(u.c_cc[VERASE], 127);
	assert_int_equal(u.c_cc[VQUIT], _POSIX_VDISABLE);
	assert_true(u.c_iflag & ICRNL);
	assert_false(u.c_iflag & INLCR);
	assert_true(u.c_oflag & ONLCR);
	assert_false(u.c_oflag & OCRNL);
	assert_true(u.c_lflag & ICANON);
	assert_false(u.c_lflag & ECHOE);
	assert_int_equal(u.c_cflag & CSIZE, CS8);
	assert_int_equal(cfgetospeed(&u), B38400);
	buf_clear(&b);
}

static void
odd_lists(void **state)
{
	static const uint8_t unknown[] = { 20, 0, 0, 0, 1, 53, 0, 0, 0, 0, 0 };
	static const uint8_t ended[] = { 160, 1, 2 };
	static const uint8_t cut[] = { 53, 0, 0 };
	struct termios t = some_modes();

	(void)state;
	assert_int_equal(
	    ttymodes_apply((struct span){ unknown, sizeof unknown }, &t), 0);
	assert_false(t.c_lflag & ECHO);
	assert_int_equal(
	    ttymodes_apply((struct span){ ended, sizeof ended }, &t), 0);
	assert_int_equal(ttymodes_apply((struct span){ cut, sizeof cut }, &t),
	    ERR_TRUNCATED);
	assert_int_equal(ttymodes_apply((struct span){ NULL, 0 }, &t), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_rfc_4254_opcodes),
		cmocka_unit_test(comes_back_the_same),
		cmocka_unit_test(odd_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
