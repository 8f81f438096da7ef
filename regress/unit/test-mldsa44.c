/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "crypto/fallback/keccak.h"
#include "crypto/mldsa44.h"

enum {
	ROUNDS = 100, /* more are published */
	HINTS_AT = 32 + 4 * 576,
	OMEGA = 80,
};

static uint8_t public[MLDSA44_PUBLIC_LEN], signature[MLDSA44_SIGNATURE_LEN];
static const uint8_t zeros[MLDSA44_RANDOM_LEN];

static struct mldsa44_message
message(const char *context, const char *data)
{
	return (struct mldsa44_message){
		{ (const uint8_t *)context, strlen(context) },
		{ (const uint8_t *)data, strlen(data) }
	};
}

/*
 * Keys of random seeds, and signatures of nothing: seeds from SHAKE-128 of
 * nothing, all results hashed with another SHAKE-128, as published in C2SP/CCTV
 * (ML-DSA/accumulated).
 */
static void
test_accumulated(void **state)
{
	struct mldsa44_message nothing = message("", "");
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	uint8_t seed[MLDSA44_SEED_LEN], out[32];
	struct keccak seeds;

	(void)state;
	shake_init(&seeds, SHAKE128_RATE);
	shake_finish(&seeds);
	EVP_DigestInit_ex(md, EVP_shake128(), NULL);
	for (int i = 0; i < ROUNDS; i++) {
		shake_squeeze(&seeds, seed, sizeof seed);
		mldsa44_own_public(public, seed);
		assert_int_equal(mldsa44_own_sign(signature, seed, &nothing,
		    zeros), 0);
		assert_int_equal(mldsa44_own_verify(signature, public,
		    &nothing), 0);
		EVP_DigestUpdate(md, public, sizeof public);
		EVP_DigestUpdate(md, signature, sizeof signature);
	}
	EVP_DigestFinalXOF(md, out, sizeof out);
	EVP_MD_CTX_free(md);
	assert_hex(out, sizeof out,
	    "d51148e1f9f4fa1a723a6cf42e25f2a9"
	    "9eb5c1b378b3d2dbbd561b1203beeae4");
}

/* C2SP/wycheproof, mldsa_44_sign_seed_test.json, cases 2 and 3: both ends of a
 * public key, and of deterministic signatures without and with a context. */
static void
test_context(void **state)
{
	uint8_t seed[MLDSA44_SEED_LEN];
	struct mldsa44_message plain = message("", "Hello world");
	struct mldsa44_message named = message("Context", "Hello world");

	(void)state;
	memset(seed, 0x2a, sizeof seed);
	mldsa44_own_public(public, seed);
	assert_hex(public, 32,
	    "db9ac67708f2ba0fac1f92bd802f9be8"
	    "9ecab966feef59872a1a9ac90b111117");
	assert_hex(public + sizeof public - 32, 32,
	    "155be61f0723c274388a532abe29dd70"
	    "23e327085f4c9dda41839b7b3357ab9d");
	assert_int_equal(mldsa44_own_sign(signature, seed, &plain, zeros), 0);
	assert_hex(signature, 64,
	    "1aa69cb5ed35204534f25f40a17eb0d767f8981f5e7cec46d3bf3252bfc78e09"
	    "d02ef0c82da6dde973611c849472890106158cb15ffa6ca891615e888efa0d2d");
	assert_hex(signature + sizeof signature - 32, 32,
	    "484957595badbcbfc8fa000000000000"
	    "000000000000000000000000121f323e");
	assert_int_equal(mldsa44_own_verify(signature, public, &plain), 0);
	assert_int_equal(mldsa44_own_verify(signature, public, &named),
	    ERR_SIGNATURE);
	assert_int_equal(mldsa44_own_sign(signature, seed, &named, zeros), 0);
	assert_hex(signature, 64,
	    "e11d24772c24efc107ae3abb0149817436f11684d3548748cba19fc0b373ddcb"
	    "7c8f68f00407d964570c155a9a34823d5b33345a2bb4dfc43d2e178331bc6573");
	assert_int_equal(mldsa44_own_verify(signature, public, &named), 0);
}

/* Where a message ends and its context begins is part of what is signed, and
 * a context has at most 255 bytes. */
static void
test_context_bounds(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 9 };
	struct mldsa44_message m = message("ab", "c");
	struct mldsa44_message moved = message("a", "bc");
	uint8_t text[256] = { 0 };

	(void)state;
	mldsa44_own_public(public, seed);
	assert_int_equal(mldsa44_own_sign(signature, seed, &m, zeros), 0);
	assert_int_equal(mldsa44_own_verify(signature, public, &moved),
	    ERR_SIGNATURE);
	m.context = (struct span){ text, 255 };
	assert_int_equal(mldsa44_sign(signature, seed, &m), 0);
	assert_int_equal(mldsa44_verify(signature, public, &m), 0);
	m.context.len = 256;
	assert_int_equal(mldsa44_sign(signature, seed, &m), ERR_ARGUMENT);
	assert_int_equal(mldsa44_verify(signature, public, &m), ERR_ARGUMENT);
	assert_int_equal(mldsa44_own_sign(signature, seed, &m, zeros),
	    ERR_ARGUMENT);
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_ARGUMENT);
}

