/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "keys/key.h"
#include "regress/unit/make-cert.h"

enum { BYTES_MAX = 4096 };

static int
verify(const struct key *k, const char *alg, const char *data,
    const struct buf *signature)
{
	return key_verify(k, alg, span_text(data), buf_span(signature));
}

static void
put_hex(struct buf *b, const char *hex)
{
	uint8_t bytes[BYTES_MAX];

	buf_put(b, bytes, hex_decode(hex, bytes, sizeof bytes));
}

static void
put_string_hex(struct buf *b, const char *hex)
{
	size_t mark = buf_open_string(b);

	put_hex(b, hex);
	buf_close_string(b, mark);
}

static void
put_mpint_hex(struct buf *b, const char *hex)
{
	uint8_t bytes[BYTES_MAX];
	size_t len = hex_decode(hex, bytes, sizeof bytes);

	buf_put_mpint(b, bytes, len);
}

/* ---- the table ---------------------------------------------------------- */

static void
test_table(void **state)
{
	static const struct {
		const char *name, *type, *text;
		bool offered;
	} rows[] = {
	    {"ssh-ed25519", "ssh-ed25519", "ED25519", true},
	    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "ECDSA", true},
	    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", "ECDSA", true},
	    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", "ECDSA", true},
	    {"sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519@openssh.com",
		"ED25519-SK", true},
	    {"sk-ecdsa-sha2-nistp256@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com", "ECDSA-SK", true},
	    {"webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com", "ECDSA-SK", true},
	    {"rsa-sha2-512", "ssh-rsa", "RSA", true},
	    {"rsa-sha2-256", "ssh-rsa", "RSA", true},
	    {"ssh-rsa", "ssh-rsa", "RSA", false},
	    {"ssh-mldsa44-ed25519@openssh.com",
		"ssh-mldsa44-ed25519@openssh.com", "MLDSA44-ED25519", false},
	};
	const struct key_alg *a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		a = key_alg_at(i);
		assert_non_null(a);
		assert_string_equal(a->name, rows[i].name);
		assert_string_equal(a->key_type, rows[i].type);
		assert_string_equal(a->short_name, rows[i].text);
		assert_int_equal(a->offered, rows[i].offered);
		assert_ptr_equal(key_alg_by_name(rows[i].name), a);
	}
	assert_null(key_alg_at(ARRAY_LEN(rows)));
	assert_null(key_alg_by_name("ssh-dss"));
	assert_string_equal(key_alg_default_plain_list(),
	    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"
	    "ecdsa-sha2-nistp521,sk-ssh-ed25519@openssh.com,"
	    "sk-ecdsa-sha2-nistp256@openssh.com,"
	    "webauthn-sk-ecdsa-sha2-nistp256@openssh.com,"
	    "rsa-sha2-512,rsa-sha2-256");
	assert_string_equal(key_alg_default_list(),
	    "ssh-ed25519-cert-v01@openssh.com,"
	    "ecdsa-sha2-nistp256-cert-v01@openssh.com,"
	    "ecdsa-sha2-nistp384-cert-v01@openssh.com,"
	    "ecdsa-sha2-nistp521-cert-v01@openssh.com,"
	    "sk-ssh-ed25519-cert-v01@openssh.com,"
	    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,"
	    "webauthn-sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,"
	    "rsa-sha2-512-cert-v01@openssh.com,"
	    "rsa-sha2-256-cert-v01@openssh.com,"
	    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"
	    "ecdsa-sha2-nistp521,sk-ssh-ed25519@openssh.com,"
	    "sk-ecdsa-sha2-nistp256@openssh.com,"
	    "webauthn-sk-ecdsa-sha2-nistp256@openssh.com,"
	    "rsa-sha2-512,rsa-sha2-256");
}

/* What a server says that it can verify: certificates sign by the plain
 * names, names without an algorithm here say nothing. */
static void
test_algs_of_signatures(void **state)
{
	char *list = key_algs_of_signatures(
	    "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,no-such-key,"
	    "rsa-sha2-512-cert-v01@openssh.com");

	(void)state;
	assert_string_equal(list, "ssh-ed25519,rsa-sha2-512");
	free(list);
}

