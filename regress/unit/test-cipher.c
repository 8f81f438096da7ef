/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher.h"
#include "crypto/digest.h"
#include "crypto/rand.h"

enum { PKT_MAX = 4 + CIPHER_LEN_MAX + MAC_MAX_LEN };

/* ---- helpers --------------------------------------------------------- */

/* One cipher with one MAC, both ends of it. */
struct pair {
	const struct cipher_alg *alg;
	const struct mac_alg *mac;
	struct cipher *enc, *dec;
};

/* Counts through all pairs; false at the end. mac is NULL for AEADs. */
static bool
next_pair(struct pair *p, size_t *cipher_i, size_t *mac_i)
{
	for (;;) {
		p->alg = cipher_at(*cipher_i);
		if (p->alg == NULL)
			return false;
		p->mac = p->alg->needs_mac ? mac_at(*mac_i) : NULL;
		if (p->mac != NULL) {
			++*mac_i;
			return true;
		}
		++*cipher_i;
		*mac_i = 0;
		if (!p->alg->needs_mac)
			return true;
	}
}

static void
open_pair(struct pair *p, const uint8_t *key, const uint8_t *iv,
    const uint8_t *mac_key)
{
	assert_int_equal(cipher_new(&p->enc, p->alg, p->mac, true, key, iv,
			     mac_key),
	    0);
	assert_int_equal(cipher_new(&p->dec, p->alg, p->mac, false, key, iv,
			     mac_key),
	    0);
}

static void
open_random_pair(struct pair *p)
{
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];

	rand_bytes(key, sizeof key);
	rand_bytes(iv, sizeof iv);
	rand_bytes(mac_key, sizeof mac_key);
	open_pair(p, key, iv, mac_key);
}

static void
close_pair(struct pair *p)
{
	cipher_free(p->enc);
	cipher_free(p->dec);
}

/* The length field for about this many bytes. */
static uint32_t
fit_len(const struct cipher *c, uint32_t about)
{
	uint32_t align = (uint32_t)cipher_align(c);
	uint32_t apart = cipher_length_apart(c) ? 0 : 4;

	return (about + align) / align * align - apart;
}

/* A plain packet whose bytes follow from seed; returns its whole length. */
static void
make_plain(uint8_t *pkt, uint32_t len, uint32_t seed)
{
	wire_put_u32(pkt, len);
	for (uint32_t i = 0; i < len; i++)
		pkt[4 + i] = (uint8_t)(seed + i * 7 + i / 256);
}

/* As the packet layer does it: the head first, then the rest. */
static int
decrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t *len)
{
	int r = cipher_decrypt_length(c, pos, pkt, len);

	if (r != 0)
		return r;
	if (*len > CIPHER_LEN_MAX)
		return ERR_PACKET_LENGTH;
	return cipher_decrypt(c, pos, pkt, *len);
}

/* ---- tests ----------------------------------------------------------- */

static void
test_table(void **state)
{
	const struct cipher_alg *alg;
	char *list = strdup(cipher_default_list()), *rest = list, *name;
	size_t count = 0;

	(void)state;
	while ((name = strsep(&rest, ",")) != NULL) {
		assert_non_null(cipher_by_name(name));
		count++;
	}
	free(list);
	for (size_t i = 0; (alg = cipher_at(i)) != NULL; i++) {
		assert_ptr_equal(cipher_by_name(alg->name), alg);
		assert_true(alg->key_len <= CIPHER_KEY_MAX);
		assert_true(alg->iv_len <= CIPHER_IV_MAX);
		assert_int_equal(alg->needs_mac, alg->tag_len == 0);
		assert_int_equal(strstr(cipher_default_list(), alg->name) ==
			NULL,
		    alg->weak);
		assert_int_equal(cipher_is_chained(alg),
		    strstr(alg->name, "-cbc") != NULL);
		count -= !alg->weak;
	}
	assert_int_equal(count, 0);
	/* Found by its name only. */
	assert_true(cipher_is_none(cipher_by_name("none")));
	assert_null(cipher_by_name("rijndael-cbc@lysator.liu.se"));
}

