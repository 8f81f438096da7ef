/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <openssl/evp.h>

#include "base/mem.h"
#include "crypto/fallback/keccak.h"

enum { LONGEST = 400 }; /* bytes: beyond two blocks of every rate */

/* The examples that NIST gives for FIPS 202. */
static void
test_vectors(void **state)
{
	uint8_t out[SHA3_512_LEN];
	struct keccak k;

	(void)state;
	sha3_256(out, "", 0);
	assert_hex(out, SHA3_256_LEN,
	    "a7ffc6f8bf1ed76651c14756a061d662"
	    "f580ff4de43b49fa82d80a4b80f8434a");
	sha3_256(out, "abc", 3);
	assert_hex(out, SHA3_256_LEN,
	    "3a985da74fe225b2045c172d6bd390bd"
	    "855f086e3e9d525b46bfe24511431532");
	sha3_512(out, "abc", 3);
	assert_hex(out, SHA3_512_LEN,
	    "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
	    "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0");
	shake_init(&k, SHAKE128_RATE);
	shake_finish(&k);
	shake_squeeze(&k, out, 32);
	assert_hex(out, 32,
	    "7f9c2ba4e88f827d616045507605853e"
	    "d73b8093f6efbc88eb1a6eacfa66ef26");
	shake_init(&k, SHAKE256_RATE);
	shake_finish(&k);
	shake_squeeze(&k, out, 32);
	assert_hex(out, 32,
	    "46b9dd2b0ba88d13233b3feb743eeb24"
	    "3fcd52ea62b81b82b50c27646ed5762f");
}

static void
check_shake(unsigned rate, const EVP_MD *md, const uint8_t *in, size_t len)
{
	uint8_t own[LONGEST], other[LONGEST];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	struct keccak k;

	shake_init(&k, rate);
	shake_absorb(&k, in, len / 3);
	shake_absorb(&k, in + len / 3, len - len / 3);
	shake_finish(&k);
	shake_squeeze(&k, own, len);
	shake_squeeze(&k, own + len, sizeof own - len);
	EVP_DigestInit_ex(ctx, md, NULL);
	EVP_DigestUpdate(ctx, in, len);
	EVP_DigestFinalXOF(ctx, other, sizeof other);
	EVP_MD_CTX_free(ctx);
	assert_memory_equal(own, other, sizeof own);
}

/* Every length, in pieces, against OpenSSL. */
static void
test_lengths(void **state)
{
	uint8_t in[LONGEST], own[SHA3_512_LEN], other[SHA3_512_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i * 7 + 1);
	for (size_t len = 0; len <= sizeof in; len++) {
		sha3_256(own, in, len);
		EVP_Digest(in, len, other, NULL, EVP_sha3_256(), NULL);
		assert_memory_equal(own, other, SHA3_256_LEN);
		sha3_512(own, in, len);
		EVP_Digest(in, len, other, NULL, EVP_sha3_512(), NULL);
		assert_memory_equal(own, other, SHA3_512_LEN);
		check_shake(SHAKE128_RATE, EVP_shake128(), in, len);
		check_shake(SHAKE256_RATE, EVP_shake256(), in, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
