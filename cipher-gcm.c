/* SPDX-License-Identifier: ISC */
/*
 * AES-GCM (RFC 5647): the length is authenticated, but not encrypted. The nonce
 * is 4 fixed bytes and a 64 bit counter of packets.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-gcm-wide.h"
#include "cipher-internal.h"
#include "compat/bsd-mem.h"

enum {
	FIXED_LEN = 4,
	NONCE_LEN = 12,
	TAG_LEN = 16,
	WIDE_AFTER = 4 * 1024 * 1024, /* bytes: then gcm_wide_new() pays */
};

/* The functions of cipher-gcm-wide.c; NULL: the program does not use them. */
static const struct gcm_wide_ops *wide_ops;

struct gcm {
	EVP_CIPHER_CTX *ctx; /* owned */
	uint8_t nonce[NONCE_LEN];
	uint64_t first; /* counter of the first packet */
	uint8_t key[CIPHER_KEY_MAX]; /* until wide was asked for */
	uint64_t bytes;		     /* done until then */
	struct gcm_wide *wide;	     /* owned; NULL: OpenSSL does it */
};

void
cipher_gcm_take_wide(const struct gcm_wide_ops *ops)
{
	wide_ops = ops;
}

static void
stop(void *state)
{
	struct gcm *g = state;

	if (g == NULL)
		return;
	EVP_CIPHER_CTX_free(g->ctx);
	if (g->wide != NULL)
		wide_ops->free(g->wide);
	freezero(g, sizeof *g);
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	EVP_CIPHER *aes = NULL;
	struct gcm *g = calloc(1, sizeof *g);
	int r = ERR_CRYPTO;

	if (g == NULL)
		return ERR_NOMEM;
	c->state = g;
	memcpy(g->nonce, iv, NONCE_LEN);
	g->first = wire_get_u64(iv + FIXED_LEN);
	memcpy(g->key, key, c->alg->key_len);
	aes = EVP_CIPHER_fetch(NULL, c->ops->algorithm, NULL);
	g->ctx = EVP_CIPHER_CTX_new();
	if (aes != NULL && g->ctx != NULL &&
	    EVP_CipherInit_ex2(g->ctx, aes, key, iv, c->encrypts, NULL) == 1)
		r = 0;
	EVP_CIPHER_free(aes);
	return r;
}

static void
set_nonce(struct gcm *g, const struct cipher_pos *pos)
{
	wire_put_u64(g->nonce + FIXED_LEN, g->first + pos->packet);
}

/* Is a packet of len bytes encrypted by the wide functions? Packets do not
 * depend on each other, so the answer may change from one to the next. */
static bool
is_wide(struct cipher *c, uint32_t len)
{
	struct gcm *g = c->state;

	if (g->bytes >= WIDE_AFTER)
		return g->wide != NULL;
	g->bytes += len;
	if (g->bytes < WIDE_AFTER)
		return false;
	if (wide_ops != NULL)
		g->wide = wide_ops->new(g->key, c->alg->key_len);
	explicit_bzero(g->key, sizeof g->key);
	return g->wide != NULL;
}

/* Sets the packet's nonce, and its length field as additional data. */
static int
begin(struct gcm *g, const uint8_t *pkt)
{
	int n;

	if (EVP_CipherInit_ex2(g->ctx, NULL, NULL, g->nonce, -1, NULL) != 1 ||
	    EVP_CipherUpdate(g->ctx, NULL, &n, pkt, 4) != 1)
		return ERR_CRYPTO;
	return 0;
}

static int
encrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	struct gcm *g = c->state;
	int n, r;

	set_nonce(g, pos);
	if (is_wide(c, len)) {
		wide_ops->encrypt(g->wide, g->nonce, pkt, len);
		return 0;
	}
	if ((r = begin(g, pkt)) != 0)
		return r;
	if (EVP_CipherUpdate(g->ctx, pkt + 4, &n, pkt + 4, (int)len) != 1 ||
	    EVP_CipherFinal_ex(g->ctx, pkt + 4 + n, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(g->ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
		pkt + 4 + len) != 1)
		return ERR_CRYPTO;
	return 0;
}

static int
decrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	struct gcm *g = c->state;
	int n, r;

	set_nonce(g, pos);
	if (is_wide(c, len))
		return wide_ops->decrypt(g->wide, g->nonce, pkt, len) ?
		    0 : ERR_MAC;
	if ((r = begin(g, pkt)) != 0)
		return r;
	if (EVP_CIPHER_CTX_ctrl(g->ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN,
		pkt + 4 + len) != 1 ||
	    EVP_CipherUpdate(g->ctx, pkt + 4, &n, pkt + 4, (int)len) != 1)
		return ERR_CRYPTO;
	return EVP_CipherFinal_ex(g->ctx, pkt + 4 + n, &n) == 1 ? 0 : ERR_MAC;
}

#define GCM(bits)                                                             \
	const struct cipher_ops cipher_aes##bits##_gcm = {                    \
		.algorithm = "AES-" #bits "-GCM",                             \
		.start = start,                                               \
		.stop = stop,                                                 \
		.encrypt = encrypt_packet,                                    \
		.decrypt_length = cipher_clear_length,                        \
		.decrypt = decrypt_packet,                                    \
	}

GCM(128);
GCM(256);