/* ---- published vectors -------------------------------------------------- */

/* RFC 8032 section 7.1, tests 1 to 3. */
static const struct {
	const char *seed, *public, *message, *signature;
} ed25519_vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
	"5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100"
	"b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	"72",
	"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
	"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c0"
	"0"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
	"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
	"af82",
	"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
	"18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40"
	"a"},
};

static void
test_ed25519_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ed25519_vectors); i++) {
		struct buf wire = {0}, sig = {0};
		uint8_t message[16];
		struct span data = {
		    message, hex_decode(ed25519_vectors[i].message, message,
				 sizeof message)};
		struct key *k = NULL;
		struct rd rd;
		size_t mark;

		buf_put_cstring(&wire, "ssh-ed25519");
		put_string_hex(&wire, ed25519_vectors[i].public);
		mark = buf_open_string(&wire);
		put_hex(&wire, ed25519_vectors[i].seed);
		put_hex(&wire, ed25519_vectors[i].public);
		buf_close_string(&wire, mark);
		rd = rd_from_buf(&wire);
		assert_int_equal(key_private_from_wire(&rd, &k), 0);
		assert_int_equal(rd_end(&rd), 0);
		assert_int_equal(key_sign(k, "ssh-ed25519", data, &sig), 0);
		assert_int_equal(
		    key_verify(k, "ssh-ed25519", data, buf_span(&sig)), 0);
		buf_consume(&sig, 4 + strlen("ssh-ed25519") + 4);
		assert_hex(buf_data(&sig), buf_len(&sig),
		    ed25519_vectors[i].signature);
		key_free(k);
		buf_clear(&sig);
		buf_clear(&wire);
	}
}

/* RFC 6979 sections A.2.5 to A.2.7, message "sample". */
static const struct {
	const char *alg, *curve, *point, *r, *s;
} ecdsa_vectors[] = {
    {"ecdsa-sha2-nistp256", "nistp256",
	"04"
	"60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
	"7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
	"efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
	"f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda"
	"8"},
    {"ecdsa-sha2-nistp384", "nistp384",
	"04"
	"ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64"
	"def8f0ea9055866064a254515480bc13"
	"8015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1"
	"288b231c3ae0d4fe7344fd2533264720",
	"94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c"
	"81a648152e44acf96e36dd1e80fabe46",
	"99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94f"
	"a329c145786e679e7b82c71a38628ac8"},
    {"ecdsa-sha2-nistp521", "nistp521",
	"04"
	"01894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd"
	"371123d46e45db6b5d5370a7f20fb633155d38ffa16d2bd761dcac474b9a2f50"
	"23a4"
	"00493101c962cd4d2fddf782285e64584139c2f91b47f87ff82354d6630f746a"
	"28a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfd"
	"fcf5",
	"00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f"
	"174e25a1ee9017b5d450606add152b534931d7d4e8455cc91f9b15bf05ec36e3"
	"77fa",
	"00617cce7cf5064806c467f678d3b4080d6f1cc50af26ca209417308281b68af"
	"282623eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4"
	"a67a"},
};

static void
put_ecdsa_signature(struct buf *out, size_t i, const char *r, const char *s)
{
	size_t mark;

	buf_put_cstring(out, ecdsa_vectors[i].alg);
	mark = buf_open_string(out);
	put_mpint_hex(out, r);
	put_mpint_hex(out, s);
	buf_close_string(out, mark);
}

static void
test_ecdsa_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ecdsa_vectors); i++) {
		const char *alg = ecdsa_vectors[i].alg;
		struct buf blob = {0}, sig = {0};
		struct key *k = NULL;

		buf_put_cstring(&blob, alg);
		buf_put_cstring(&blob, ecdsa_vectors[i].curve);
		put_string_hex(&blob, ecdsa_vectors[i].point);
		assert_int_equal(key_from_blob(buf_span(&blob), &k), 0);
		put_ecdsa_signature(
		    &sig, i, ecdsa_vectors[i].r, ecdsa_vectors[i].s);
		assert_int_equal(verify(k, alg, "sample", &sig), 0);
		assert_int_equal(verify(k, alg, "sampla", &sig), ERR_SIGNATURE);
		buf_reset(&sig);
		put_ecdsa_signature(
		    &sig, i, ecdsa_vectors[i].s, ecdsa_vectors[i].r);
		assert_int_equal(verify(k, alg, "sample", &sig), ERR_SIGNATURE);
		buf_reset(&sig);
		put_ecdsa_signature(&sig, i, ecdsa_vectors[i].r, "00");
		assert_int_equal(verify(k, alg, "sample", &sig), ERR_SIGNATURE);
		key_free(k);
		buf_clear(&sig);
		buf_clear(&blob);
	}
}

