/* SPDX-License-Identifier: ISC */
/* Keys of ML-DSA-44 and Ed25519. */
#include "regress/unit/make-cert.h"

#include <stdlib.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/mldsa44.h"
#include "keys/key.h"
#include "keys/keyfile.h"

#define ALG "ssh-mldsa44-ed25519@openssh.com"
#define LABEL "COMPSIG-MLDSA44-Ed25519-SHA512"

enum {
	ED_PUBLIC = MLDSA44_PUBLIC_LEN,
	PUBLIC_LEN = ED_PUBLIC + 32,
	ED_SIGNATURE = MLDSA44_SIGNATURE_LEN,
	SIGNATURE_LEN = ED_SIGNATURE + 64,
	SIGNATURE_AT = 4 + sizeof ALG - 1 + 4,
};

static const struct span data = { (const uint8_t *)"a login", 7 };

static struct key *
generate(void)
{
	struct key *k = NULL;

	assert_int_equal(key_generate("mldsa44-ed25519", 0, &k), 0);
	return k;
}

static void
test_properties(void **state)
{
	struct key *k = generate();
	struct buf blob = { 0 }, wire = { 0 };
	struct rd r;

	(void)state;
	assert_string_equal(key_type(k), ALG);
	assert_string_equal(key_short_name(k), "MLDSA44-ED25519");
	assert_int_equal(key_bits(k), 256);
	assert_true(key_is_private(k));
	assert_true(key_serves(k, ALG));
	assert_false(key_serves(k, "ssh-ed25519"));
	assert_int_equal(key_to_blob(k, &blob), 0);
	r = rd_from_buf(&blob);
	assert_true(span_equals(rd_string(&r), ALG));
	assert_int_equal(rd_string(&r).len, PUBLIC_LEN);
	assert_int_equal(rd_end(&r), 0);
	assert_int_equal(key_private_to_wire(k, &wire), 0);
	r = rd_from_buf(&wire);
	(void)rd_string(&r);
	assert_int_equal(rd_string(&r).len, PUBLIC_LEN);
	assert_int_equal(rd_string(&r).len, 64);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&blob);
	buf_clear(&wire);
	key_free(k);
}

/* Both halves sign the same text, which is put together here once more. */
static void
test_text(void **state)
{
	static const char head[] = "CompositeAlgorithmSignatures2025" LABEL;
	uint8_t text[sizeof head + 64];
	struct mldsa44_message m = {
		{ (const uint8_t *)LABEL, strlen(LABEL) },
		{ text, sizeof text },
	};
	struct key *k = generate();
	struct buf blob = { 0 }, signature = { 0 };
	const uint8_t *public, *raw;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	EVP_PKEY *ed;

	(void)state;
	memcpy(text, head, sizeof head); /* with its 0 */
	assert_int_equal(digest_once(DIGEST_SHA512, data.p, data.len,
			     text + sizeof head), 0);
	assert_int_equal(key_to_blob(k, &blob), 0);
	assert_int_equal(key_sign(k, ALG, data, &signature), 0);
	assert_int_equal(buf_len(&signature), SIGNATURE_AT + SIGNATURE_LEN);
	public = buf_data(&blob) + buf_len(&blob) - PUBLIC_LEN;
	raw = buf_data(&signature) + SIGNATURE_AT;
	assert_int_equal(mldsa44_own_verify(raw, public, &m), 0);
	ed = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL,
	    public + ED_PUBLIC, 32);
	assert_int_equal(EVP_DigestVerifyInit_ex(md, NULL, NULL, NULL, NULL,
			     ed, NULL), 1);
	assert_int_equal(EVP_DigestVerify(md, raw + ED_SIGNATURE, 64, text,
			     sizeof text), 1);
	EVP_MD_CTX_free(md);
	EVP_PKEY_free(ed);
	buf_clear(&blob);
	buf_clear(&signature);
	key_free(k);
}

/* A signature whose two halves are those of two others. */
static void
join(struct buf *out, const struct buf *first, const struct buf *second)
{
	buf_reset(out);
	buf_put(out, buf_data(first), SIGNATURE_AT + ED_SIGNATURE);
	buf_put(out, buf_data(second) + SIGNATURE_AT + ED_SIGNATURE, 64);
}

