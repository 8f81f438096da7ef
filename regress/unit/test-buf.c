/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/buf.h"

static void
test_zeroed(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(buf_len(&b), 0);
	assert_non_null(buf_data(&b));
	assert_int_equal(buf_err(&b), 0);
	buf_put_u8(&b, 7);
	assert_hex(buf_data(&b), buf_len(&b), "07");
	buf_clear(&b);
	assert_int_equal(buf_len(&b), 0);
}

static void
test_types(void **state)
{
	struct buf b, other;

	(void)state;
	buf_init(&b);
	buf_init(&other);
	buf_put_u8(&b, 0x01);
	buf_put_bool(&b, true);
	buf_put_bool(&b, false);
	buf_put_u16(&b, 0x0203);
	buf_put_u32(&b, 0x04050607);
	buf_put_u64(&b, 0x08090a0b0c0d0e0f);
	assert_hex(buf_data(&b), buf_len(&b),
	    "01010002030405060708090a0b0c0d0e0f");
	buf_reset(&b);
	buf_put_string(&b, "ab", 2);
	buf_put_cstring(&b, "c");
	buf_put_cstring(&b, NULL);
	assert_hex(buf_data(&b), buf_len(&b),
	    "000000026162000000016300000000");
	buf_reset(&b);
	buf_put(&other, "xy", 2);
	buf_put_buf(&b, &other);
	buf_put_string_buf(&b, &other);
	assert_hex(buf_data(&b), buf_len(&b), "7879000000027879");
	assert_int_equal(buf_err(&b), 0);
	buf_clear(&b);
	buf_clear(&other);
}

/* RFC 4251 section 5, and numbers with leading zeros. */
static void
test_mpint(void **state)
{
	static const char *const cases[][2] = {
		{ "", "00000000" },
		{ "0000", "00000000" },
		{ "09a378f9b2e332a7", "0000000809a378f9b2e332a7" },
		{ "80", "000000020080" },
		{ "000080", "000000020080" },
		{ "007f", "000000017f" },
	};
	uint8_t in[16];
	struct buf b;
	size_t len;

	(void)state;
	buf_init(&b);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		len = hex_decode(cases[i][0], in, sizeof in);
		buf_reset(&b);
		buf_put_mpint(&b, in, len);
		assert_hex(buf_data(&b), buf_len(&b), cases[i][1]);
	}
	buf_clear(&b);
}

static void
test_consume(void **state)
{
	uint8_t byte = 0;
	struct buf b;
	size_t total = 0;

	(void)state;
	/* A queue that is fed more than it is drained keeps its order. */
	buf_init(&b);
	for (int turn = 0; turn < 300; turn++) {
		for (int i = 0; i < 100; i++)
			buf_put_u8(&b, byte++);
		for (int i = 0; i < 90; i++) {
			assert_int_equal(buf_data(&b)[0],
			    (uint8_t)(total++));
			buf_consume(&b, 1);
		}
	}
	assert_int_equal(buf_len(&b), 3000);
	buf_truncate(&b, 2);
	assert_int_equal(buf_len(&b), 2);
	assert_int_equal(buf_data(&b)[1], (uint8_t)(total + 1));
	buf_consume(&b, 2);
	assert_int_equal(buf_len(&b), 0);
	buf_clear(&b);
}

static void
test_reserve(void **state)
{
	struct buf b;
	uint8_t *p;

	(void)state;
	buf_init(&b);
	p = buf_reserve(&b, 10000);
	assert_non_null(p);
	memset(p, 0xaa, 10000);
	buf_commit(&b, 3);
	assert_hex(buf_data(&b), buf_len(&b), "aaaaaa");
	buf_clear(&b);
}

/* The first error stays, and nothing more is written. */
static void
test_limit(void **state)
{
	struct buf b, other;

	(void)state;
	buf_init(&b);
	buf_set_max(&b, 6);
	buf_put(&b, "abcd", 4);
	buf_put_u32(&b, 1);
	assert_int_equal(buf_err(&b), ERR_LIMIT);
	buf_put_u8(&b, 1);
	assert_int_equal(buf_len(&b), 4);
	assert_null(buf_reserve(&b, 1));

	buf_init(&other);
	buf_put_buf(&other, &b);
	assert_int_equal(buf_err(&other), ERR_LIMIT);
	buf_clear(&other);
	buf_reset(&b);
	assert_int_equal(buf_err(&b), 0);
	buf_put(&b, "abcdef", 6);
	assert_int_equal(buf_err(&b), 0);
	buf_put_u8(&b, 1);
	assert_int_equal(buf_err(&b), ERR_LIMIT);
	buf_clear(&b);
	assert_int_equal(buf_err(&b), 0);
}

static void
test_open_string(void **state)
{
	size_t outer, inner;
	struct buf b;

	(void)state;
	buf_init(&b);
	buf_put_u8(&b, 9);
	buf_consume(&b, 1);
	outer = buf_open_string(&b);
	buf_put_u8(&b, 1);
	inner = buf_open_string(&b);
	buf_close_string(&b, inner);
	buf_put_u8(&b, 2);
	buf_close_string(&b, outer);
	assert_hex(buf_data(&b), buf_len(&b), "00000006010000000002");
	buf_clear(&b);
}

static void
test_printf(void **state)
{
	struct buf b;
	char *s;

	(void)state;
	buf_init_secret(&b);
	buf_printf(&b, "%s-%d", "a", 5);
	buf_printf(&b, "%s", "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d", i % 10);
	s = buf_dup_string(&b);
	assert_int_equal(strlen(s), 1003);
	assert_memory_equal(s, "a-50123", 7);
	free(s);
	buf_clear(&b);
}

/* A secret that is consumed or cut off is no longer in memory. */
static void
test_secret(void **state)
{
	const uint8_t *p;
	struct buf b;

	(void)state;
	buf_init_secret(&b);
	buf_put(&b, "secret", 6);
	p = buf_data(&b);
	buf_consume(&b, 3);
	assert_hex(p, 6, "000000726574");
	buf_truncate(&b, 1);
	assert_hex(p, 6, "000000720000");
	buf_reset(&b);
	assert_hex(p, 6, "000000000000");
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zeroed),
	    cmocka_unit_test(test_types),
	    cmocka_unit_test(test_mpint),
	    cmocka_unit_test(test_consume),
	    cmocka_unit_test(test_reserve),
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_open_string),
	    cmocka_unit_test(test_printf),
	    cmocka_unit_test(test_secret),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