/* ---- every kind of key -------------------------------------------------- */

static const struct kind {
	const char *type;
	unsigned bits;
	const char *key_type;
	const char *algs[4];
} kinds[] = {
    {"ed25519", 256, "ssh-ed25519", {"ssh-ed25519"}},
    {"ecdsa", 256, "ecdsa-sha2-nistp256", {"ecdsa-sha2-nistp256"}},
    {"ecdsa", 384, "ecdsa-sha2-nistp384", {"ecdsa-sha2-nistp384"}},
    {"ecdsa", 521, "ecdsa-sha2-nistp521", {"ecdsa-sha2-nistp521"}},
    {"rsa", 1024, "ssh-rsa", {"rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"}},
    {"mldsa44-ed25519", 256, "ssh-mldsa44-ed25519@openssh.com",
	{"ssh-mldsa44-ed25519@openssh.com"}},
};

static struct key *
generate(const struct kind *kind)
{
	struct key *k = NULL;

	assert_int_equal(key_generate(kind->type, kind->bits, &k), 0);
	assert_string_equal(key_type(k), kind->key_type);
	assert_int_equal(key_bits(k), kind->bits);
	assert_true(key_is_private(k));
	return k;
}

static void
test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = generate(&kinds[i]), *public = NULL;
		struct key *again = NULL, *parsed = NULL;
		struct buf wire, line = {0};
		const char *s;
		char *line_text;
		struct rd rd;

		buf_init_secret(&wire);
		assert_int_equal(key_public_of(k, &public), 0);
		assert_false(key_is_private(public));
		assert_true(key_equal_public(k, public));

		assert_int_equal(
		    key_private_to_wire(public, &wire), ERR_ARGUMENT);
		buf_reset(&wire);
		assert_int_equal(key_private_to_wire(k, &wire), 0);
		buf_put_cstring(&wire, "what follows");
		rd = rd_from_buf(&wire);
		assert_int_equal(key_private_from_wire(&rd, &again), 0);
		assert_true(span_equals(rd_string(&rd), "what follows"));
		assert_int_equal(rd_end(&rd), 0);
		assert_true(key_equal_public(k, again));

		assert_int_equal(key_format_line(k, "my comment", &line), 0);
		line_text = buf_dup_string(&line);
		s = line_text;
		assert_int_equal(key_parse_line(&s, &parsed), 0);
		assert_string_equal(s, " my comment");
		assert_true(key_equal_public(k, parsed));
		assert_int_equal(key_bits(parsed), kinds[i].bits);

		free(line_text);
		buf_clear(&line);
		buf_clear(&wire);
		key_free(parsed);
		key_free(again);
		key_free(public);
		key_free(k);
	}
}

/* A plain key of any type is its own identity, to the byte. */
static void
test_plain_identities(void **state)
{
	struct key *one, *other = generate(&kinds[0]), *same = NULL;
	struct buf blob = {0}, identity = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		one = generate(&kinds[i]);
		assert_ptr_equal(key_identity(one), one);
		assert_int_equal(key_public_of(one, &same), 0);
		assert_true(key_same_identity(one, same));
		assert_false(key_same_identity(one, other));
		buf_reset(&blob);
		buf_reset(&identity);
		assert_int_equal(key_to_blob(one, &blob), 0);
		assert_int_equal(
		    key_identity_of_blob(buf_span(&blob), &identity), 0);
		assert_int_equal(buf_len(&identity), buf_len(&blob));
		assert_memory_equal(
		    buf_data(&identity), buf_data(&blob), buf_len(&blob));
		assert_true(key_blobs_same_identity(
		    buf_span(&blob), buf_span(&identity)));
		buf_consume(&blob, 1);
		assert_int_not_equal(
		    key_identity_of_blob(buf_span(&blob), &identity), 0);
		assert_false(key_blobs_same_identity(
		    buf_span(&blob), buf_span(&blob)));
		key_free(same);
		key_free(one);
	}
	assert_false(key_same_identity(other, NULL));
	assert_false(key_same_identity(NULL, NULL));
	buf_clear(&blob);
	buf_clear(&identity);
	key_free(other);
}

