/* SPDX-License-Identifier: ISC */
/*
 * AES in counter mode (RFC 4344 section 4) with a MAC: over the ciphertext
 * and the length in clear (-etm), or over the plain packet, which is then
 * enciphered from its length on.
 */
#include <stdlib.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-ops.h"

enum { BLOCK_LEN = 16 };

struct ctr {
	EVP_CIPHER_CTX *ctx;	/* owned */
	uint64_t high, low;	/* the counter of the first block */
};

static void
stop(void *state)
{
	struct ctr *s = state;

	if (s == NULL)
		return;
	EVP_CIPHER_CTX_free(s->ctx);
	freezero(s, sizeof(*s));
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	EVP_CIPHER *aes = NULL;
	struct ctr *s = calloc(1, sizeof(*s));
	int r = ERR_CRYPTO;

	if (s == NULL)
		return ERR_NOMEM;
	c->state = s;
	s->high = wire_get_u64(iv);
	s->low = wire_get_u64(iv + 8);
	aes = EVP_CIPHER_fetch(NULL, c->alg->ops->algorithm, NULL);
	s->ctx = EVP_CIPHER_CTX_new();
	/* Counter mode only ever enciphers. */
	if (aes != NULL && s->ctx != NULL &&
	    EVP_EncryptInit_ex2(s->ctx, aes, key, iv, NULL) == 1)
		r = 0;
	EVP_CIPHER_free(aes);
	return r;
}

/* Applies the keystream from the given block on. */
static int
apply(struct ctr *s, uint64_t block, uint8_t *p, size_t len)
{
	uint8_t counter[BLOCK_LEN];
	uint64_t low = s->low + block;
	int n;

	wire_put_u64(counter, s->high + (low < block));
	wire_put_u64(counter + 8, low);
	if (EVP_EncryptInit_ex2(s->ctx, NULL, NULL, counter, NULL) != 1 ||
	    EVP_EncryptUpdate(s->ctx, p, &n, p, (int)len) != 1)
		return ERR_CRYPTO;
	return 0;
}

static int
seal(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
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
open_length(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t *len)
{
	int r = 0;

	if (!c->mac_alg->etm)
		r = apply(c->state, pos->block, pkt, BLOCK_LEN);
	*len = wire_get_u32(pkt);
	return r;
}

static int
check_mac(struct cipher *c, const struct cipher_pos *pos, const uint8_t *pkt,
    uint32_t len)
{
	uint8_t tag[MAC_MAX_LEN];
	int r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);

	if (r == 0 && !mem_equal_ct(tag, pkt + 4 + len, c->tag_len))
		r = ERR_MAC;
	return r;
}

static int
open_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	int r;

	if (c->mac_alg->etm) {
		r = check_mac(c, pos, pkt, len);
		if (r == 0)
			r = apply(c->state, pos->block, pkt + 4, len);
		return r;
	}
	/* The first block is plain already: open_length() has been there. */
	r = apply(c->state, pos->block + 1, pkt + BLOCK_LEN,
	    4 + len - BLOCK_LEN);
	if (r == 0)
		r = check_mac(c, pos, pkt, len);
	return r;
}

#define CTR(bits)                                                             \
	const struct cipher_ops cipher_aes##bits##_ctr = {                    \
		.algorithm = "AES-" #bits "-CTR",                             \
		.start = start,                                               \
		.stop = stop,                                                 \
		.seal = seal,                                                 \
		.open_length = open_length,                                   \
		.open = open_packet,                                          \
	}

CTR(128);
CTR(192);
CTR(256);