/* None is no cipher, but its MAC is one. */
static void
test_none(void **state)
{
	static const char *const macs[] = { "none", "umac-64-etm@openssh.com",
		"hmac-sha2-256" };
	uint8_t pkt[256], plain[256];
	uint32_t len, got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(macs); i++) {
		struct pair p = { .alg = cipher_by_name("none"),
			.mac = mac_by_name(macs[i]) };
		struct cipher_pos pos = { .seqnr = 7 };

		open_random_pair(&p);
		len = fit_len(p.enc, 64);
		make_plain(pkt, len, 3);
		memcpy(plain, pkt, sizeof plain);
		assert_int_equal(cipher_encrypt(p.enc, &pos, pkt, len), 0);
		assert_memory_equal(pkt, plain, 4 + len);
		assert_int_equal(decrypt_packet(p.dec, &pos, pkt, &got), 0);
		assert_int_equal(got, len);
		pkt[9] ^= 1;
		assert_int_equal(decrypt_packet(p.dec, &pos, pkt, &got),
		    p.mac->tag_len > 0 ? ERR_MAC : 0);
		close_pair(&p);
	}
}

/* What packet.c plans with. */
static void
test_layout(void **state)
{
	static const struct {
		const char *cipher, *mac;
		size_t tag_len, align, head_len;
		bool apart;
		uint64_t blocks; /* of a packet with 60 (64 if apart) bytes */
	} rows[] = {
		{ "chacha20-poly1305@openssh.com", NULL, 16, 8, 4, true, 8 },
		{ "aes256-gcm@openssh.com", NULL, 16, 16, 4, true, 4 },
		{ "aes128-ctr", "umac-64-etm@openssh.com", 8, 16, 4, true, 4 },
		{ "aes128-ctr", "hmac-sha2-512", 64, 16, 16, false, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair p = { .alg = cipher_by_name(rows[i].cipher) };

		if (rows[i].mac != NULL)
			p.mac = mac_by_name(rows[i].mac);
		open_random_pair(&p);
		assert_int_equal(cipher_tag_len(p.enc), rows[i].tag_len);
		assert_int_equal(cipher_align(p.enc), rows[i].align);
		assert_int_equal(cipher_head_len(p.enc), rows[i].head_len);
		assert_int_equal(cipher_length_apart(p.enc), rows[i].apart);
		assert_int_equal(cipher_blocks(p.enc,
				     rows[i].apart ? 64 : 60),
		    rows[i].blocks);
		close_pair(&p);
	}
}

static void
test_arguments(void **state)
{
	static const uint8_t key[CIPHER_KEY_MAX];
	struct cipher *c;

	(void)state;
	assert_int_equal(cipher_new(&c, cipher_by_name("aes128-ctr"), NULL,
			     true, key, key, NULL),
	    ERR_ARGUMENT);
	assert_null(c);
	assert_int_equal(cipher_new(&c,
			     cipher_by_name("aes128-gcm@openssh.com"),
			     mac_by_name("hmac-sha1"), true, key, key, key),
	    ERR_ARGUMENT);
	assert_null(c);
	cipher_free(NULL);
}

/* SP 800-38A, F.5: counter mode, seen through the body of -etm packets. */
static void
test_sp800_38a(void **state)
{
	static const struct {
		const char *cipher, *key, *text;
	} rows[] = {
		{ "aes128-ctr", "2b7e151628aed2a6abf7158809cf4f3c",
		    "874d6191b620e3261bef6864990db6ce"
		    "9806f66b7970fdff8617187bb9fffdff"
		    "5ae4df3edbd5d35e5b4f09020db03eab"
		    "1e031dda2fbe03d1792170a0f3009cee" },
		{ "aes192-ctr",
		    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
		    "1abc932417521ca24f2b0459fe7e6e0b"
		    "090339ec0aa6faefd5ccc2c6f4ce8e94"
		    "1e36b26bd1ebc670d1bd1d665620abf7"
		    "4f78a7f6d29809585a97daec58c6b050" },
		{ "aes256-ctr",
		    "603deb1015ca71be2b73aef0857d7781"
		    "1f352c073b6108d72d9810a30914dff4",
		    "601ec313775789a5b7a7f504bbf3d228"
		    "f443e3ca4d62b59aca84e990cacaf5c5"
		    "2b0930daa23de94ce87017ba2d84988d"
		    "dfc9c58db67aada613c2dd08457941a6" },
	};
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX], mac_key[16] = { 0 };
	uint8_t pkt[4 + 64 + 8];

	(void)state;
	hex_decode("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", iv, sizeof iv);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair p = { .alg = cipher_by_name(rows[i].cipher),
			.mac = mac_by_name("umac-64-etm@openssh.com") };
		struct cipher_pos pos = { 0 };

		hex_decode(rows[i].key, key, sizeof key);
		open_pair(&p, key, iv, mac_key);
		wire_put_u32(pkt, 64);
		hex_decode("6bc1bee22e409f96e93d7e117393172a"
			   "ae2d8a571e03ac9c9eb76fac45af8e51"
			   "30c81c46a35ce411e5fbc1191a0a52ef"
			   "f69f2445df4f9b17ad2b417be66c3710",
		    pkt + 4, 64);
		assert_int_equal(cipher_encrypt(p.enc, &pos, pkt, 64), 0);
		assert_hex(pkt + 4, 64, rows[i].text);
		close_pair(&p);
	}
}

