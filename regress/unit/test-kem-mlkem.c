/* SPDX-License-Identifier: ISC */
#include "regress/unit/kat.h"

#include <openssl/crypto.h>

#include "base/mem.h"
#include "crypto/kem-mlkem.h"

enum {
	ROUNDS = 100, /* more are published */
	ROUND_INPUT = 3 * MLKEM_SEED_LEN + MLKEM_CT_LEN,
};

static uint8_t ek[MLKEM_EK_LEN], dk[MLKEM_DK_LEN], ct[MLKEM_CT_LEN];
static uint8_t ss[MLKEM_SS_LEN], ss_again[MLKEM_SS_LEN];

/*
 * The 100 records of the known-answer file for ML-KEM-768: their SHA-256 as
 * published in liboqs (tests/KATs/kem/kats.json; that of the first record
 * also in mlkem-native's META.yml).
 */
static void
test_kat(void **state)
{
	uint8_t seeds[KAT_RECORDS][KAT_SEED_LEN], coins[2 * MLKEM_SEED_LEN];
	uint8_t m[MLKEM_SEED_LEN];
	EVP_MD_CTX *md = EVP_MD_CTX_new();

	(void)state;
	EVP_DigestInit_ex(md, EVP_sha256(), NULL);
	kat_record_seeds(seeds);
	for (size_t i = 0; i < KAT_RECORDS; i++) {
		kat_seed(seeds[i]);
		kat_random(coins, sizeof coins);
		kat_random(m, sizeof m);
		mlkem_own_keygen(ek, dk, coins, coins + MLKEM_SEED_LEN);
		assert_int_equal(mlkem_own_encaps(ct, ss, ek, m), 0);
		mlkem_own_decaps(ss_again, ct, dk);
		assert_memory_equal(ss, ss_again, sizeof ss);

		kat_put_head(md, i, seeds[i]);
		kat_put(md, "pk", ek, sizeof ek);
		kat_put(md, "sk", dk, sizeof dk);
		kat_put(md, "ct", ct, sizeof ct);
		kat_put(md, "ss", ss, sizeof ss);
		if (i == 0)
			kat_expect(md, "5352539586b6c3df58be6158a6250aef"
			    "f402bd73060b0a3de68850ac074c17c3");
	}
	kat_expect(md, "e5d6911117c708d8342702db222f66be"
	    "f5ac5b0314fb8bc36eb22a536c9b34fb");
	EVP_MD_CTX_free(md);
}

/*
 * Random cases, with decapsulation of random ciphertexts: inputs from
 * SHAKE-128 of nothing, all outputs hashed with another SHAKE-128, as
 * published with Go's crypto/mlkem (TestAccumulated).
 */
static void
test_accumulated(void **state)
{
	static uint8_t input[ROUNDS * ROUND_INPUT];
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	uint8_t out[32];

	(void)state;
	EVP_DigestInit_ex(md, EVP_shake128(), NULL);
	EVP_DigestFinalXOF(md, input, sizeof input);
	EVP_DigestInit_ex(md, EVP_shake128(), NULL);
	for (const uint8_t *in = input; in < input + sizeof input;
	    in += ROUND_INPUT) {
		mlkem_own_keygen(ek, dk, in, in + MLKEM_SEED_LEN);
		assert_int_equal(mlkem_own_encaps(ct, ss, ek,
		    in + 2 * MLKEM_SEED_LEN), 0);
		EVP_DigestUpdate(md, ek, sizeof ek);
		EVP_DigestUpdate(md, ct, sizeof ct);
		EVP_DigestUpdate(md, ss, sizeof ss);
		mlkem_own_decaps(ss, in + 3 * MLKEM_SEED_LEN, dk);
		EVP_DigestUpdate(md, ss, sizeof ss);
	}
	EVP_DigestFinalXOF(md, out, sizeof out);
	EVP_MD_CTX_free(md);
	assert_hex(out, sizeof out,
	    "1114b1b6699ed191734fa339376afa7e"
	    "285c9e6acf6ff0177d346696ce564415");
}

/* A seed whose matrix takes more than 575 bytes of a stream (C2SP/CCTV,
 * ML-KEM/unluckysample). The secret covers the whole public key. */
static void
test_unlucky(void **state)
{
	uint8_t d[MLKEM_SEED_LEN], z[MLKEM_SEED_LEN], m[MLKEM_SEED_LEN];

	(void)state;
	hex_decode("82c4a361586b9715c2375a45fb85c32d"
	    "04be7fe6e26acd820ec5d4080093afe1", d, sizeof d);
	hex_decode("8476013560151d986dc7834dcb57c75f"
	    "845f8d7ee71558d0955f3f4feb723cf2", z, sizeof z);
	hex_decode("e48f74ad416e99631003ded1478aec62"
	    "a02c245d88ed7f2fae92aedf13ca03b3", m, sizeof m);
	mlkem_own_keygen(ek, dk, d, z);
	assert_int_equal(mlkem_own_encaps(ct, ss, ek, m), 0);
	assert_hex(ss, sizeof ss,
	    "4f7cc64c040fc4e335a539691f4638ca"
	    "f8b1bf5da6455754afe699e41813801b");
	assert_hex(ct, 32,
	    "696ef1699d5ac2aa9a012a64c60c6c21"
	    "4dcedec75ff87fb3a5850044202a790b");
	assert_hex(ct + MLKEM_CT_LEN - 32, 32,
	    "09c7640acea982655b3294ee0371019b"
	    "134559be391c29d990f82f8a1dd4a715");
}

