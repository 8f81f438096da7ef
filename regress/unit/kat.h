/* SPDX-License-Identifier: ISC */
/*
 * The known-answer files of NIST's post-quantum submissions: their random
 * number generator (CTR_DRBG of SP 800-90A with AES-256, no derivation
 * function, never reseeded) and the SHA-256 of the records, which is what is
 * published where the records themselves are too long.
 */
#ifndef HPN_REGRESS_UNIT_KAT_H
#define HPN_REGRESS_UNIT_KAT_H

#include "regress/unit/hex.h"

#include <openssl/evp.h>

enum { KAT_SEED_LEN = 48, KAT_RECORDS = 100 };

static struct {
	uint8_t key[32], v[16];
} kat_state;

static inline void
kat_blocks(uint8_t *out, size_t blocks)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_256_ecb(), NULL,
	    kat_state.key, NULL), 1);
	for (size_t i = 0; i < blocks; i++) {
		for (int j = 15; j >= 0 && ++kat_state.v[j] == 0; j--)
			continue;
		assert_int_equal(EVP_EncryptUpdate(ctx, out + 16 * i, &n,
		    kat_state.v, 16), 1);
	}
	EVP_CIPHER_CTX_free(ctx);
}

static inline void
kat_update(const uint8_t *data)
{
	uint8_t t[KAT_SEED_LEN];

	kat_blocks(t, 3);
	for (size_t i = 0; data != NULL && i < sizeof t; i++)
		t[i] ^= data[i];
	memcpy(kat_state.key, t, 32);
	memcpy(kat_state.v, t + 32, 16);
}

static inline void
kat_seed(const uint8_t seed[KAT_SEED_LEN])
{
	memset(&kat_state, 0, sizeof kat_state);
	kat_update(seed);
}

/* As rand_bytes(). */
static inline void
kat_random(void *p, size_t len)
{
	uint8_t blocks[4096];

	assert_true(len <= sizeof blocks);
	kat_blocks(blocks, (len + 15) / 16);
	memcpy(p, blocks, len);
	kat_update(NULL);
}

/* The seeds of all records come first, from the seed 00 01 02... */
static inline void
kat_record_seeds(uint8_t seeds[KAT_RECORDS][KAT_SEED_LEN])
{
	uint8_t first[KAT_SEED_LEN];

	for (size_t i = 0; i < sizeof first; i++)
		first[i] = (uint8_t)i;
	kat_seed(first);
	for (size_t i = 0; i < KAT_RECORDS; i++)
		kat_random(seeds[i], KAT_SEED_LEN);
}

/* "label = HEX\n" into the hash. */
static inline void
kat_put(EVP_MD_CTX *md, const char *label, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";

	EVP_DigestUpdate(md, label, strlen(label));
	EVP_DigestUpdate(md, " = ", 3);
	for (size_t i = 0; i < len; i++) {
		EVP_DigestUpdate(md, &digits[p[i] >> 4], 1);
		EVP_DigestUpdate(md, &digits[p[i] & 15], 1);
	}
	EVP_DigestUpdate(md, "\n", 1);
}

/* The head of record i: a blank line between records, count and seed. */
static inline void
kat_put_head(EVP_MD_CTX *md, size_t i, const uint8_t seed[KAT_SEED_LEN])
{
	char head[32];

	snprintf(head, sizeof head, "%scount = %zu\n", i == 0 ? "" : "\n", i);
	EVP_DigestUpdate(md, head, strlen(head));
	kat_put(md, "seed", seed, KAT_SEED_LEN);
}

/* Fails unless the hash so far is that; md goes on. */
static inline void
kat_expect(const EVP_MD_CTX *md, const char *hex)
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	uint8_t out[32];

	assert_int_equal(EVP_MD_CTX_copy_ex(copy, md), 1);
	assert_int_equal(EVP_DigestFinal_ex(copy, out, NULL), 1);
	EVP_MD_CTX_free(copy);
	assert_hex(out, sizeof out, hex);
}

#endif