/* SP 800-38A, F.2: the chain goes on from packet to packet; another context can
 * take it over. */
static void
test_cbc_chain(void **state)
{
	static const char *const plain[] = {
		"6bc1bee22e409f96e93d7e117393172a",
		"ae2d8a571e03ac9c9eb76fac45af8e51",
		"30c81c46a35ce411e5fbc1191a0a52ef",
		"f69f2445df4f9b17ad2b417be66c3710",
	};
	static const struct {
		const char *cipher, *key, *text[ARRAY_LEN(plain)];
	} rows[] = {
		{ "aes128-cbc", "2b7e151628aed2a6abf7158809cf4f3c",
		    { "7649abac8119b246cee98e9b12e9197d",
			"5086cb9b507219ee95db113a917678b2",
			"73bed6b8e3c1743b7116e69e22229516",
			"3ff1caa1681fac09120eca307586e1a7" } },
		{ "aes256-cbc",
		    "603deb1015ca71be2b73aef0857d7781"
		    "1f352c073b6108d72d9810a30914dff4",
		    { "f58c4c04d6e5f1ba779eabfb5f7bfbd6",
			"9cfc4e967edb808d679f777bc6702c7d",
			"39f23369a9d9bacfa530e26304231461",
			"b2eb05e2c39be9fcda6c19078c6a9d1b" } },
	};
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX], mac_key[16] = { 0 };
	uint8_t pkt[4 + 16 + 8];
	uint32_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair p = { .alg = cipher_by_name(rows[i].cipher),
			.mac = mac_by_name("umac-64-etm@openssh.com") };
		struct cipher_pos pos = { 0 };

		hex_decode(rows[i].key, key, sizeof key);
		hex_decode("000102030405060708090a0b0c0d0e0f", iv, sizeof iv);
		open_pair(&p, key, iv, mac_key);
		for (size_t n = 0; n < ARRAY_LEN(plain); n++, pos.seqnr++) {
			wire_put_u32(pkt, 16);
			hex_decode(plain[n], pkt + 4, 16);
			assert_int_equal(cipher_encrypt(p.enc, &pos, pkt, 16),
			    0);
			assert_hex(pkt + 4, 16, rows[i].text[n]);
			assert_int_equal(decrypt_packet(p.dec, &pos, pkt,
					     &len),
			    0);
			assert_hex(pkt + 4, 16, plain[n]);
			cipher_chain(p.enc, iv);
			assert_hex(iv, 16, rows[i].text[n]);
			cipher_chain(p.dec, iv);
			close_pair(&p);
			open_pair(&p, key, iv, mac_key);
		}
		close_pair(&p);
	}
}