/* A certificate is recognized as its key, though it is another public key. */
static void
test_certified_identity(void **state)
{
	struct key *plain = generate(&kinds[0]), *other = generate(&kinds[0]);
	struct key *cert = make_cert_for(plain);
	char *want = key_fingerprint(plain, DIGEST_SHA256);
	char *got = key_fingerprint(cert, DIGEST_SHA256);

	(void)state;
	assert_true(key_equal_public(key_identity(cert), plain));
	assert_true(key_is_cert(cert) && !key_is_cert(plain));
	assert_true(key_same_identity(cert, plain));
	assert_true(key_same_identity(plain, cert));
	assert_true(key_same_identity(cert, cert));
	assert_false(key_same_identity(cert, other));
	assert_false(key_equal_public(cert, plain));
	assert_string_equal(got, want);
	key_free(cert);
	free(got);
	free(want);
	key_free(plain);
	key_free(other);
}

/* All the ways in which a signature can be a little wrong. */
static void
check_strictness(const struct key *k, const struct key *other, const char *alg,
    const struct buf *sig)
{
	struct span data = span_text("some data"), s = buf_span(sig);
	struct buf bad = {0};

	assert_int_equal(key_verify(k, alg, data, s), 0);
	assert_int_equal(key_verify(other, alg, data, s), ERR_SIGNATURE);
	assert_int_equal(
	    key_verify(k, alg, span_text("some dato"), s), ERR_SIGNATURE);
	assert_int_equal(key_verify(k, alg, span_text(""), s), ERR_SIGNATURE);
	for (size_t len = 0; len < s.len; len += 1 + s.len / 40)
		assert_int_equal(
		    key_verify(k, alg, data, (struct span){s.p, len}),
		    ERR_SIGNATURE);
	buf_put(&bad, s.p, s.len);
	buf_put_u8(&bad, 0);
	assert_int_equal(
	    key_verify(k, alg, data, buf_span(&bad)), ERR_SIGNATURE);
	/* one more byte inside of the inner string */
	buf_reset(&bad);
	buf_put_cstring(&bad, alg);
	buf_put_u32(&bad, (uint32_t)(s.len - 8 - strlen(alg) + 1));
	buf_put(&bad, s.p + 8 + strlen(alg), s.len - 8 - strlen(alg));
	buf_put_u8(&bad, 0);
	assert_int_equal(
	    key_verify(k, alg, data, buf_span(&bad)), ERR_SIGNATURE);
	for (size_t i = 0; i < s.len; i += 1 + s.len / 40) {
		uint8_t *p;

		buf_reset(&bad);
		p = buf_reserve(&bad, s.len);
		memcpy(p, s.p, s.len);
		p[i] ^= 0x40;
		buf_commit(&bad, s.len);
		assert_int_equal(
		    key_verify(k, alg, data, buf_span(&bad)), ERR_SIGNATURE);
	}
	buf_clear(&bad);
}

static void
test_signatures(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = generate(&kinds[i]);
		struct key *other = generate(&kinds[i]), *public = NULL;
		struct buf sig = {0};

		assert_int_equal(key_public_of(k, &public), 0);
		for (const char *const *alg = kinds[i].algs; *alg != NULL;
		     alg++) {
			assert_true(key_serves(public, *alg));
			buf_reset(&sig);
			assert_int_equal(key_sign(public, *alg,
					     span_text("some data"), &sig),
			    ERR_ARGUMENT);
			assert_int_equal(
			    key_sign(k, *alg, span_text("some data"), &sig), 0);
			check_strictness(public, other, *alg, &sig);
		}
		assert_false(key_serves(k, "ssh-dss"));
		assert_int_equal(
		    key_sign(k, "ssh-dss", span_text(""), &sig), ERR_KEY_TYPE);
		buf_clear(&sig);
		key_free(public);
		key_free(other);
		key_free(k);
	}
}

