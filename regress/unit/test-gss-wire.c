/* SPDX-License-Identifier: ISC */
/* Lists of mechanisms, and what a MIC is computed over. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "crypto/digest.h"
#include "crypto/kem.h"

#include "gss/gss-wire.h"

static const uint8_t other[] = { 0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05,
	0x02 };

/* A list of so many others, with Kerberos behind them or not. */
static int
read_list(uint32_t said, uint32_t others, bool kerberos, bool *found)
{
	struct span oid = gss_wire_kerberos();
	struct buf b = { 0 };
	struct rd in;
	int r;

	buf_put_u32(&b, said);
	for (uint32_t i = 0; i < others; i++)
		buf_put_string(&b, other, sizeof other);
	if (kerberos)
		buf_put_string(&b, oid.p, oid.len);
	in = rd_from_buf(&b);
	r = gss_wire_get_request(&in, found);
	buf_clear(&b);
	return r;
}

static void
own_request_is_read(void **state)
{
	static const uint8_t bytes[] = { 0, 0, 0, 1, 0, 0, 0, 11, 0x06, 0x09,
		0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02 };
	struct buf b = { 0 };
	bool found = false;
	struct rd in;

	(void)state;
	gss_wire_put_request(&b);
	assert_int_equal(buf_len(&b), sizeof bytes);
	assert_memory_equal(buf_data(&b), bytes, sizeof bytes);
	in = rd_from_buf(&b);
	assert_int_equal(gss_wire_get_request(&in, &found), 0);
	assert_true(found);
	buf_clear(&b);
}

static void
lists_have_limits(void **state)
{
	bool found;

	(void)state;
	assert_int_equal(read_list(3, 2, true, &found), 0);
	assert_true(found);
	assert_int_equal(read_list(2, 2, false, &found), 0);
	assert_false(found);
	assert_int_equal(read_list(GSS_MECHS_MAX, GSS_MECHS_MAX - 1, true,
			     &found),
	    0);
	assert_true(found);
	assert_int_equal(read_list(0, 0, false, &found), ERR_PROTOCOL);
	assert_int_equal(read_list(GSS_MECHS_MAX + 1, GSS_MECHS_MAX, true,
			     &found),
	    ERR_PROTOCOL);
	assert_int_equal(read_list(0xffffffff, 1, true, &found),
	    ERR_PROTOCOL);
	assert_true(read_list(2, 0, true, &found) < 0); /* too short */
	assert_int_equal(read_list(1, 1, true, &found), ERR_TRAILING);
}

static void
only_the_whole_oid_counts(void **state)
{
	struct span oid = gss_wire_kerberos();
	uint8_t copy[12];

	(void)state;
	memcpy(copy, oid.p, oid.len);
	copy[oid.len] = 1;
	assert_true(gss_wire_is_kerberos((struct span){ copy, oid.len }));
	for (size_t i = 0; i < oid.len; i++) {
		assert_false(gss_wire_is_kerberos((struct span){ copy, i }));
		copy[i] ^= 1;
		assert_false(
		    gss_wire_is_kerberos((struct span){ copy, oid.len }));
		copy[i] ^= 1;
	}
	/* without tag and length, as some have sent it; and with more */
	assert_false(gss_wire_is_kerberos((struct span){ copy + 2, 9 }));
	assert_false(gss_wire_is_kerberos((struct span){ copy, 12 }));
}

static void
signed_data_names_all(void **state)
{
	static const char want[] = "\0\0\0\2id\62\0\0\0\2me\0\0\0\3ssh"
				   "\0\0\0\17gssapi-with-mic";
	struct buf b = { 0 };

	(void)state;
	gss_wire_put_signed(&b, (struct span){ (const uint8_t *)"id", 2 },
	    "me", "ssh", "gssapi-with-mic");
	assert_int_equal(buf_len(&b), sizeof want - 1);
	assert_memory_equal(buf_data(&b), want, sizeof want - 1);
	buf_clear(&b);
}

/* What the names of key exchange methods end with. */
static void
suffix_is_of_the_oid(void **state)
{
	struct span oid = gss_wire_kerberos();
	uint8_t sum[DIGEST_MAX_LEN];
	char *text;

	(void)state;
	assert_int_equal(digest_once(DIGEST_MD5, oid.p, oid.len, sum), 0);
	text = str_base64_encode(sum, 16);
	assert_non_null(text);
	for (size_t i = 0; kem_gss_at(i) != NULL; i++) {
		const struct kem_alg *alg = kem_gss_at(i);
		size_t len = strlen(alg->gss_prefix);

		assert_memory_equal(alg->name, alg->gss_prefix, len);
		assert_string_equal(alg->name + len, text);
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_request_is_read),
		cmocka_unit_test(lists_have_limits),
		cmocka_unit_test(only_the_whole_oid_counts),
		cmocka_unit_test(signed_data_names_all),
		cmocka_unit_test(suffix_is_of_the_oid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
