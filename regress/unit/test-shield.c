/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <string.h>

#include "agent/shield.h"
#include "base/mem.h"

static struct shield *
fresh(void)
{
	struct shield *s = NULL;

	assert_int_equal(shield_new(&s), 0);
	return s;
}

static void
seal(struct shield *s, struct buf *out)
{
	struct buf plain = { 0 };

	buf_put_cstring(&plain, "a private key, say");
	assert_int_equal(shield_seal(s, &plain, out), 0);
	buf_clear(&plain);
}

static int
opens(const struct shield *s, const struct buf *sealed)
{
	struct buf plain;
	struct rd rd;
	int r;

	buf_init_secret(&plain);
	r = shield_open(s, sealed, &plain);
	rd = rd_from_buf(&plain);
	if (r == 0)
		assert_true(span_equals(rd_string(&rd), "a private key, say"));
	buf_clear(&plain);
	return r;
}

/* Nothing of it can be seen, not even that two are the same. */
static void
test_hidden(void **state)
{
	struct shield *s = fresh();
	struct buf one = { 0 }, two = { 0 };

	(void)state;
	seal(s, &one);
	seal(s, &two);
	assert_null(memmem(buf_data(&one), buf_len(&one), "private", 7));
	assert_int_equal(buf_len(&one), buf_len(&two));
	assert_memory_not_equal(buf_data(&one) + 4, buf_data(&two) + 4,
	    buf_len(&one) - 4);
	assert_int_equal(opens(s, &one), 0);
	assert_int_equal(opens(s, &two), 0);
	buf_clear(&one);
	buf_clear(&two);
	shield_free(s);
}

static void
test_tampered(void **state)
{
	struct shield *s = fresh(), *other = fresh();
	struct buf sealed = { 0 }, copy = { 0 };

	(void)state;
	seal(s, &sealed);
	for (size_t i = 0; i < buf_len(&sealed); i++) {
		buf_reset(&copy);
		buf_put_buf(&copy, &sealed);
		((uint8_t *)(uintptr_t)buf_data(&copy))[i] ^= 1;
		assert_int_equal(opens(s, &copy), ERR_MAC);
	}
	for (size_t n = 0; n < buf_len(&sealed); n++) {
		buf_reset(&copy);
		buf_put(&copy, buf_data(&sealed), n);
		assert_int_equal(opens(s, &copy), ERR_MAC);
	}
	assert_int_equal(opens(other, &sealed), ERR_MAC);
	buf_clear(&copy);
	buf_clear(&sealed);
	shield_free(s);
	shield_free(other);
}

static void
test_lock(void **state)
{
	struct shield *s = fresh();
	struct buf sealed = { 0 }, more = { 0 };

	(void)state;
	seal(s, &sealed);
	assert_int_equal(shield_lock(s, span_text("")), ERR_ARGUMENT);
	assert_int_equal(shield_unlock(s, span_text("x")), ERR_DENIED);
	assert_false(shield_is_locked(s));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shield_lock(s, span_text("word")), 0);
		assert_true(shield_is_locked(s));
		assert_int_equal(shield_lock(s, span_text("two")),
		    ERR_DENIED);
		assert_int_equal(opens(s, &sealed), ERR_DENIED);
		assert_int_equal(shield_seal(s, &sealed, &more), ERR_DENIED);
		assert_int_equal(shield_unlock(s, span_text("wor")),
		    ERR_PASSPHRASE);
		assert_int_equal(shield_unlock(s, span_text("")),
		    ERR_PASSPHRASE);
		assert_int_equal(opens(s, &sealed), ERR_DENIED);
		assert_int_equal(shield_unlock(s, span_text("word")), 0);
		assert_int_equal(opens(s, &sealed), 0);
	}
	buf_clear(&sealed);
	shield_free(s);
}

static void
test_limit(void **state)
{
	struct shield *s = fresh();
	struct buf plain = { 0 }, out = { 0 };

	(void)state;
	assert_non_null(buf_reserve(&plain, 0x40000));
	buf_commit(&plain, 0x40000);
	assert_int_equal(shield_seal(s, &plain, &out), ERR_LIMIT);
	assert_int_equal(buf_len(&out), 0);
	buf_clear(&plain);
	shield_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_tampered),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
