/* SPDX-License-Identifier: ISC */
#include "regress/unit/kat.h"

#include "base/mem.h"
#include "crypto/kem-sntrup761.h"

static uint8_t pk[SNTRUP761_PK_LEN], sk[SNTRUP761_SK_LEN];
static uint8_t ct[SNTRUP761_CT_LEN];
static uint8_t ss[SNTRUP761_SS_LEN], ss_again[SNTRUP761_SS_LEN];

/* The known-answer file's words are little-endian; ours are native. */
static void
random_words(void *p, size_t len)
{
	enum { SMALL_LEN = 191 }; /* asked for as bytes */
	uint8_t *b = p;
	uint32_t v;

	kat_random(p, len);
	if (len == SMALL_LEN)
		return;
	assert_true(len % 4 == 0);
	for (size_t i = 0; i < len; i += 4) {
		v = b[i] | (uint32_t)b[i + 1] << 8 | (uint32_t)b[i + 2] << 16 |
		    (uint32_t)b[i + 3] << 24;
		memcpy(b + i, &v, sizeof v);
	}
}

/*
 * The 100 records of the known-answer file of the NTRU Prime submission:
 * their SHA-256 as published in liboqs (tests/KATs/kem/kats.json; that of
 * the first record also in PQClean's META.yml).
 */
static void
test_kat(void **state)
{
	uint8_t seeds[KAT_RECORDS][KAT_SEED_LEN];
	EVP_MD_CTX *md = EVP_MD_CTX_new();

	(void)state;
	EVP_DigestInit_ex(md, EVP_sha256(), NULL);
	kat_record_seeds(seeds);
	for (size_t i = 0; i < KAT_RECORDS; i++) {
		kat_seed(seeds[i]);
		assert_int_equal(sntrup761_keygen(pk, sk, random_words), 0);
		assert_int_equal(sntrup761_encaps(ct, ss, pk, random_words),
		    0);
		assert_int_equal(sntrup761_decaps(ss_again, ct, sk), 0);
		assert_memory_equal(ss, ss_again, sizeof ss);

		kat_put_head(md, i, seeds[i]);
		kat_put(md, "pk", pk, sizeof pk);
		kat_put(md, "sk", sk, sizeof sk);
		kat_put(md, "ct", ct, sizeof ct);
		kat_put(md, "ss", ss, sizeof ss);
		if (i == 0)
			kat_expect(md, "afc42c3a5b10f4ef69654250097ebda9"
			    "b9564570f4086744b24a6daf2bd1f89a");
	}
	kat_expect(md, "36e1e53d4e6e295e8fb804449958ad9a"
	    "3719aa350e91933c65791b9117382d57");
	EVP_MD_CTX_free(md);
}

/* SHA-512, the first half, of a purpose, a and b. */
static void
half_hash(uint8_t out[32], uint8_t purpose, const uint8_t *a, size_t a_len,
    const uint8_t *b, size_t b_len)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	uint8_t full[64];

	EVP_DigestInit_ex(md, EVP_sha512(), NULL);
	EVP_DigestUpdate(md, &purpose, 1);
	EVP_DigestUpdate(md, a, a_len);
	EVP_DigestUpdate(md, b, b_len);
	EVP_DigestFinal_ex(md, full, NULL);
	EVP_MD_CTX_free(md);
	memcpy(out, full, 32);
}

/* A wrong ciphertext gives the hash, with the purpose 0, of rho and it:
 * wherever the wrong bit is, and for bytes that nobody encrypted. */
static void
test_wrong_ciphertext(void **state)
{
	static const uint8_t seed[KAT_SEED_LEN] = { 1 };
	static const size_t places[] = { 0, 1, 500, 1005, 1006, 1007, 1020,
		SNTRUP761_CT_LEN - 1 };
	const uint8_t *rho = sk + 2 * 191 + SNTRUP761_PK_LEN;
	uint8_t want[32];

	(void)state;
	kat_seed(seed);
	assert_int_equal(sntrup761_keygen(pk, sk, kat_random), 0);
	assert_int_equal(sntrup761_encaps(ct, ss, pk, kat_random), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		ct[places[i]] ^= 4;
		half_hash(want, 3, rho, 191, NULL, 0);
		half_hash(want, 0, want, sizeof want, ct, sizeof ct);
		assert_int_equal(sntrup761_decaps(ss_again, ct, sk), 0);
		assert_memory_equal(ss_again, want, sizeof want);
		ct[places[i]] ^= 4;
	}
	assert_int_equal(sntrup761_decaps(ss_again, ct, sk), 0);
	assert_memory_equal(ss_again, ss, sizeof ss);

	for (int fill = 0; fill < 256; fill += 51) {
		memset(ct, fill, sizeof ct);
		half_hash(want, 3, rho, 191, NULL, 0);
		half_hash(want, 0, want, sizeof want, ct, sizeof ct);
		assert_int_equal(sntrup761_decaps(ss_again, ct, sk), 0);
		assert_memory_equal(ss_again, want, sizeof want);
	}
}

/* Any bytes are a public key; none may lead out of bounds. */
static void
test_any_key(void **state)
{
	(void)state;
	for (int fill = 0; fill < 256; fill += 17) {
		memset(pk, fill, sizeof pk);
		assert_int_equal(sntrup761_encaps(ct, ss, pk, kat_random), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kat),
		cmocka_unit_test(test_wrong_ciphertext),
		cmocka_unit_test(test_any_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
