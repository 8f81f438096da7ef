/* SPDX-License-Identifier: ISC */
/*
 * Block ciphers in CBC mode (RFC 4253 section 6.3), for devices that have
 * nothing newer: off by default.
 *
 * The last block of a packet is the initialisation vector of the next packet.
 * So packets are taken in order, and the context holds that block. If the MAC
 * is over the plain packet (no -etm), the length is used before the MAC is
 * checked: an attacker in between could learn bits of other packets from how we
 * treat a wrong length. Such a packet is refused by packet-rx.c only after as
 * many bytes as the largest packet has.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-internal.h"
#include "compat/bsd-mem.h"

struct cbc {
	EVP_CIPHER_CTX *ctx;	     /* owned */
	uint8_t chain[CIPHER_IV_MAX]; /* last block of what was sent */
};

static void
stop(void *state)
{
	struct cbc *s = state;

	if (s == NULL)
		return;
	EVP_CIPHER_CTX_free(s->ctx);
	freezero(s, sizeof *s);
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	struct cbc *s = calloc(1, sizeof *s);
	EVP_CIPHER *block;
	int r = ERR_CRYPTO;

	if (s == NULL)
		return ERR_NOMEM;
	c->state = s;
	memcpy(s->chain, iv, c->alg->iv_len);
	block = EVP_CIPHER_fetch(NULL, c->ops->algorithm, NULL);
	s->ctx = EVP_CIPHER_CTX_new();
	if (block != NULL && s->ctx != NULL &&
	    EVP_CipherInit_ex2(s->ctx, block, key, iv, c->encrypts, NULL) ==
		1 &&
	    EVP_CIPHER_CTX_set_padding(s->ctx, 0) == 1)
		r = 0;
	EVP_CIPHER_free(block);
	return r;
}

/* Encrypts or decrypts len bytes in place; len is a multiple of the block. */
static int
apply(struct cipher *c, uint8_t *p, size_t len)
{
	struct cbc *s = c->state;
	size_t block = c->alg->block_len;
	int n;

	if (len == 0)
		return 0;
	if (!c->encrypts)
		memcpy(s->chain, p + len - block, block);
	if (EVP_CipherUpdate(s->ctx, p, &n, p, (int)len) != 1 ||
	    (size_t)n != len)
		return ERR_CRYPTO;
	if (c->encrypts)
		memcpy(s->chain, p + len - block, block);
	return 0;
}

static int
encrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	uint8_t *tag = pkt + 4 + len;
	int r;

	if (c->mac_alg->etm) {
		r = apply(c, pkt + 4, len);
		if (r == 0)
			r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);
		return r;
	}
	r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);
	return r == 0 ? apply(c, pkt, 4 + len) : r;
}

static int
decrypt_length(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t *len)
{
	int r = 0;

	(void)pos;
	if (!c->mac_alg->etm)
		r = apply(c, pkt, c->alg->block_len);
	*len = wire_get_u32(pkt);
	return r;
}

static int
decrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	size_t first = c->alg->block_len; /* decrypt_length() had it */
	int r;

	if (c->mac_alg->etm) {
		r = cipher_check_mac(c, pos, pkt, len);
		return r == 0 ? apply(c, pkt + 4, len) : r;
	}
	r = apply(c, pkt + first, 4 + len - first);
	return r == 0 ? cipher_check_mac(c, pos, pkt, len) : r;
}

static void
get_chain(const struct cipher *c, uint8_t *iv)
{
	const struct cbc *s = c->state;

	memcpy(iv, s->chain, c->alg->iv_len);
}

#define CBC(name, text)                                                       \
	const struct cipher_ops cipher_##name = {                             \
		.algorithm = text,                                            \
		.start = start,                                               \
		.stop = stop,                                                 \
		.encrypt = encrypt_packet,                                    \
		.decrypt_length = decrypt_length,                             \
		.decrypt = decrypt_packet,                                    \
		.chain = get_chain,                                           \
	}

CBC(aes128_cbc, "AES-128-CBC");
CBC(aes192_cbc, "AES-192-CBC");
CBC(aes256_cbc, "AES-256-CBC");
CBC(des3_cbc, "DES-EDE3-CBC");
