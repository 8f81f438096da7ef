/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "base/wire.h"
#include "crypto/digest.h"

/* RFC 1321, FIPS 180, RFC 7693: the digest of "abc". */
static const struct {
	enum digest_alg alg;
	const char *name, *abc;
} algs[] = {
	{ DIGEST_MD5, "MD5", "900150983cd24fb0d6963f7d28e17f72" },
	{ DIGEST_SHA1, "SHA1", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ DIGEST_SHA224, "SHA224",
	    "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7" },
	{ DIGEST_SHA256, "SHA256",
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad" },
	{ DIGEST_SHA384, "SHA384",
	    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
	    "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7" },
	{ DIGEST_SHA512, "SHA512",
	    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea2"
	    "0a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
	    "454d4423643ce80e2a9ac94fa54ca49f" },
	{ DIGEST_BLAKE2B_512, "BLAKE2B-512",
	    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b7"
	    "4b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc95"
	    "18d38aa8dbf1925ab92386edd4009923" },
};

static void
test_vectors(void **state)
{
	uint8_t out[DIGEST_MAX_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		struct digest *d, *copy;
		size_t len = digest_len(algs[i].alg);

		assert_int_equal(digest_once(algs[i].alg, "abc", 3, out), 0);
		assert_hex(out, len, algs[i].abc);

		assert_int_equal(digest_new(&d, algs[i].alg), 0);
		assert_int_equal(digest_new(&copy, algs[i].alg), 0);
		assert_int_equal(digest_update(d, "ab", 2), 0);
		assert_int_equal(digest_copy(copy, d), 0);
		assert_int_equal(digest_update(d, "x", 1), 0);
		assert_int_equal(digest_final(d, out), 0);
		assert_int_equal(digest_update(copy, "c", 1), 0);
		assert_int_equal(digest_final(copy, out), 0);
		assert_hex(out, len, algs[i].abc);
		digest_free(copy);
		digest_free(d);
	}
	digest_free(NULL);
}

static void
test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		assert_string_equal(digest_name(algs[i].alg), algs[i].name);
		assert_int_equal(digest_parse(algs[i].name), algs[i].alg);
	}
	assert_int_equal(digest_parse("sha256"), DIGEST_SHA256);
	assert_int_equal(digest_parse("sha"), -1);
	assert_int_equal(digest_parse(""), -1);
}

/* RFC 2202 and 4231, cases 1, 2 and 6. */
static const struct {
	enum digest_alg alg;
	const char *key_hex, *text, *tag;
} hmacs[] = {
    {DIGEST_SHA1, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "Hi There",
	"b617318655057264e28bc0b6fb378c8ef146be00"},
    {DIGEST_SHA256, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "Hi There",
	"b0344c61d8db38535ca8afceaf0bf12b"
	"881dc200c9833da726e9376c2e32cff7"},
    {DIGEST_SHA512, "4a656665", "what do ya want for nothing?",
	"164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
	"9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
    {DIGEST_SHA256,
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"Test Using Larger Than Block-Size Key - Hash Key First",
	"60e431591ee0b67f0d8a26aacbf5b77f"
	"8e0bc6213728c5140546040f0ee37f54"},
};

/* By what was used before; a key that is longer than a block is refused. */
static void
hmac_twice(enum digest_alg alg, struct span key, const char *text,
    const char *tag)
{
	uint8_t out[DIGEST_MAX_LEN];
	struct digest *d;
	bool is_long = key.len > 128;

	assert_int_equal(digest_new(&d, alg), 0);
	assert_int_equal(digest_hmac_by(d, "other", 5, "text", 4, out), 0);
	assert_int_equal(digest_hmac_by(d, key.p, key.len, text, strlen(text),
			     out), is_long ? ERR_LIMIT : 0);
	if (!is_long)
		assert_hex(out, digest_len(alg), tag);
	digest_free(d);
}

static void
test_hmac(void **state)
{
	uint8_t key[256], out[DIGEST_MAX_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hmacs); i++) {
		size_t key_len = hex_decode(hmacs[i].key_hex, key,
		    sizeof key);

		assert_int_equal(digest_hmac(hmacs[i].alg, key, key_len,
				     hmacs[i].text, strlen(hmacs[i].text), out),
		    0);
		assert_hex(out, digest_len(hmacs[i].alg), hmacs[i].tag);
		hmac_twice(hmacs[i].alg, (struct span){ key, key_len },
		    hmacs[i].text, hmacs[i].tag);
	}
	/* Nothing at all is a message and a key, too. */
	assert_int_equal(digest_hmac(DIGEST_SHA256, NULL, 0, NULL, 0, out), 0);
	assert_hex(out, 32,
	    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hmac),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