/* A signature under one algorithm must not pass for another's. */
static void
test_algorithm_is_bound(void **state)
{
	struct key *k = generate(&kinds[4]);
	struct buf sig = {0}, renamed = {0};

	(void)state;
	assert_int_equal(key_sign(k, "ssh-rsa", span_text("x"), &sig), 0);
	assert_int_equal(verify(k, "rsa-sha2-256", "x", &sig), ERR_SIGNATURE);
	assert_int_equal(verify(k, "ssh-ed25519", "x", &sig), ERR_KEY_TYPE);
	buf_put_cstring(&renamed, "rsa-sha2-256");
	buf_consume(&sig, 4 + strlen("ssh-rsa"));
	buf_put_buf(&renamed, &sig);
	assert_int_equal(
	    verify(k, "rsa-sha2-256", "x", &renamed), ERR_SIGNATURE);
	buf_clear(&renamed);
	buf_clear(&sig);
	key_free(k);
}

/* Signatures without their leading zeros are met in practice. */
static void
test_rsa_short_signature(void **state)
{
	struct key *k = generate(&kinds[4]);
	const size_t head = 4 + strlen("rsa-sha2-256") + 4;
	struct buf sig = {0}, cut = {0};
	uint8_t data[4] = {0};
	struct span d = {data, sizeof data};
	int tries;

	(void)state;
	for (tries = 0; tries < 5000; tries++) {
		wire_put_u32(data, (uint32_t)tries);
		buf_reset(&sig);
		assert_int_equal(key_sign(k, "rsa-sha2-256", d, &sig), 0);
		assert_int_equal(buf_len(&sig), head + 128);
		if (buf_data(&sig)[head] == 0)
			break;
	}
	assert_true(tries < 5000);
	buf_put_cstring(&cut, "rsa-sha2-256");
	buf_put_string(&cut, buf_data(&sig) + head + 1, 127);
	assert_int_equal(key_verify(k, "rsa-sha2-256", d, buf_span(&cut)), 0);
	buf_reset(&cut);
	buf_put_cstring(&cut, "rsa-sha2-256");
	buf_put_string(&cut, buf_data(&sig) + head + 2, 126);
	if (buf_data(&sig)[head + 1] != 0)
		assert_int_equal(
		    key_verify(k, "rsa-sha2-256", d, buf_span(&cut)),
		    ERR_SIGNATURE);
	buf_clear(&cut);
	buf_clear(&sig);
	key_free(k);
}

/* ---- what is refused ---------------------------------------------------- */

static void
test_generate_refuses(void **state)
{
	static const struct {
		const char *type;
		unsigned bits;
		int want;
	} cases[] = {
	    {"rsa", 1023, ERR_KEY_LENGTH},
	    {"rsa", 16385, ERR_KEY_LENGTH},
	    {"ecdsa", 255, ERR_KEY_LENGTH},
	    {"ecdsa", 520, ERR_KEY_LENGTH},
	    {"dsa", 0, ERR_KEY_TYPE},
	    {"", 0, ERR_KEY_TYPE},
	};
	struct key *k = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(key_generate(cases[i].type, cases[i].bits, &k),
		    cases[i].want);
	assert_int_equal(key_generate("ecdsa", 0, &k), 0);
	assert_int_equal(key_bits(k), 256);
	assert_int_equal(key_check_length(k, 4096), 0);
	key_free(k);
	k = generate(&kinds[4]);
	assert_int_equal(key_check_length(k, 1024), 0);
	assert_int_equal(key_check_length(k, 2048), ERR_KEY_LENGTH);
	key_free(k);
}

static int
from_blob(const struct buf *blob)
{
	struct key *k = NULL;
	int r = key_from_blob(buf_span(blob), &k);

	assert_true((r == 0) == (k != NULL));
	key_free(k);
	return r;
}