/* The worked example of draft-ietf-sshm-chacha20-poly1305, appendix A. */
static void
test_chachapoly_draft(void **state)
{
	static const char plain[] =
	    "00000048065e00000000000000384c6f72656d20697073756d20646f6c6f7220"
	    "73697420616d65742c20636f6e73656374657475722061646970697369636"
	    "96e6720656c69744e43e804dc6c";
	static const char encrypted[] =
	    "2c3ecce4a5bc05895bf07a7ba956b6c68829ac7c83b780b7000ecde745afc705"
	    "bbc378ce03a280236b87b53bed5839662302b164b6286a48cd1e097138e3cb90"
	    "9b8b2b829dd18d2a35ff82d995349e855bf02c298ef775f2d1a7e8b8";
	struct pair p = {
		.alg = cipher_by_name("chacha20-poly1305@openssh.com")
	};
	struct cipher_pos pos = { .seqnr = 7 };
	uint8_t key[64], pkt[4 + 0x48 + 16];
	uint32_t len;

	(void)state;
	hex_decode(
	    "8bbff6855fc102338c373e73aac0c914f076a905b2444a32eecaffeae22becc5"
	    "e9b7a7a5825a8249346ec1c28301cf394543fc7569887d76e168f37562ac0740",
	    key, sizeof key);
	open_pair(&p, key, NULL, NULL);
	hex_decode(plain, pkt, sizeof pkt);
	assert_int_equal(cipher_encrypt(p.enc, &pos, pkt, 0x48), 0);
	assert_hex(pkt, sizeof pkt, encrypted);
	assert_int_equal(decrypt_packet(p.dec, &pos, pkt, &len), 0);
	assert_int_equal(len, 0x48);
	assert_hex(pkt, 4 + 0x48, plain);
	close_pair(&p);
}

/* Packets that were encrypted by code that shares nothing with ours. */
static const struct reference {
	const char *cipher, *mac;
	struct cipher_pos pos;
	uint32_t len;
	const char *key, *iv, *mac_key;
	const char *encrypted; /* of a long packet only the end */
} references[] = {
#include "regress/data/cipher-packets.inc"
};

/* The body of the packets: as fill() in make-cipher-packets.py. */
static void
make_reference_plain(uint8_t *pkt, uint32_t len, int number)
{
	uint8_t hash[DIGEST_MAX_LEN];
	char seed[40];

	wire_put_u32(pkt, len);
	for (uint32_t done = 0; done < len; done += 32) {
		snprintf(seed, sizeof seed, "packet %d %u", number, done);
		assert_int_equal(digest_once(DIGEST_SHA256, seed, strlen(seed),
				     hash),
		    0);
		memcpy(pkt + 4 + done, hash, MIN(32, len - done));
	}
}

