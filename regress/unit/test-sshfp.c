/* SPDX-License-Identifier: ISC */
/* What SSHFP records say of a key (RFC 4255, 6594, 7479). */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "keys/sshfp.h"

static struct key *rsa, *ed;
/* Data of records: of the keys, by SHA-1 and SHA-256. */
static uint8_t rsa1[22], rsa256[34], ed1[22], ed256[34];

static void
record(const struct key *k, enum digest_alg alg, uint8_t kind, uint8_t number,
    uint8_t *out)
{
	struct buf blob = { 0 };

	assert_int_equal(key_to_blob(k, &blob), 0);
	out[0] = kind;
	out[1] = number;
	assert_int_equal(digest_once(alg, buf_data(&blob), buf_len(&blob),
	    out + 2), 0);
	buf_clear(&blob);
}

static int
make_keys(void **state)
{
	(void)state;
	assert_int_equal(key_generate("rsa", 2048, &rsa),
	    0);
	assert_int_equal(key_generate("ed25519", 0, &ed),
	    0);
	record(rsa, DIGEST_SHA1, 1, 1, rsa1);
	record(rsa, DIGEST_SHA256, 1, 2, rsa256);
	record(ed, DIGEST_SHA1, 4, 1, ed1);
	record(ed, DIGEST_SHA256, 4, 2, ed256);
	return 0;
}

static int
free_keys(void **state)
{
	(void)state;
	key_free(rsa);
	key_free(ed);
	return 0;
}

static struct span
whole(const uint8_t *p)
{
	return (struct span){ p, p[1] == 1 ? 22 : 34 };
}

static void
one_record(void **state)
{
	uint8_t other[40] = { 0 };

	(void)state;
	assert_int_equal(sshfp_compare(rsa, whole(rsa1)), 1);
	assert_int_equal(sshfp_compare(rsa, whole(rsa256)), 1);
	assert_int_equal(sshfp_compare(ed, whole(ed256)), 1);
	assert_int_equal(sshfp_compare(ed, whole(rsa256)), 0);
	for (size_t i = 2; i < 34; i++) {
		memcpy(other, ed256, 34);
		other[i] ^= 1;
		assert_int_equal(sshfp_compare(ed, whole(other)), -1);
	}
	/* of no length that the digest has, and of kinds that nobody knows */
	memcpy(other, ed256, 34);
	for (size_t len = 0; len < 40; len++)
		assert_int_equal(sshfp_compare(ed, (struct span){ other, len }),
		    len == 34);
	other[1] = 3;
	assert_int_equal(sshfp_compare(ed, (struct span){ other, 34 }), 0);
	other[0] = 0;
	assert_int_equal(sshfp_compare(ed, (struct span){ other, 34 }), 0);
}

static void
verdicts(void **state)
{
	uint8_t wrong[34];
	struct span v[3] = { { NULL, 0 } };

	(void)state;
	memcpy(wrong, ed256, sizeof wrong);
	wrong[33] ^= 0x80;
	assert_int_equal(sshfp_judge(ed, v, 0), SSHFP_NOTHING);
	v[0] = whole(rsa256);
	assert_int_equal(sshfp_judge(ed, v, 1), SSHFP_MISMATCH);
	v[1] = whole(ed1);
	assert_int_equal(sshfp_judge(ed, v, 2), SSHFP_MATCH);
	v[2] = whole(ed256);
	assert_int_equal(sshfp_judge(ed, v, 3), SSHFP_MATCH);
	v[2] = whole(wrong); /* an equal one does not outweigh it */
	assert_int_equal(sshfp_judge(ed, v, 3), SSHFP_MISMATCH);
	v[2] = (struct span){ wrong, 20 };
	assert_int_equal(sshfp_judge(ed, v, 3), SSHFP_MATCH);
	assert_int_equal(sshfp_judge(rsa, v, 3), SSHFP_MATCH);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_record),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
