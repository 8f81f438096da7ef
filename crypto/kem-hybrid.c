/* SPDX-License-Identifier: ISC */
/*
 * Hybrid methods: a post-quantum method and an elliptic curve are used side by
 * side, so that an attacker has to break both
 * (draft-ietf-sshm-mlkem-hybrid-kex, draft-ietf-sshm-ntruprime-ssh). Each side
 * sends its post-quantum value and its curve value, in this order. The shared
 * secret is the hash of both secrets in the same order, encoded as a string.
 */
#include "crypto/kem-internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"
#include "crypto/kem-mlkem.h"
#include "crypto/kem-sntrup761.h"
#include "crypto/rand.h"

enum { SS_LEN = 32 }; /* bytes of the secret of each half */

static_assert((int)MLKEM_SS_LEN == (int)SS_LEN, "ML-KEM's secret");
static_assert((int)SNTRUP761_SS_LEN == (int)SS_LEN, "sntrup761's secret");
static_assert((int)X25519_LEN == (int)SS_LEN, "X25519's secret");
static_assert((int)P256_SECRET_LEN == (int)SS_LEN, "P-256's secret");

/* The operations of a post-quantum method. */
struct pq_method {
	size_t pk_len, ct_len; /* bytes */
	int (*new)(void **pq, uint8_t *pk);
	int (*encaps)(uint8_t *ct, uint8_t *ss, const uint8_t *pk);
	int (*decaps)(void *pq, uint8_t *ss, const uint8_t *ct);
	void (*free)(void *pq); /* wipes; NULL is fine */
};

static int
new_mlkem(void **pq, uint8_t *pk)
{
	struct mlkem *k = NULL;
	int r = mlkem_new(&k, pk);

	*pq = k;
	return r;
}

static int
decaps_mlkem(void *pq, uint8_t *ss, const uint8_t *ct)
{
	return mlkem_decaps(pq, ss, ct);
}

static void
free_mlkem(void *pq)
{
	mlkem_free(pq);
}

static int
new_sntrup(void **pq, uint8_t *pk)
{
	uint8_t *sk = malloc(SNTRUP761_SK_LEN);

	*pq = sk;
	return sk != NULL ? sntrup761_keygen(pk, sk, rand_bytes) : ERR_NOMEM;
}

static int
encaps_sntrup(uint8_t *ct, uint8_t *ss, const uint8_t *pk)
{
	return sntrup761_encaps(ct, ss, pk, rand_bytes);
}

static int
decaps_sntrup(void *pq, uint8_t *ss, const uint8_t *ct)
{
	return sntrup761_decaps(ss, ct, pq);
}

static void
free_sntrup(void *pq)
{
	mem_free_secret(pq, SNTRUP761_SK_LEN);
}

static const struct pq_method mlkem768 = {
	.pk_len = MLKEM_EK_LEN, .ct_len = MLKEM_CT_LEN,
	.new = new_mlkem, .encaps = mlkem_encaps,
	.decaps = decaps_mlkem, .free = free_mlkem,
};

static const struct pq_method sntrup761 = {
	.pk_len = SNTRUP761_PK_LEN, .ct_len = SNTRUP761_CT_LEN,
	.new = new_sntrup, .encaps = encaps_sntrup,
	.decaps = decaps_sntrup, .free = free_sntrup,
};

/* An elliptic curve whose shared secret has SS_LEN bytes. */
struct curve {
	size_t value_len; /* bytes */
	int (*keygen)(EVP_PKEY **key, uint8_t *value);
	int (*derive)(EVP_PKEY *key, const uint8_t *value, uint8_t *secret);
};

static const struct curve x25519 = { X25519_LEN, x25519_keygen,
	x25519_derive };
static const struct curve p256 = { P256_POINT_LEN, p256_keygen, p256_derive };

