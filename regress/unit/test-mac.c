/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/mac.h"
#include "crypto/rand.h"

static void
test_table(void **state)
{
	static const char *const names[] = {
		"umac-64-etm@openssh.com",
		"umac-128-etm@openssh.com",
		"hmac-sha2-256-etm@openssh.com",
		"hmac-sha2-512-etm@openssh.com",
		"hmac-sha1-etm@openssh.com",
		"umac-64@openssh.com",
		"umac-128@openssh.com",
		"hmac-sha2-256",
		"hmac-sha2-512",
		"hmac-sha1",
		"hmac-sha1-96-etm@openssh.com",
		"hmac-md5-etm@openssh.com",
		"hmac-md5-96-etm@openssh.com",
		"hmac-sha1-96",
		"hmac-md5",
		"hmac-md5-96",
	};
	const struct mac_alg *alg;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		alg = mac_at(i);
		assert_non_null(alg);
		assert_string_equal(alg->name, names[i]);
		assert_ptr_equal(mac_by_name(names[i]), alg);
		assert_int_equal(alg->etm, strstr(names[i], "-etm@") != NULL);
		assert_true(alg->key_len <= MAC_KEY_MAX_LEN);
		assert_true(alg->tag_len <= MAC_MAX_LEN);
	}
	assert_null(mac_at(ARRAY_LEN(names)));
	assert_null(mac_by_name("hmac-md4"));
	assert_int_equal(mac_by_name("none")->tag_len, 0);
}

/*
 * RFC 2202 and 4231, case 1 (and 2 for SHA-512): HMAC pads its key with
 * zeros, so that shorter keys than ours are tried too, and the text's first
 * four bytes are the sequence number.
 */
static const struct {
	const char *name, *key_hex;
	uint32_t seqnr;
	const char *text, *tag;
} hmacs[] = {
    {"hmac-sha1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", 0x48692054,
	"here", "b617318655057264e28bc0b6fb378c8ef146be00"},
    {"hmac-sha1-96", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
	0x48692054, "here", "b617318655057264e28bc0b6"},
    {"hmac-md5", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", 0x48692054, "here",
	"9294727a3638bb1c13f48ef8158bfc9d"},
    {"hmac-md5-96-etm@openssh.com", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
	0x48692054, "here", "9294727a3638bb1c13f48ef8"},
    {"hmac-sha2-256", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", 0x48692054,
	"here",
	"b0344c61d8db38535ca8afceaf0bf12b"
	"881dc200c9833da726e9376c2e32cff7"},
    {"hmac-sha2-512-etm@openssh.com", "4a656665", 0x77686174,
	" do ya want for nothing?",
	"164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
	"9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
};

static void
test_hmac_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hmacs); i++) {
		uint8_t key[MAC_KEY_MAX_LEN] = { 0 }, tag[MAC_MAX_LEN];
		const struct mac_alg *alg = mac_by_name(hmacs[i].name);
		struct mac *m;

		hex_decode(hmacs[i].key_hex, key, sizeof key);
		assert_int_equal(mac_new(&m, alg, key), 0);
		/* Twice: the keyed states must stay as they are. */
		for (int turn = 0; turn < 2; turn++) {
			assert_int_equal(mac_compute(m, hmacs[i].seqnr,
					     hmacs[i].text,
					     strlen(hmacs[i].text), tag),
			    0);
			assert_hex(tag, alg->tag_len, hmacs[i].tag);
		}
		mac_free(m);
	}
}

/* All lengths around the blocks of the digests, against the one-shot HMAC. */
static void
test_hmac_lengths(void **state)
{
	static const struct {
		const char *name;
		enum digest_alg digest;
	} rows[] = {
		{ "hmac-sha1-etm@openssh.com", DIGEST_SHA1 },
		{ "hmac-sha2-256", DIGEST_SHA256 },
		{ "hmac-sha2-512", DIGEST_SHA512 },
	};
	uint8_t key[MAC_KEY_MAX_LEN], msg[4 + 300];
	uint8_t tag[MAC_MAX_LEN], expected[MAC_MAX_LEN];

	(void)state;
	rand_bytes(key, sizeof key);
	rand_bytes(msg, sizeof msg);
	memcpy(msg, "\x12\x34\x56\x78", 4);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct mac_alg *alg = mac_by_name(rows[i].name);
		struct mac *m;

		assert_int_equal(mac_new(&m, alg, key), 0);
		for (size_t len = 0; len <= 300; len++) {
			assert_int_equal(mac_compute(m, 0x12345678, msg + 4,
					     len, tag),
			    0);
			assert_int_equal(digest_hmac(rows[i].digest, key,
					     alg->key_len, msg, 4 + len,
					     expected),
			    0);
			assert_memory_equal(tag, expected, alg->tag_len);
		}
		mac_free(m);
	}
	mac_free(NULL);
}

/* Each bit of the message, and the sequence number, change every tag. */
static void
test_all_depend(void **state)
{
	const struct mac_alg *alg;
	uint8_t key[MAC_KEY_MAX_LEN], msg[40] = "what is sent";
	uint8_t tag[MAC_MAX_LEN], other[MAC_MAX_LEN];

	(void)state;
	rand_bytes(key, sizeof key);
	for (size_t i = 0; (alg = mac_at(i)) != NULL; i++) {
		struct mac *m;

		assert_int_equal(mac_new(&m, alg, key), 0);
		assert_int_equal(mac_compute(m, 1, msg, sizeof msg, tag), 0);
		assert_int_equal(mac_compute(m, 2, msg, sizeof msg, other), 0);
		assert_memory_not_equal(tag, other, alg->tag_len);
		for (size_t bit = 0; bit < 8 * sizeof msg; bit++) {
			msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(mac_compute(m, 1, msg, sizeof msg,
					     other),
			    0);
			assert_memory_not_equal(tag, other, alg->tag_len);
			msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		mac_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_hmac_vectors),
		cmocka_unit_test(test_hmac_lengths),
		cmocka_unit_test(test_all_depend),
	};

	return cmocka_run_group_tests_name("mac", tests, NULL, NULL);
}
