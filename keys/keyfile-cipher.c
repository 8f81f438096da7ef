/* SPDX-License-Identifier: ISC */
/*
 * The ciphers of private key files. They have the names of packet ciphers, but
 * need no state: a file is encrypted or decrypted in one call.
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "keys/keyfile-internal.h"

enum { CHACHA_KEY_LEN = 32, POLY_KEY_LEN = 32, TAG_LEN = 16 };

static const struct keyfile_cipher ciphers[] = {
	{ "aes256-ctr", "AES-256-CTR", 32, 16, 16, 0 },
	{ "aes192-ctr", "AES-192-CTR", 24, 16, 16, 0 },
	{ "aes128-ctr", "AES-128-CTR", 16, 16, 16, 0 },
	{ "aes256-cbc", "AES-256-CBC", 32, 16, 16, 0 },
	{ "aes192-cbc", "AES-192-CBC", 24, 16, 16, 0 },
	{ "aes128-cbc", "AES-128-CBC", 16, 16, 16, 0 },
	{ "aes256-gcm@openssh.com", "AES-256-GCM", 32, 12, 16, TAG_LEN },
	{ "aes128-gcm@openssh.com", "AES-128-GCM", 16, 12, 16, TAG_LEN },
	/* The key is two keys of 32 bytes. The second one is for packet
	 * lengths, which files do not have. */
	{ "chacha20-poly1305@openssh.com", "ChaCha20", 64, 0, 8, TAG_LEN },
	{ "none", NULL, 0, 0, 8, 0 },
};

const struct keyfile_cipher *
keyfile_cipher_find(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(ciphers); i++) {
		if (span_equals(name, ciphers[i].name))
			return &ciphers[i];
	}
	return NULL;
}

/* Runs an EVP cipher over in. tag: where it is written when encrypting, and
 * what it must be when decrypting (else ERR_PASSPHRASE); NULL: the cipher has
 * no tag. */
static int
run_evp(const char *name, const uint8_t *key, const uint8_t *iv, bool encrypt,
    struct span in, uint8_t *tag, uint8_t *out)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, last = 0, r = ERR_CRYPTO;

	if (cipher == NULL || ctx == NULL || in.len > INT32_MAX ||
	    EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) != 1 ||
	    EVP_CIPHER_CTX_set_padding(ctx, 0) != 1)
		goto out;
	if (tag != NULL && !encrypt &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN, tag) != 1)
		goto out;
	if (EVP_CipherUpdate(ctx, out, &n, in.p, (int)in.len) != 1)
		goto out;
	if (EVP_CipherFinal_ex(ctx, out + n, &last) != 1) {
		r = tag != NULL ? ERR_PASSPHRASE : ERR_CRYPTO;
		goto out;
	}
	if ((size_t)n + (size_t)last != in.len)
		goto out;
	if (tag != NULL && encrypt &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN, tag) != 1)
		goto out;
	r = 0;
out:
	if (r != 0)
		ERR_clear_error();
	EVP_CIPHER_CTX_free(ctx);
	EVP_CIPHER_free(cipher);
	return r;
}

static int
poly1305(const uint8_t *key, struct span in, uint8_t *tag)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
	EVP_MAC_CTX *ctx = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
	size_t len = 0;
	int r = 0;

	if (ctx == NULL || EVP_MAC_init(ctx, key, POLY_KEY_LEN, NULL) != 1 ||
	    EVP_MAC_update(ctx, in.p, in.len) != 1 ||
	    EVP_MAC_final(ctx, tag, &len, TAG_LEN) != 1 || len != TAG_LEN) {
		ERR_clear_error();
		r = ERR_CRYPTO;
	}
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(mac);
	return r;
}

/* Runs chacha20-poly1305 as for a packet with the sequence number 0, but
 * without the encrypted packet length. A wrong tag is ERR_PASSPHRASE. */
static int
run_chachapoly(const uint8_t *key, bool encrypt, struct span in, uint8_t *tag,
    uint8_t *out)
{
	static const uint8_t zeros[POLY_KEY_LEN];
	uint8_t counter[16] = { 0 }, poly_key[POLY_KEY_LEN], want[TAG_LEN];
	int r;

	r = run_evp("ChaCha20", key, counter, true,
	    (struct span){ zeros, sizeof zeros }, NULL, poly_key);
	if (r == 0 && !encrypt) {
		r = poly1305(poly_key, in, want);
		if (r == 0 && !mem_equal_ct(want, tag, TAG_LEN))
			r = ERR_PASSPHRASE;
	}
	counter[0] = 1;
	if (r == 0)
		r = run_evp("ChaCha20", key, counter, encrypt, in, NULL, out);
	if (r == 0 && encrypt)
		r = poly1305(poly_key, (struct span){ out, in.len }, tag);
	explicit_bzero(poly_key, sizeof poly_key);
	return r;
}

static int
run(const struct keyfile_cipher *c, const uint8_t *key_iv, bool encrypt,
    struct span in, uint8_t *tag, struct buf *out)
{
	uint8_t *to = buf_reserve(out, in.len);
	int r = 0;

	if (to == NULL)
		return buf_err(out);
	if (c->evp == NULL)
		memcpy(to, in.p, in.len);
	else if (strcmp(c->evp, "ChaCha20") == 0)
		r = run_chachapoly(key_iv, encrypt, in, tag, to);
	else
		r = run_evp(c->evp, key_iv, key_iv + c->key_len, encrypt, in,
		    c->tag_len > 0 ? tag : NULL, to);
	if (r == 0)
		buf_commit(out, in.len);
	return r;
}

int
keyfile_cipher_seal(const struct keyfile_cipher *c, const uint8_t *key_iv,
    struct span in, uint8_t *tag, struct buf *out)
{
	return run(c, key_iv, true, in, tag, out);
}

int
keyfile_cipher_open(const struct keyfile_cipher *c, const uint8_t *key_iv,
    struct span in, const uint8_t *tag, struct buf *out)
{
	uint8_t copy[TAG_LEN] = { 0 };

	if (c->tag_len > 0)
		memcpy(copy, tag, TAG_LEN);
	return run(c, key_iv, false, in, copy, out);
}