static void
put_rsa(struct buf *b, const char *e, unsigned bits, uint8_t last)
{
	uint8_t n[16384 / 8 + 1] = {0};
	size_t len = (bits + 7) / 8;

	buf_reset(b);
	n[0] = (uint8_t)(1 << (bits - 1) % 8);
	n[len - 1] |= last;
	buf_put_cstring(b, "ssh-rsa");
	put_mpint_hex(b, e);
	buf_put_mpint(b, n, len);
}

static void
test_bad_rsa_blobs(void **state)
{
	static const struct {
		const char *e;
		unsigned bits;
		uint8_t last;
		int want;
	} cases[] = {
	    {"010001", 1024, 1, 0},
	    {"010001", 16384, 1, 0},
	    {"03", 2048, 1, 0},
	    {"010001", 1023, 1, ERR_KEY_LENGTH},
	    {"010001", 16385, 1, ERR_KEY_LENGTH},
	    {"010001", 8, 1, ERR_KEY_LENGTH},
	    {"010001", 1024, 2, ERR_FORMAT},
	    {"010000", 1024, 1, ERR_FORMAT},
	    {"01", 1024, 1, ERR_FORMAT},
	    {"00", 1024, 1, ERR_FORMAT},
	    {"010000000000000001", 1024, 1, ERR_FORMAT},
	};
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put_rsa(&b, cases[i].e, cases[i].bits, cases[i].last);
		assert_int_equal(from_blob(&b), cases[i].want);
	}
	put_rsa(&b, "010001", 1024, 1);
	buf_put_u8(&b, 0);
	assert_int_equal(from_blob(&b), ERR_TRAILING);
	buf_truncate(&b, buf_len(&b) - 2);
	assert_int_equal(from_blob(&b), ERR_TRUNCATED);
	/* a negative exponent */
	buf_reset(&b);
	buf_put_cstring(&b, "ssh-rsa");
	put_string_hex(&b, "81");
	put_string_hex(&b, "0081");
	assert_int_equal(from_blob(&b), ERR_FORMAT);
	buf_clear(&b);
}

static void
test_bad_blobs(void **state)
{
	static const struct {
		const char *type, *curve, *point;
		int want;
	} cases[] = {
	    /* the point of the first vector, but for a bit */
	    {"ecdsa-sha2-nistp256", "nistp256",
		"0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e"
		"60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177"
		"a3c294d4462298",
		ERR_FORMAT},
	    /* compressed */
	    {"ecdsa-sha2-nistp256", "nistp256",
		"0360fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e"
		"60f29fb6",
		ERR_FORMAT},
	    /* hybrid */
	    {"ecdsa-sha2-nistp256", "nistp256",
		"0760fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e"
		"60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177"
		"a3c294d4462299",
		ERR_FORMAT},
	    {"ecdsa-sha2-nistp256", "nistp256", "00", ERR_FORMAT},
	    {"ecdsa-sha2-nistp256", "nistp256", "", ERR_FORMAT},
	    {"ecdsa-sha2-nistp256", "nistp384",
		"0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e"
		"60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177"
		"a3c294d4462299",
		ERR_FORMAT},
	    {"ssh-ed25519", NULL, "00", ERR_FORMAT},
	    {"ssh-ed25519", NULL,
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f7"
		"07511a00",
		ERR_FORMAT},
	    {"ssh-dss", NULL, "00", ERR_KEY_TYPE},
	    {"ssh-ed25519-cert-v01@openssh.com", NULL, "00", ERR_TRUNCATED},
	    {"rsa-sha2-512-cert-v01@openssh.com", NULL, "00", ERR_KEY_TYPE},
	    {"sk-ssh-ed25519@openssh.com", NULL, "00", ERR_FORMAT},
	    {"ssh-mldsa44-ed25519@openssh.com", NULL, "00", ERR_FORMAT},
	    {"rsa-sha2-512", NULL, "00", ERR_KEY_TYPE},
	    {"", NULL, "", ERR_KEY_TYPE},
	};
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_reset(&b);
		buf_put_cstring(&b, cases[i].type);
		if (cases[i].curve != NULL)
			buf_put_cstring(&b, cases[i].curve);
		put_string_hex(&b, cases[i].point);
		assert_int_equal(from_blob(&b), cases[i].want);
	}
	buf_reset(&b);
	assert_int_equal(from_blob(&b), ERR_TRUNCATED);
	buf_clear(&b);
}