static const struct method {
	const struct pq_method *pq;
	const struct curve *curve;
} methods[KEM_HYBRID_COUNT] = {
	[KEM_MLKEM768_X25519] = { &mlkem768, &x25519 },
	[KEM_MLKEM768_P256] = { &mlkem768, &p256 },
	[KEM_SNTRUP761_X25519] = { &sntrup761, &x25519 },
};

/* What the client keeps until the server's reply. */
struct hybrid {
	const struct method *method;
	void *pq;      /* owned; the post-quantum key pair */
	EVP_PKEY *key; /* owned; of the curve */
};

static void
hybrid_free(void *state)
{
	struct hybrid *h = state;

	if (h == NULL)
		return;
	h->method->pq->free(h->pq);
	EVP_PKEY_free(h->key);
	free(h);
}

/* Hashes both shared secrets, the post-quantum one first, and appends the hash
 * as a string. */
static int
combine(enum digest_alg alg, const uint8_t secrets[2 * SS_LEN],
    struct buf *shared)
{
	uint8_t out[DIGEST_MAX_LEN];
	int r = digest_once(alg, secrets, 2 * SS_LEN, out);

	if (r == 0)
		buf_put_string(shared, out, digest_len(alg));
	explicit_bzero(out, sizeof out);
	return r;
}

static int
hybrid_init(const struct kem_alg *alg, void **state, struct buf *out)
{
	const struct method *m = &methods[alg->param];
	size_t len = m->pq->pk_len + m->curve->value_len;
	uint8_t *to = buf_reserve(out, len);
	struct hybrid *h;
	int r;

	if (*state != NULL)
		return ERR_ARGUMENT;
	if (to == NULL)
		return buf_err(out);
	h = calloc(1, sizeof *h);
	if (h == NULL)
		return ERR_NOMEM;
	h->method = m;
	*state = h;
	r = m->pq->new(&h->pq, to);
	if (r == 0)
		r = m->curve->keygen(&h->key, to + m->pq->pk_len);
	if (r == 0)
		buf_commit(out, len);
	return r;
}

static int
hybrid_finish(const struct kem_alg *alg, void *state, struct span reply,
    struct buf *shared)
{
	struct hybrid *h = state;
	const struct method *m = h->method;
	uint8_t secrets[2 * SS_LEN];
	int r;

	if (reply.len != m->pq->ct_len + m->curve->value_len)
		return ERR_KEX_VALUE;
	r = m->pq->decaps(h->pq, secrets, reply.p);
	if (r == 0)
		r = m->curve->derive(h->key, reply.p + m->pq->ct_len,
		    secrets + SS_LEN);
	if (r == 0)
		r = combine(alg->digest, secrets, shared);
	explicit_bzero(secrets, sizeof secrets);
	return r;
}

static int
hybrid_reply(const struct kem_alg *alg, void *state, struct span init,
    struct buf *out, struct buf *shared)
{
	const struct method *m = &methods[alg->param];
	size_t len = m->pq->ct_len + m->curve->value_len;
	uint8_t *to = buf_reserve(out, len);
	uint8_t secrets[2 * SS_LEN];
	EVP_PKEY *key = NULL;
	int r;

	(void)state;
	if (init.len != m->pq->pk_len + m->curve->value_len)
		return ERR_KEX_VALUE;
	if (to == NULL)
		return buf_err(out);
	r = m->pq->encaps(to, secrets, init.p);
	if (r == 0)
		r = m->curve->keygen(&key, to + m->pq->ct_len);
	if (r == 0)
		r = m->curve->derive(key, init.p + m->pq->pk_len,
		    secrets + SS_LEN);
	if (r == 0)
		r = combine(alg->digest, secrets, shared);
	if (r == 0)
		buf_commit(out, len);
	explicit_bzero(secrets, sizeof secrets);
	EVP_PKEY_free(key);
	return r;
}

const struct kem_ops kem_ops_hybrid = {
	.init = hybrid_init,
	.finish = hybrid_finish,
	.reply = hybrid_reply,
	.free = hybrid_free,
};