/* One half that is right does not do, whichever it is. */
static void
test_both_halves_count(void **state)
{
	struct span other = { (const uint8_t *)"b login", 7 };
	struct key *k = generate();
	struct buf right = { 0 }, wrong = { 0 }, joined = { 0 };

	(void)state;
	assert_int_equal(key_sign(k, ALG, data, &right), 0);
	assert_int_equal(key_sign(k, ALG, other, &wrong), 0);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&right)), 0);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&wrong)),
	    ERR_SIGNATURE);
	join(&joined, &right, &wrong);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&joined)),
	    ERR_SIGNATURE);
	join(&joined, &wrong, &right);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&joined)),
	    ERR_SIGNATURE);
	join(&joined, &right, &right);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&joined)), 0);
	buf_clear(&right);
	buf_clear(&wrong);
	buf_clear(&joined);
	key_free(k);
}

/* The length is exact. */
static void
test_lengths(void **state)
{
	static const size_t lengths[] = { 0, 1, 64, ED_SIGNATURE,
		SIGNATURE_LEN - 1, SIGNATURE_LEN, SIGNATURE_LEN + 1 };
	struct key *k = generate();
	struct buf signature = { 0 }, bad = { 0 };
	uint8_t raw[SIGNATURE_LEN + 1] = { 0 };

	(void)state;
	assert_int_equal(key_sign(k, ALG, data, &signature), 0);
	memcpy(raw, buf_data(&signature) + SIGNATURE_AT, SIGNATURE_LEN);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		buf_reset(&bad);
		buf_put_cstring(&bad, ALG);
		buf_put_string(&bad, raw, lengths[i]);
		assert_int_equal(key_verify(k, ALG, data, buf_span(&bad)),
		    lengths[i] == SIGNATURE_LEN ? 0 : ERR_SIGNATURE);
	}
	buf_clear(&signature);
	buf_clear(&bad);
	key_free(k);
}

/* As a certificate's key, and as an authority; what an agent takes of such a
 * certificate has the seeds alone. */
static void
test_certificates(void **state)
{
	static const struct cert_request request = { .kind = CERT_USER,
		.id = "id", .valid_before = UINT64_MAX };
	struct key *k = generate(), *ca = generate(), *full = NULL, *again;
	struct key *cert = make_cert_by(k, &request, ca, ALG);
	struct buf wire = { 0 }, blob = { 0 }, signature = { 0 };
	struct rd r;

	(void)state;
	assert_string_equal(key_type(cert),
	    "ssh-mldsa44-ed25519-cert-v01@openssh.com");
	assert_int_equal(key_private_cert(cert, k, &full), 0);
	assert_int_equal(key_private_to_wire(full, &wire), 0);
	assert_int_equal(key_to_blob(cert, &blob), 0);
	r = rd_from_buf(&wire);
	(void)rd_string(&r);
	assert_int_equal(rd_string(&r).len, buf_len(&blob));
	assert_int_equal(rd_string(&r).len, 64);
	assert_int_equal(rd_end(&r), 0);
	r = rd_from_buf(&wire);
	assert_int_equal(key_private_from_wire(&r, &again), 0);
	assert_int_equal(key_sign(again,
			     "ssh-mldsa44-ed25519-cert-v01@openssh.com", data,
			     &signature), 0);
	assert_int_equal(key_verify(k, ALG, data, buf_span(&signature)), 0);
	buf_clear(&wire);
	buf_clear(&blob);
	buf_clear(&signature);
	key_free(cert);
	key_free(full);
	key_free(again);
	key_free(ca);
	key_free(k);
}

/* There is no form of it but SSH's own. */
static void
test_no_pem(void **state)
{
	struct key *k = generate();
	struct buf out = { 0 };

	(void)state;
	assert_false(key_has_pem(k));
	assert_int_equal(keyfile_format_private(k, KEYFILE_PEM, NULL, "",
			     NULL, 0, &out), ERR_KEY_TYPE);
	assert_int_equal(keyfile_format_private(k, KEYFILE_PKCS8, NULL, "",
			     NULL, 0, &out), ERR_KEY_TYPE);
	assert_true(keyfile_export_public(k, KEYFILE_PUBLIC_PKCS8, "", &out) <
	    0);
	assert_true(keyfile_export_public(k, KEYFILE_PUBLIC_PEM, "", &out) <
	    0);
	assert_int_equal(buf_len(&out), 0);
	buf_clear(&out);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_both_halves_count),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_no_pem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