static void
test_references(void **state)
{
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];
	uint8_t pkt[2000], plain[2000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(references); i++) {
		const struct reference *ref = &references[i];
		struct pair p = { .alg = cipher_by_name(ref->cipher),
			.mac = mac_by_name(ref->mac) };
		size_t shown = strlen(ref->encrypted) / 2, whole;
		uint32_t len;

		assert_int_equal(hex_decode(ref->key, key, sizeof key),
		    p.alg->key_len);
		assert_int_equal(hex_decode(ref->iv, iv, sizeof iv),
		    p.alg->iv_len);
		hex_decode(ref->mac_key, mac_key, sizeof mac_key);
		open_pair(&p, key, iv, mac_key);
		make_reference_plain(plain, ref->len, (int)(i % 3));
		whole = 4 + ref->len + cipher_tag_len(p.enc);
		assert_true(whole <= sizeof pkt && shown <= whole);
		memcpy(pkt, plain, 4 + ref->len);
		assert_int_equal(cipher_encrypt(p.enc, &ref->pos, pkt,
				     ref->len),
		    0);
		assert_hex(pkt + whole - shown, shown, ref->encrypted);
		assert_int_equal(decrypt_packet(p.dec, &ref->pos, pkt, &len),
		    0);
		assert_int_equal(len, ref->len);
		assert_memory_equal(pkt, plain, 4 + len);
		close_pair(&p);
	}
}

/* Many packets, encrypted in order; encrypted again and decrypted in another:
 * the same bytes. */
static void
check_order(struct pair *p)
{
	enum { COUNT = 24, SLOT = 4 + 1024 + MAC_MAX_LEN };
	static uint8_t encrypted[COUNT][SLOT], pkt[SLOT], plain[SLOT];
	struct cipher_pos at[COUNT], pos = { .seqnr = UINT32_MAX - 3,
		.packet = 5, .block = 77 };
	uint32_t lens[COUNT], len;

	for (uint32_t i = 0; i < COUNT; i++) {
		at[i] = pos;
		lens[i] = fit_len(p->enc, 12 + 37 * i);
		make_plain(encrypted[i], lens[i], i);
		assert_int_equal(cipher_encrypt(p->enc, &pos, encrypted[i],
				     lens[i]),
		    0);
		pos.seqnr++;
		pos.packet++;
		pos.block += cipher_blocks(p->enc, lens[i]);
	}
	for (uint32_t n = 0; n < 2 * COUNT; n++) {
		uint32_t i = rand_uniform(COUNT);

		make_plain(plain, lens[i], i);
		memcpy(pkt, plain, 4 + lens[i]);
		assert_int_equal(
		    cipher_encrypt(p->enc, &at[i], pkt, lens[i]), 0);
		assert_memory_equal(pkt, encrypted[i],
		    4 + lens[i] + cipher_tag_len(p->enc));
		assert_int_equal(decrypt_packet(p->dec, &at[i], pkt, &len), 0);
		assert_int_equal(len, lens[i]);
		assert_memory_equal(pkt, plain, 4 + len);
	}
}

static void
test_any_order(void **state)
{
	struct pair p;
	size_t i = 0, j = 0;

	(void)state;
	while (next_pair(&p, &i, &j)) {
		if (cipher_is_chained(p.alg))
			continue;
		open_random_pair(&p);
		check_order(&p);
		close_pair(&p);
	}
}

/* An encrypted packet with one bit changed does not decrypt. */
static void
check_tampered(struct pair *p, const struct cipher_pos *pos,
    const uint8_t *encrypted, uint32_t len, size_t byte)
{
	uint8_t pkt[4 + 256 + MAC_MAX_LEN];
	uint32_t got;
	int r;

	memset(pkt, 0, sizeof pkt);
	memcpy(pkt, encrypted, 4 + len + cipher_tag_len(p->enc));
	pkt[byte] ^= (uint8_t)(1 << byte % 8);
	r = cipher_decrypt_length(p->dec, pos, pkt, &got);
	assert_int_equal(r, 0);
	if (byte >= 4) {
		assert_int_equal(got, len);
	} else {
		/* The length itself: whatever it says now, if there were
		 * enough bytes then these would not be right. */
		assert_int_not_equal(got, len);
		if (got > 256)
			return;
	}
	r = cipher_decrypt(p->dec, pos, pkt, got);
	if (byte >= 4)
		assert_int_equal(r, ERR_MAC);
	else
		assert_true(r == ERR_MAC || r == ERR_PACKET_LENGTH);
}