/* No changed bit of a signature, of its key or of its message passes. */
static void
test_changed(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 1, 2, 3 };
	struct mldsa44_message m = message("", "a message");
	struct mldsa44_message other = message("", "a messagf");

	(void)state;
	mldsa44_own_public(public, seed);
	assert_int_equal(mldsa44_own_sign(signature, seed, &m, seed), 0);
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);
	assert_int_equal(mldsa44_own_verify(signature, public, &other),
	    ERR_SIGNATURE);
	for (size_t i = 0; i < sizeof signature; i += i < HINTS_AT ? 29 : 1) {
		signature[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(mldsa44_own_verify(signature, public, &m),
		    ERR_SIGNATURE);
		signature[i] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t i = 0; i < sizeof public; i += 41) {
		public[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(mldsa44_own_verify(signature, public, &m),
		    ERR_SIGNATURE);
		public[i] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);
}

/* The same hints in another form are refused: places out of order or twice,
 * something behind the last, polynomials that end before they begin. */
static void
test_hint_forms(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 7 };
	struct mldsa44_message m = message("", "hints");
	uint8_t *h = signature + HINTS_AT, *ends = h + OMEGA, t;

	(void)state;
	mldsa44_own_public(public, seed);
	assert_int_equal(mldsa44_own_sign(signature, seed, &m, zeros), 0);
	assert_true(ends[0] >= 2 && ends[3] < OMEGA);

	t = h[0];
	h[0] = h[1];
	h[1] = t;
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_SIGNATURE);
	h[1] = h[0];
	h[0] = t;
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);

	/* The first place of the second polynomial, once more. */
	memmove(h + ends[0] + 1, h + ends[0], (size_t)(OMEGA - ends[0] - 1));
	for (int i = 1; i < 4; i++)
		ends[i]++;
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_SIGNATURE);
	memmove(h + ends[0], h + ends[0] + 1, (size_t)(OMEGA - ends[0] - 1));
	h[OMEGA - 1] = 0;
	for (int i = 1; i < 4; i++)
		ends[i]--;
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);

	h[OMEGA - 1] = 1;
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_SIGNATURE);
	h[OMEGA - 1] = 0;
	t = ends[0];
	ends[0] = (uint8_t)(ends[1] + 1);
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_SIGNATURE);
	ends[0] = t;
	t = ends[3];
	for (int n = OMEGA + 1; n < 256; n++) {
		ends[3] = (uint8_t)n;
		assert_int_equal(mldsa44_own_verify(signature, public, &m),
		    ERR_SIGNATURE);
	}
	ends[3] = t;
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);
}

/* The front, whose signatures differ each time. */
static void
test_front(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 5 };
	struct mldsa44_message m = message("use", "text");
	uint8_t again[MLDSA44_SIGNATURE_LEN], own[MLDSA44_PUBLIC_LEN];

	(void)state;
	mldsa44_own_public(own, seed);
	assert_int_equal(mldsa44_public(public, seed), 0);
	assert_memory_equal(public, own, sizeof public);
	assert_int_equal(mldsa44_sign(signature, seed, &m), 0);
	assert_int_equal(mldsa44_sign(again, seed, &m), 0);
	assert_memory_not_equal(signature, again, sizeof again);
	assert_int_equal(mldsa44_verify(signature, public, &m), 0);
	assert_int_equal(mldsa44_own_verify(again, public, &m), 0);
	again[100] ^= 1;
	assert_int_equal(mldsa44_verify(again, public, &m), ERR_SIGNATURE);
}

/* OpenSSL's and our code in both directions. */
static void
test_openssl(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 6 };
	struct mldsa44_message m = message("use", "text");
	struct mldsa44_message other = message("user", "text");
	uint8_t own[MLDSA44_PUBLIC_LEN];

	(void)state;
	if (mldsa44_evp_public(public, seed) == ERR_UNSUPPORTED) {
		assert_int_equal(mldsa44_evp_sign(signature, seed, &m),
		    ERR_UNSUPPORTED);
		assert_int_equal(mldsa44_evp_verify(signature, public, &m),
		    ERR_UNSUPPORTED);
		print_message("OpenSSL %s has no ML-DSA\n",
		    OpenSSL_version(OPENSSL_VERSION_STRING));
		skip();
	}
	mldsa44_own_public(own, seed);
	assert_memory_equal(public, own, sizeof public);
	assert_int_equal(mldsa44_evp_sign(signature, seed, &m), 0);
	assert_int_equal(mldsa44_own_verify(signature, public, &m), 0);
	assert_int_equal(mldsa44_own_sign(signature, seed, &m, seed), 0);
	assert_int_equal(mldsa44_evp_verify(signature, public, &m), 0);
	assert_int_equal(mldsa44_evp_verify(signature, public, &other),
	    ERR_SIGNATURE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accumulated),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_context_bounds),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_hint_forms),
		cmocka_unit_test(test_front),
		cmocka_unit_test(test_openssl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