/* Private keys whose parts do not belong together: each byte in turn. */
static void
test_bad_private(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = generate(&kinds[i]), *bad;
		struct buf wire = {0}, mutant = {0};
		size_t len;

		assert_int_equal(key_private_to_wire(k, &wire), 0);
		len = buf_len(&wire);
		for (size_t at = 0; at < len; at += 1 + len / 60) {
			uint8_t *p = buf_reserve(&mutant, len);
			struct rd rd;

			memcpy(p, buf_data(&wire), len);
			p[at] ^= 1;
			buf_commit(&mutant, len);
			rd = rd_from_buf(&mutant);
			bad = NULL;
			assert_int_not_equal(
			    key_private_from_wire(&rd, &bad), 0);
			assert_null(bad);
			buf_reset(&mutant);
		}
		buf_clear(&mutant);
		buf_clear(&wire);
		key_free(k);
	}
}

static void
test_bad_lines(void **state)
{
	static const struct {
		const char *line;
		int want;
	} cases[] = {
	    {"", ERR_FORMAT},
	    {"ssh-ed25519", ERR_FORMAT},
	    {"ssh-ed25519 ", ERR_FORMAT},
	    {"ssh-ed25519 !!!!", ERR_FORMAT},
	    {"ssh-ed25519 AAAA", ERR_TRUNCATED},
	    {"ssh-dss AAAA", ERR_KEY_TYPE},
	    /* one type in the word, another in the blob */
	    {"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWY"
	     "ceGQCPcRLkkTIUOy2",
		ERR_FORMAT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *s = cases[i].line;
		struct key *k = NULL;

		assert_int_equal(key_parse_line(&s, &k), cases[i].want);
		assert_null(k);
		assert_ptr_equal(s, cases[i].line);
	}
}

/* ---- fingerprints: what ssh-keygen of OpenSSH 9.2 says of this key ------ */

static void
test_fingerprints(void **state)
{
	const char *s = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVM"
			"gnNOSESWYceGQCPcRLkkTIUOy2 one";
	struct key *k = NULL;
	char *out;

	(void)state;
	assert_int_equal(key_parse_line(&s, &k), 0);
	out = key_fingerprint(k, DIGEST_SHA256);
	assert_string_equal(
	    out, "SHA256:J16/4dlovGIJEBVMx55vlVV4n3Pybkw/1tKCFIbhO5w");
	free(out);
	out = key_fingerprint(k, DIGEST_MD5);
	assert_string_equal(
	    out, "MD5:25:b8:e7:0c:b4:07:76:90:9d:fe:89:cd:f8:ec:9f:41");
	free(out);
	out = key_randomart(k, DIGEST_SHA256);
	assert_string_equal(out, "+--[ED25519 256]--+\n"
				 "|       ++o.    .o|\n"
				 "|      . ..o   . o|\n"
				 "|       . o +   +o|\n"
				 "|      .   = o +oo|\n"
				 "|       .S.o= o oo|\n"
				 "|       ..+E.+   o|\n"
				 "|        .. *o. =o|\n"
				 "|          +.+*ooB|\n"
				 "|         . o*.o+.|\n"
				 "+----[SHA256]-----+");
	free(out);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_algs_of_signatures),
	    cmocka_unit_test(test_ed25519_vectors),
	    cmocka_unit_test(test_ecdsa_vectors),
	    cmocka_unit_test(test_forms),
	    cmocka_unit_test(test_plain_identities),
	    cmocka_unit_test(test_certified_identity),
	    cmocka_unit_test(test_signatures),
	    cmocka_unit_test(test_algorithm_is_bound),
	    cmocka_unit_test(test_rsa_short_signature),
	    cmocka_unit_test(test_generate_refuses),
	    cmocka_unit_test(test_bad_rsa_blobs),
	    cmocka_unit_test(test_bad_blobs),
	    cmocka_unit_test(test_bad_private),
	    cmocka_unit_test(test_bad_lines),
	    cmocka_unit_test(test_fingerprints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
