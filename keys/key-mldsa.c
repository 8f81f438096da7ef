/* SPDX-License-Identifier: ISC */
/*
 * ssh-mldsa44-ed25519@openssh.com: a key of ML-DSA-44 and one of Ed25519. A
 * signature is one by each of them, so that who wants to forge it has to break
 * both. Both sign the same text, which names the combination
 * (draft-ietf-lamps-pq-composite-sigs): half of a signature is of no use as a
 * signature by ML-DSA-44 or Ed25519 alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/mldsa44.h"
#include "crypto/rand.h"
#include "keys/key-internal.h"

enum {
	ED_LEN = 32, /* length of the Ed25519 public key, and of its seed */
	ED_SIGNATURE_LEN = 64,
	PUBLIC_LEN = MLDSA44_PUBLIC_LEN + ED_LEN,
	SEEDS_LEN = MLDSA44_SEED_LEN + ED_LEN,
	SIGNATURE_LEN = MLDSA44_SIGNATURE_LEN + ED_SIGNATURE_LEN,
	HASH_LEN = 64, /* SHA-512 */
};

#define PREFIX "CompositeAlgorithmSignatures2025"
#define LABEL "COMPSIG-MLDSA44-Ed25519-SHA512"

/* In each array the part of ML-DSA comes first, that of Ed25519 second. */
struct key_mldsa {
	uint8_t public[PUBLIC_LEN];
	uint8_t seeds[SEEDS_LEN]; /* zeros if the key is public */
	EVP_PKEY *ed;		  /* owned; signs only if private */
};

void
key_mldsa_free(struct key_mldsa *m)
{
	if (m == NULL)
		return;
	EVP_PKEY_free(m->ed);
	mem_free_secret(m, sizeof *m);
}

int
key_mldsa_dup(const struct key_mldsa *m, struct key_mldsa **out)
{
	struct key_mldsa *copy;

	*out = NULL;
	if (m == NULL)
		return 0;
	copy = malloc(sizeof *copy);
	if (copy == NULL)
		return ERR_NOMEM;
	*copy = *m;
	if (EVP_PKEY_up_ref(m->ed) != 1) {
		copy->ed = NULL;
		key_mldsa_free(copy);
		return key_evp_failed();
	}
	*out = copy;
	return 0;
}

static int
from_public(const uint8_t public[PUBLIC_LEN], struct key_mldsa **out)
{
	struct key_mldsa *m = calloc(1, sizeof *m);

	if (m == NULL)
		return ERR_NOMEM;
	memcpy(m->public, public, PUBLIC_LEN);
	m->ed = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL,
	    public + MLDSA44_PUBLIC_LEN, ED_LEN);
	if (m->ed == NULL) {
		key_mldsa_free(m);
		return key_evp_failed();
	}
	*out = m;
	return 0;
}

static int
from_seeds(const uint8_t seeds[SEEDS_LEN], struct key_mldsa **out)
{
	struct key_mldsa *m = calloc(1, sizeof *m);
	size_t len = ED_LEN;
	int r;

	if (m == NULL)
		return ERR_NOMEM;
	memcpy(m->seeds, seeds, SEEDS_LEN);
	r = mldsa44_public(m->public, seeds);
	if (r == 0) {
		m->ed = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL,
		    seeds + MLDSA44_SEED_LEN, ED_LEN);
		if (m->ed == NULL ||
		    EVP_PKEY_get_raw_public_key(m->ed,
			m->public + MLDSA44_PUBLIC_LEN, &len) != 1)
			r = key_evp_failed();
	}
	if (r == 0)
		*out = m;
	else
		key_mldsa_free(m);
	return r;
}

int
key_mldsa_generate(struct key_mldsa **out)
{
	uint8_t seeds[SEEDS_LEN];
	int r;

	rand_bytes(seeds, sizeof seeds);
	r = from_seeds(seeds, out);
	explicit_bzero(seeds, sizeof seeds);
	return r;
}

/* ---- fields ------------------------------------------------------------- */

