/* SPDX-License-Identifier: ISC */
/*
 * AES-GCM as RFC 5647 has it: the length is sent in clear and authenticated,
 * the nonce is 4 fixed bytes and a 64 bit counter of packets.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/wire.h"
#include "cipher-internal.h"

enum { FIXED_LEN = 4, NONCE_LEN = 12, TAG_LEN = 16 };

struct gcm {
	EVP_CIPHER_CTX *ctx; /* owned */
	uint8_t nonce[NONCE_LEN];
	uint64_t first; /* counter of the first packet */
};

static void
stop(void *state)
{
	struct gcm *g = state;

	if (g == NULL)
		return;
	EVP_CIPHER_CTX_free(g->ctx);
	freezero(g, sizeof(*g));
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	EVP_CIPHER *aes = NULL;
	struct gcm *g = calloc(1, sizeof(*g));
	int r = ERR_CRYPTO;

	if (g == NULL)
		return ERR_NOMEM;
	c->state = g;
	memcpy(g->nonce, iv, NONCE_LEN);
	g->first = wire_get_u64(iv + FIXED_LEN);
	aes = EVP_CIPHER_fetch(NULL, c->alg->ops->algorithm, NULL);
	g->ctx = EVP_CIPHER_CTX_new();
	if (aes != NULL && g->ctx != NULL &&
	    EVP_CipherInit_ex2(g->ctx, aes, key, iv, c->encrypts, NULL) == 1)
		r = 0;
	EVP_CIPHER_free(aes);
	return r;
}

/* The packet's nonce, and the length as additional data. */
static int
begin(struct gcm *g, const struct cipher_pos *pos, const uint8_t *pkt)
{
	int n;

	wire_put_u64(g->nonce + FIXED_LEN, g->first + pos->packet);
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
	int n, r = begin(g, pos, pkt);

	if (r != 0)
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
	int n, r = begin(g, pos, pkt);

	if (r != 0)
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
