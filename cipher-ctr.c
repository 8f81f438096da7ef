/* SPDX-License-Identifier: ISC */
/*
 * AES in counter mode (RFC 4344 section 4) with a MAC. With -etm the MAC is
 * over the ciphertext, and over the length, which is not encrypted. Otherwise
 * it is over the plain packet, and the length is encrypted too.
 */
#include <stdlib.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-ctr-internal.h"
#include "cipher-internal.h"
#include "compat/bsd-mem.h"

struct ctr {
	EVP_CIPHER_CTX *ctx; /* owned */
	struct ctr_start start;
	struct ctr_keystream
	    *keystream; /* owned; NULL: no threads make keystream */
};

static void
stop(void *state)
{
	struct ctr *s = state;

	if (s == NULL)
		return;
	ctr_keystream_free(s->keystream);
	EVP_CIPHER_CTX_free(s->ctx);
	freezero(s, sizeof *s);
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	EVP_CIPHER *aes = NULL;
	struct ctr *s = calloc(1, sizeof *s);
	int r = ERR_CRYPTO;

	if (s == NULL)
		return ERR_NOMEM;
	c->state = s;
	s->start.high = wire_get_u64(iv);
	s->start.low = wire_get_u64(iv + 8);
	aes = EVP_CIPHER_fetch(NULL, c->ops->algorithm, NULL);
	s->ctx = EVP_CIPHER_CTX_new();
	/* Counter mode only ever encrypts. */
	if (aes != NULL && s->ctx != NULL &&
	    EVP_EncryptInit_ex2(s->ctx, aes, key, iv, NULL) == 1)
		r = 0;
	EVP_CIPHER_free(aes);
	return r;
}

int
ctr_apply(EVP_CIPHER_CTX *ctx, struct ctr_start start, uint64_t block,
    uint8_t *p, size_t len)
{
	uint8_t counter[CTR_BLOCK];
	uint64_t low = start.low + block;
	int n;

	wire_put_u64(counter, start.high + (low < block));
	wire_put_u64(counter + 8, low);
	if (EVP_EncryptInit_ex2(ctx, NULL, NULL, counter, NULL) != 1 ||
	    EVP_EncryptUpdate(ctx, p, &n, p, (int)len) != 1)
		return ERR_CRYPTO;
	return 0;
}

static int
apply(struct ctr *s, uint64_t block, uint8_t *p, size_t len)
{
	size_t done = 0;

	if (s->keystream != NULL)
		done = ctr_keystream_apply(s->keystream, block, p, len);
	if (done == len)
		return 0;
	return ctr_apply(s->ctx, s->start, block + done / CTR_BLOCK, p + done,
	    len - done);
}

static int
encrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	uint8_t *tag = pkt + 4 + len;
	int r;

	if (c->mac_alg->etm) {
		r = apply(c->state, pos->block, pkt + 4, len);
		if (r == 0)
			r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);
		return r;
	}
	r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);
	if (r == 0)
		r = apply(c->state, pos->block, pkt, 4 + len);
	return r;
}

static int
decrypt_length(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t *len)
{
	int r = 0;

	if (!c->mac_alg->etm)
		r = apply(c->state, pos->block, pkt, CTR_BLOCK);
	*len = wire_get_u32(pkt);
	return r;
}

static int
decrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	int r;

	if (c->mac_alg->etm) {
		r = cipher_check_mac(c, pos, pkt, len);
		if (r == 0)
			r = apply(c->state, pos->block, pkt + 4, len);
		return r;
	}
	/* decrypt_length() has decrypted the first block. */
	r = apply(c->state, pos->block + 1, pkt + CTR_BLOCK,
	    4 + len - CTR_BLOCK);
	if (r == 0)
		r = cipher_check_mac(c, pos, pkt, len);
	return r;
}

static int
keystream_start(struct cipher *c, uint64_t block, size_t threads)
{
	struct ctr *s = c->state;

	return ctr_keystream_new(&s->keystream, s->ctx, s->start, block,
	    threads);
}

static void
keystream_stop(struct cipher *c)
{
	struct ctr *s = c->state;

	ctr_keystream_free(s->keystream);
	s->keystream = NULL;
}

static size_t
keystream_threads(const struct cipher *c)
{
	const struct ctr *s = c->state;

	return s->keystream != NULL ? ctr_keystream_threads(s->keystream) : 0;
}

static bool
keystream_measure(struct cipher *c)
{
	struct ctr *s = c->state;

	return ctr_keystream_measure(s->ctx);
}

static const struct cipher_keystream_ops keystream_ops = { keystream_start,
	keystream_stop, keystream_threads, keystream_measure };

#define CTR(bits)                                                             \
	const struct cipher_ops cipher_aes##bits##_ctr = {                    \
		.algorithm = "AES-" #bits "-CTR",                             \
		.start = start,                                               \
		.stop = stop,                                                 \
		.encrypt = encrypt_packet,                                    \
		.decrypt_length = decrypt_length,                             \
		.decrypt = decrypt_packet,                                    \
		.keystream = &keystream_ops,                                  \
	}

CTR(128);
CTR(192);
CTR(256);