int
key_mldsa_get_public(struct rd *r, struct key_mldsa **out)
{
	struct span public = rd_string(r);

	if (rd_err(r) != 0)
		return rd_err(r);
	if (public.len != PUBLIC_LEN)
		return ERR_FORMAT;
	return from_public(public.p, out);
}

int
key_mldsa_put_public(const struct key_mldsa *m, struct buf *out)
{
	buf_put_string(out, m->public, sizeof m->public);
	return buf_err(out);
}

int
key_mldsa_get_private(struct rd *r, struct key_mldsa **out)
{
	struct span public = rd_string(r), seeds = rd_string(r);
	struct key_mldsa *m = NULL;
	int res;

	if (rd_err(r) != 0)
		return rd_err(r);
	if (public.len != PUBLIC_LEN || seeds.len != SEEDS_LEN)
		return ERR_FORMAT;
	res = from_seeds(seeds.p, &m);
	if (res != 0)
		return res;
	if (memcmp(m->public, public.p, PUBLIC_LEN) != 0) {
		key_mldsa_free(m);
		return ERR_FORMAT;
	}
	*out = m;
	return 0;
}

int
key_mldsa_put_private(const struct key_mldsa *m, struct buf *out)
{
	buf_put_string(out, m->public, sizeof m->public);
	buf_put_string(out, m->seeds, sizeof m->seeds);
	return buf_err(out);
}

/* ---- signatures --------------------------------------------------------- */

/* Writes the text that both halves sign: prefix, label, a 0 and SHA-512 of
 * data. The 0 is the length of the context, which is always empty in SSH. */
static int
put_text(struct buf *text, struct span data)
{
	uint8_t hash[HASH_LEN];
	int r = digest_once(DIGEST_SHA512, data.p, data.len, hash);

	if (r != 0)
		return r;
	buf_put(text, PREFIX LABEL, sizeof PREFIX LABEL); /* with its 0 */
	buf_put(text, hash, sizeof hash);
	return buf_err(text);
}

static struct mldsa44_message
message(const struct buf *text)
{
	return (struct mldsa44_message){
		.context = { (const uint8_t *)LABEL, sizeof LABEL - 1 },
		.data = buf_span(text),
	};
}

int
key_mldsa_sign(const struct key_mldsa *m, struct span data, struct buf *out)
{
	uint8_t signature[MLDSA44_SIGNATURE_LEN];
	struct mldsa44_message whole;
	struct buf text = { 0 };
	uint8_t *ed = NULL;
	size_t len = 0;
	int r = put_text(&text, data);

	if (r == 0) {
		whole = message(&text);
		r = mldsa44_sign(signature, m->seeds, &whole);
	}
	if (r == 0)
		r = key_evp_sign(m->ed, NULL, whole.data, &ed, &len);
	if (r == 0 && len != ED_SIGNATURE_LEN)
		r = ERR_CRYPTO;
	if (r == 0) {
		buf_put(out, signature, sizeof signature);
		buf_put(out, ed, len);
		r = buf_err(out);
	}
	free(ed);
	buf_clear(&text);
	return r;
}

int
key_mldsa_verify(const struct key_mldsa *m, struct span data,
    struct span signature)
{
	struct span ed = { signature.p + MLDSA44_SIGNATURE_LEN,
		ED_SIGNATURE_LEN };
	struct mldsa44_message whole;
	struct buf text = { 0 };
	int r;

	if (signature.len != SIGNATURE_LEN)
		return ERR_SIGNATURE;
	r = put_text(&text, data);
	if (r == 0) {
		whole = message(&text);
		r = mldsa44_verify(signature.p, m->public, &whole);
	}
	if (r == 0)
		r = key_evp_verify(m->ed, NULL, whole.data, ed);
	buf_clear(&text);
	return r;
}

static unsigned
bits(int param, const EVP_PKEY *pkey)
{
	(void)param;
	(void)pkey;
	return 256; /* as ssh-keygen -l shows for Ed25519 */
}

const struct key_ops key_ops_mldsa44_ed25519 = {
	.is_mldsa = true,
	.bits = bits,
};
