/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/wire.h"

static uint8_t bytes[64];

static struct rd
from_hex(const char *hex)
{
	return rd_from(bytes, hex_decode(hex, bytes, sizeof bytes));
}

static void
test_types(void **state)
{
	struct rd r = from_hex("0100020304050607ff08090a0b0c0d0e0f"
			       "000000026162cc"), sub;
	struct span s;

	(void)state;
	assert_int_equal(rd_u8(&r), 1);
	assert_false(rd_bool(&r));
	assert_int_equal(rd_u16(&r), 0x0203);
	assert_int_equal(rd_u32(&r), 0x04050607);
	assert_int_equal(rd_u64(&r), 0xff08090a0b0c0d0e);
	assert_true(rd_bool(&r));
	sub = r;
	s = rd_string(&r);
	assert_true(span_equals(s, "ab"));
	assert_false(span_equals(s, "abc"));
	assert_int_equal(rd_end(&r), ERR_TRAILING);
	assert_int_equal(rd_err(&r), 0);
	s = rd_rest(&r);
	assert_hex(s.p, s.len, "cc");
	assert_int_equal(rd_end(&r), 0);

	/* The same string as a cursor of its own. */
	r = sub;
	sub = rd_sub(&r);
	assert_int_equal(rd_u8(&sub), 'a');
	assert_int_equal(rd_u8(&sub), 'b');
	assert_int_equal(rd_end(&sub), 0);
	assert_int_equal(rd_u8(&sub), 0);
	assert_int_equal(rd_end(&sub), ERR_TRUNCATED);
	assert_int_equal(rd_err(&r), 0);
}

/* Too short for each of them: zero, and the error stays. */
static void
test_truncated(void **state)
{
	struct rd r;

	(void)state;
	r = rd_from(NULL, 0);
	assert_int_equal(rd_end(&r), 0);
	assert_int_equal(rd_u8(&r), 0);
	assert_int_equal(rd_end(&r), ERR_TRUNCATED);
	r = from_hex("01");
	assert_int_equal(rd_u16(&r), 0);
	assert_int_equal(rd_err(&r), ERR_TRUNCATED);
	assert_int_equal(rd_u8(&r), 0);
	r = from_hex("010203");
	assert_int_equal(rd_u32(&r), 0);
	r = from_hex("01020304050607");
	assert_int_equal(rd_u64(&r), 0);
	assert_int_equal(rd_err(&r), ERR_TRUNCATED);
	r = from_hex("0000000361");
	assert_int_equal(rd_string(&r).len, 0);
	assert_int_equal(rd_err(&r), ERR_TRUNCATED);
	r = from_hex("ffffffff61");
	assert_int_equal(rd_string(&r).len, 0);
	assert_int_equal(rd_err(&r), ERR_TRUNCATED);
	r = from_hex("0000000461");
	r = rd_sub(&r);
	assert_int_equal(rd_end(&r), ERR_TRUNCATED);
}

static void
test_mpint(void **state)
{
	static const struct {
		const char *wire, *value;
		int r;
	} cases[] = {
		{ "00000000", "", 0 },
		{ "000000017f", "7f", 0 },
		{ "000000020080", "80", 0 },
		{ "0000000180", "", ERR_FORMAT },     /* negative */
		{ "00000002007f", "", ERR_FORMAT },   /* not minimal */
		{ "0000000100", "", ERR_FORMAT },     /* zero in a byte */
		{ "00000003000080", "", ERR_FORMAT },
		{ "00000002", "", ERR_TRUNCATED },
	};
	struct span s;
	struct rd r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		r = from_hex(cases[i].wire);
		s = rd_mpint(&r);
		assert_int_equal(rd_end(&r), cases[i].r);
		assert_hex(s.p, s.len, cases[i].value);
	}
}

static void
test_cstring(void **state)
{
	struct rd r;
	char *s;

	(void)state;
	r = from_hex("000000026162");
	s = rd_cstring(&r, 2);
	assert_string_equal(s, "ab");
	free(s);
	r = from_hex("000000026162");
	assert_null(rd_cstring(&r, 1));
	assert_int_equal(rd_err(&r), ERR_LIMIT);
	r = from_hex("000000026100");
	assert_null(rd_cstring(&r, 9));
	assert_int_equal(rd_err(&r), ERR_FORMAT);
	r = from_hex("00000000");
	s = rd_cstring(&r, 0);
	assert_string_equal(s, "");
	free(s);
	assert_null(span_dup((struct span){ (const uint8_t *)"a\0b", 3 }));
}

static void
test_fail(void **state)
{
	struct rd r = from_hex("0102");

	(void)state;
	rd_fail(&r, ERR_PROTOCOL);
	rd_fail(&r, ERR_LIMIT);
	assert_int_equal(rd_u8(&r), 0);
	assert_int_equal(rd_end(&r), ERR_PROTOCOL);
}

/* What struct buf writes is what struct rd reads. */
static void
test_round_trip(void **state)
{
	static const char number[] = "\xff\x00\x01";
	struct buf b;
	struct span s;
	struct rd r;

	(void)state;
	buf_init(&b);
	buf_put_u64(&b, UINT64_MAX - 1);
	buf_put_mpint(&b, number, 3);
	buf_put_cstring(&b, "end");
	r = rd_from_buf(&b);
	assert_true(rd_u64(&r) == UINT64_MAX - 1);
	s = rd_mpint(&r);
	assert_memory_equal(s.p, number, 3);
	r = rd_from_span(rd_string(&r));
	assert_true(span_equals(rd_rest(&r), "end"));
	buf_clear(&b);
}

static void
test_in_place(void **state)
{
	uint8_t w[8];

	(void)state;
	wire_put_u16(w, 0xfedc);
	assert_int_equal(wire_get_u16(w), 0xfedc);
	wire_put_u32(w, 0xfedcba98);
	assert_int_equal(wire_get_u32(w), 0xfedcba98);
	wire_put_u64(w, 0xfedcba9876543210);
	assert_hex(w, 8, "fedcba9876543210");
	assert_true(wire_get_u64(w) == 0xfedcba9876543210);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_types),
	    cmocka_unit_test(test_truncated),
	    cmocka_unit_test(test_mpint),
	    cmocka_unit_test(test_cstring),
	    cmocka_unit_test(test_fail),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_in_place),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