static void
check_wrong_position(struct pair *p, const struct cipher_pos *pos,
    const uint8_t *encrypted, uint32_t len)
{
	uint8_t pkt[4 + 256 + MAC_MAX_LEN];
	struct cipher_pos wrong = { .seqnr = pos->seqnr + 1,
		.packet = pos->packet + 1,
		.block = pos->block + 1 };
	uint32_t got;

	memcpy(pkt, encrypted, 4 + len + cipher_tag_len(p->enc));
	assert_int_equal(
	    cipher_decrypt_length(p->dec, &wrong, pkt, &got), 0);
	assert_int_equal(cipher_decrypt(p->dec, &wrong, pkt, len), ERR_MAC);
}

static void
test_tampering(void **state)
{
	struct pair p;
	size_t i = 0, j = 0;

	(void)state;
	while (next_pair(&p, &i, &j)) {
		struct cipher_pos pos = { 3, 3, 9 };
		uint8_t encrypted[4 + 256 + MAC_MAX_LEN];
		uint32_t len;

		/* A context takes one packet of these: see
		 * test_cbc_hides_refusals() in test-packet.c. */
		if (cipher_is_chained(p.alg))
			continue;
		open_random_pair(&p);
		len = fit_len(p.enc, 100);
		make_plain(encrypted, len, 1);
		assert_int_equal(
		    cipher_encrypt(p.enc, &pos, encrypted, len), 0);
		for (size_t n = 0; n < 4 + len + cipher_tag_len(p.enc); n++)
			check_tampered(&p, &pos, encrypted, len, n);
		check_wrong_position(&p, &pos, encrypted, len);
		close_pair(&p);
	}
}

/* Lengths that no honest peer sends are refused, not computed with. */
static void
test_bad_lengths(void **state)
{
	static const uint32_t lens[] = { 0, 1, 3, 15, 17, CIPHER_LEN_MAX + 1,
		CIPHER_LEN_MAX + 16, UINT32_MAX - 3, UINT32_MAX };
	struct pair p;
	size_t i = 0, j = 0;

	(void)state;
	while (next_pair(&p, &i, &j)) {
		struct cipher_pos pos = { 0 };
		uint8_t pkt[64] = { 0 };

		open_random_pair(&p);
		for (size_t n = 0; n < ARRAY_LEN(lens); n++) {
			assert_int_equal(cipher_decrypt(p.dec, &pos, pkt,
					     lens[n]),
			    ERR_PACKET_LENGTH);
		}
		close_pair(&p);
	}
}

static void
test_largest(void **state)
{
	uint8_t *pkt = malloc(PKT_MAX);
	struct pair p;
	size_t i = 0, j = 0;

	(void)state;
	assert_non_null(pkt);
	while (next_pair(&p, &i, &j)) {
		struct cipher_pos pos = { 0 };
		uint32_t len, got;

		open_random_pair(&p);
		len = CIPHER_LEN_MAX - (cipher_length_apart(p.enc) ? 0 : 4);
		make_plain(pkt, len, 5);
		assert_int_equal(cipher_encrypt(p.enc, &pos, pkt, len), 0);
		assert_int_equal(decrypt_packet(p.dec, &pos, pkt, &got), 0);
		assert_int_equal(got, len);
		for (uint32_t n = 0; n < len; n++) {
			if (pkt[4 + n] != (uint8_t)(5 + n * 7 + n / 256))
				fail();
		}
		close_pair(&p);
	}
	free(pkt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_sp800_38a),
		cmocka_unit_test(test_cbc_chain),
		cmocka_unit_test(test_chachapoly_draft),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_tampering),
		cmocka_unit_test(test_bad_lengths),
		cmocka_unit_test(test_largest),
	};

	return cmocka_run_group_tests_name("cipher", tests, NULL, NULL);
}