/* What a wrong ciphertext has to give: SHAKE-256 of z and it. */
static void
rejected(uint8_t out[MLKEM_SS_LEN])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();

	EVP_DigestInit_ex(md, EVP_shake256(), NULL);
	EVP_DigestUpdate(md, dk + MLKEM_DK_LEN - MLKEM_SEED_LEN,
	    MLKEM_SEED_LEN);
	EVP_DigestUpdate(md, ct, sizeof ct);
	EVP_DigestFinalXOF(md, out, MLKEM_SS_LEN);
	EVP_MD_CTX_free(md);
}

static void
test_wrong_ciphertext(void **state)
{
	static const uint8_t seed[MLKEM_SEED_LEN] = { 1, 2, 3 };
	static const size_t places[] = { 0, 1, 319, 320, 700, 959, 960,
		MLKEM_CT_LEN - 1 };
	uint8_t want[MLKEM_SS_LEN];

	(void)state;
	mlkem_own_keygen(ek, dk, seed, seed);
	assert_int_equal(mlkem_own_encaps(ct, ss, ek, seed), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		for (int bit = 0; bit < 8; bit++) {
			ct[places[i]] ^= (uint8_t)(1 << bit);
			mlkem_own_decaps(ss_again, ct, dk);
			rejected(want);
			assert_memory_equal(ss_again, want, sizeof want);
			ct[places[i]] ^= (uint8_t)(1 << bit);
		}
	}
	mlkem_own_decaps(ss_again, ct, dk);
	assert_memory_equal(ss, ss_again, sizeof ss);
}

/* Sets the 12-bit number i of a public key. */
static void
set_number(uint8_t *key, size_t i, unsigned v)
{
	uint8_t *p = key + i / 2 * 3;

	if (i % 2 == 0) {
		p[0] = (uint8_t)v;
		p[1] = (uint8_t)((p[1] & 0xf0) | v >> 8);
	} else {
		p[1] = (uint8_t)((p[1] & 0x0f) | (v & 15) << 4);
		p[2] = (uint8_t)(v >> 4);
	}
}

/* FIPS 203 section 7.2: every number has to be below 3329. */
static void
test_modulus_check(void **state)
{
	static const uint8_t seed[MLKEM_SEED_LEN] = { 4 };
	static const unsigned bad[] = { 3329, 3330, 3584, 4095 };
	uint8_t key[MLKEM_EK_LEN];

	(void)state;
	mlkem_own_keygen(ek, dk, seed, seed);
	for (size_t i = 0; i < 768; i++) {
		memcpy(key, ek, sizeof key);
		set_number(key, i, 3328);
		if (i % 64 == 0)
			assert_int_equal(mlkem_own_encaps(ct, ss, key, seed),
			    0);
		set_number(key, i, bad[i % ARRAY_LEN(bad)]);
		assert_int_equal(mlkem_own_encaps(ct, ss, key, seed),
		    ERR_KEX_VALUE);
		if (i % 64 == 0)
			assert_int_equal(mlkem_encaps(ct, ss, key),
			    ERR_KEX_VALUE);
	}
}

/* The front, and OpenSSL's and our code in both directions. */
static void
test_openssl(void **state)
{
	static const uint8_t seed[MLKEM_SEED_LEN] = { 5 };
	struct mlkem *k = NULL;
	void *key = NULL;

	(void)state;
	assert_int_equal(mlkem_new(&k, ek), 0);
	assert_int_equal(mlkem_encaps(ct, ss, ek), 0);
	assert_int_equal(mlkem_decaps(k, ss_again, ct), 0);
	assert_memory_equal(ss, ss_again, sizeof ss);
	mlkem_free(k);
	mlkem_free(NULL);

	if (mlkem_evp_keygen(&key, ek) == ERR_UNSUPPORTED) {
		print_message("OpenSSL %s has no ML-KEM\n",
		    OpenSSL_version(OPENSSL_VERSION_STRING));
		skip();
	}
	assert_non_null(key);
	assert_int_equal(mlkem_own_encaps(ct, ss, ek, seed), 0);
	assert_int_equal(mlkem_evp_decaps(key, ss_again, ct), 0);
	assert_memory_equal(ss, ss_again, sizeof ss);
	mlkem_evp_free(key);

	mlkem_own_keygen(ek, dk, seed, seed);
	assert_int_equal(mlkem_evp_encaps(ct, ss, ek), 0);
	mlkem_own_decaps(ss_again, ct, dk);
	assert_memory_equal(ss, ss_again, sizeof ss);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kat),
		cmocka_unit_test(test_accumulated),
		cmocka_unit_test(test_unlucky),
		cmocka_unit_test(test_wrong_ciphertext),
		cmocka_unit_test(test_modulus_check),
		cmocka_unit_test(test_openssl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
