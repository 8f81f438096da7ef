/* SPDX-License-Identifier: ISC */
/*
 * chacha20-poly1305@openssh.com: two ChaCha20 keys, with the sequence number as
 * nonce. One key hides the length. The first keystream block of the other key
 * is the key of Poly1305, and its following blocks hide the packet. The tag is
 * over the ciphertext, with the encrypted length.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-internal.h"
#include "compat/bsd-mem.h"
#include "crypto/poly1305.h"

enum {
	KEY_LEN = 32,
	TAG_LEN = 16,
	BLOCK_LEN = 64, /* of keystream */
	NONCE_LEN = 16, /* OpenSSL's: block counter, then nonce, 8 bytes each */
};

struct chachapoly {
	EVP_CIPHER_CTX *packet, *length; /* owned */
	struct poly1305 *poly;		 /* owned */
};

static const uint8_t zeros[BLOCK_LEN];

static void
stop(void *state)
{
	struct chachapoly *s = state;

	if (s == NULL)
		return;
	EVP_CIPHER_CTX_free(s->packet);
	EVP_CIPHER_CTX_free(s->length);
	poly1305_free(s->poly);
	free(s);
}

static EVP_CIPHER_CTX *
chacha_new(const EVP_CIPHER *chacha, const uint8_t *key)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (ctx != NULL &&
	    EVP_EncryptInit_ex2(ctx, chacha, key, zeros, NULL) != 1) {
		EVP_CIPHER_CTX_free(ctx);
		ctx = NULL;
	}
	return ctx;
}

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	struct chachapoly *s = calloc(1, sizeof *s);
	EVP_CIPHER *chacha = NULL;
	int r = ERR_CRYPTO;

	(void)iv;
	if (s == NULL)
		return ERR_NOMEM;
	c->state = s;
	chacha = EVP_CIPHER_fetch(NULL, c->ops->algorithm, NULL);
	if (chacha == NULL || poly1305_new(&s->poly) != 0)
		goto out;
	s->packet = chacha_new(chacha, key);
	s->length = chacha_new(chacha, key + KEY_LEN);
	if (s->packet != NULL && s->length != NULL)
		r = 0;
out:
	EVP_CIPHER_free(chacha);
	return r;
}

/* Restarts a keystream at the packet's nonce and block 0, then applies it. */
static int
apply_first(EVP_CIPHER_CTX *ctx, uint32_t seqnr, uint8_t *out,
    const uint8_t *in, int len)
{
	uint8_t nonce[NONCE_LEN] = { 0 };
	int n;

	wire_put_u32(nonce + NONCE_LEN - 4, seqnr);
	if (EVP_EncryptInit_ex2(ctx, NULL, NULL, nonce, NULL) != 1 ||
	    EVP_EncryptUpdate(ctx, out, &n, in, len) != 1)
		return ERR_CRYPTO;
	return 0;
}

/* Makes the packet's Poly1305 key. The packet's keystream is at block 1
 * then. */
static int
begin(struct chachapoly *s, uint32_t seqnr, uint8_t poly_key[BLOCK_LEN])
{
	return apply_first(s->packet, seqnr, poly_key, zeros, BLOCK_LEN);
}

static int
apply_rest(struct chachapoly *s, uint8_t *p, uint32_t len)
{
	int n;

	return EVP_EncryptUpdate(s->packet, p, &n, p, (int)len) == 1 ?
	    0 :
	    ERR_CRYPTO;
}

static int
encrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	struct chachapoly *s = c->state;
	uint8_t key[BLOCK_LEN];
	int r;

	if ((r = apply_first(s->length, pos->seqnr, pkt, pkt, 4)) == 0 &&
	    (r = begin(s, pos->seqnr, key)) == 0 &&
	    (r = apply_rest(s, pkt + 4, len)) == 0)
		r = poly1305_compute(s->poly, key, pkt, 4 + len,
		    pkt + 4 + len);
	explicit_bzero(key, sizeof key);
	return r;
}

/* Decrypts the length into *len. pkt keeps the ciphertext, because the tag is
 * over it. */
static int
decrypt_length(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t *len)
{
	struct chachapoly *s = c->state;
	uint8_t plain[4];
	int r = apply_first(s->length, pos->seqnr, plain, pkt, sizeof plain);

	*len = r == 0 ? wire_get_u32(plain) : 0;
	return r;
}

static int
decrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	struct chachapoly *s = c->state;
	uint8_t key[BLOCK_LEN], tag[TAG_LEN];
	int r;

	if ((r = begin(s, pos->seqnr, key)) != 0 ||
	    (r = poly1305_compute(s->poly, key, pkt, 4 + len, tag)) != 0)
		goto out;
	if (!mem_equal_ct(tag, pkt + 4 + len, TAG_LEN)) {
		r = ERR_MAC;
		goto out;
	}
	r = apply_rest(s, pkt + 4, len);
	wire_put_u32(pkt, len);
out:
	explicit_bzero(key, sizeof key);
	return r;
}

const struct cipher_ops cipher_chachapoly = {
	.algorithm = "ChaCha20",
	.start = start,
	.stop = stop,
	.encrypt = encrypt_packet,
	.decrypt_length = decrypt_length,
	.decrypt = decrypt_packet,
};
