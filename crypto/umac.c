/* SPDX-License-Identifier: ISC */
/*
 * UMAC (RFC 4418) hashes in three layers. NH makes 8 bytes of each 1024 bytes.
 * A polynomial makes 8 bytes of all results of NH. An inner product makes 4
 * bytes of that. All of this is done for two or four streams with different
 * keys, and the result is xored with an AES block that is made from the nonce.
 */
#include "crypto/umac.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/wire.h"
#include "compat/bsd-mem.h"
#include "crypto/umac-nh.h"

enum {
	BLOCK_LEN = 16, /* of AES, bytes */
	MAX_STREAMS = 4,
	NH_KEY_WORDS = NH_BLOCK_LEN / 4 + (MAX_STREAMS - 1) * NH_SHIFT,
	L2_KEY_LEN = 24, /* bytes a stream; only the first 8 are used here */
	L3_WORDS = 4,	 /* words of 16 bits in a stream's 8 bytes */
	L3_KEY_LEN = 64, /* bytes a stream: 8 keys for 8 words... */
	L3_SKIP = 32,	 /* ...of which the first 4 would meet zeros */
};

/* The index that goes into the derivation of each key (RFC 4418 section
 * 3.2). */
enum { DERIVE_PAD, DERIVE_L1, DERIVE_L2, DERIVE_L3_PRODUCT, DERIVE_L3_MASK };

static const uint64_t P36 = 0xffffffffb;	 /* 2^36 - 5 */
static const uint64_t P64 = 0xffffffffffffffc5; /* 2^64 - 59 */
static const uint64_t P64_GAP = 59;

struct umac {
	EVP_CIPHER_CTX *pad; /* owned: AES-128 with the pad's key */
	nh_fn nh;
	size_t streams; /* 2 or 4; each gives 4 bytes of the tag */
	uint32_t nh_key[NH_KEY_WORDS];
	uint64_t poly_key[MAX_STREAMS];
	uint64_t product_key[MAX_STREAMS][L3_WORDS];
	uint32_t mask[MAX_STREAMS];
};

static int
aes_new(EVP_CIPHER_CTX **out, const uint8_t *key)
{
	EVP_CIPHER *aes = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int r = ERR_CRYPTO;

	if (aes != NULL && ctx != NULL &&
	    EVP_EncryptInit_ex2(ctx, aes, key, NULL, NULL) == 1 &&
	    EVP_CIPHER_CTX_set_padding(ctx, 0) == 1) {
		*out = ctx;
		ctx = NULL;
		r = 0;
	}
	EVP_CIPHER_CTX_free(ctx);
	EVP_CIPHER_free(aes);
	return r;
}

static int
aes_block(EVP_CIPHER_CTX *ctx, const uint8_t in[BLOCK_LEN],
    uint8_t out[BLOCK_LEN])
{
	int n;

	return EVP_EncryptUpdate(ctx, out, &n, in, BLOCK_LEN) == 1 ?
	    0 :
	    ERR_CRYPTO;
}

/* Derives a key of len bytes, with AES as the pseudo-random function (section
 * 3.2). */
static int
derive(EVP_CIPHER_CTX *ctx, uint64_t what, uint8_t *out, size_t len)
{
	uint8_t in[BLOCK_LEN], block[BLOCK_LEN];
	int r = 0;

	wire_put_u64(in, what);
	for (uint64_t i = 1; r == 0 && len > 0; i++) {
		size_t n = len < BLOCK_LEN ? len : BLOCK_LEN;

		wire_put_u64(in + 8, i);
		r = aes_block(ctx, in, block);
		memcpy(out, block, n);
		out += n;
		len -= n;
	}
	explicit_bzero(block, sizeof block);
	return r;
}

static int
derive_nh(struct umac *u, EVP_CIPHER_CTX *ctx)
{
	uint8_t raw[NH_KEY_WORDS * 4];
	size_t words = NH_BLOCK_LEN / 4 + (u->streams - 1) * NH_SHIFT;
	int r = derive(ctx, DERIVE_L1, raw, words * 4);

	for (size_t i = 0; r == 0 && i < words; i++)
		u->nh_key[i] = wire_get_u32(raw + 4 * i);
	explicit_bzero(raw, sizeof raw);
	return r;
}

static int
derive_poly(struct umac *u, EVP_CIPHER_CTX *ctx)
{
	uint8_t raw[MAX_STREAMS * L2_KEY_LEN];
	int r = derive(ctx, DERIVE_L2, raw, u->streams * L2_KEY_LEN);

	for (size_t s = 0; r == 0 && s < u->streams; s++) {
		/* With these bits clear, poly_step() cannot overflow. */
		u->poly_key[s] = wire_get_u64(raw + s * L2_KEY_LEN) &
		    0x01ffffff01ffffff;
	}
	explicit_bzero(raw, sizeof raw);
	return r;
}

static int
derive_inner_product(struct umac *u, EVP_CIPHER_CTX *ctx)
{
	uint8_t raw[MAX_STREAMS * L3_KEY_LEN], mask[MAX_STREAMS * 4];
	int r = derive(ctx, DERIVE_L3_PRODUCT, raw, u->streams * L3_KEY_LEN);

	if (r == 0)
		r = derive(ctx, DERIVE_L3_MASK, mask, u->streams * 4);
	for (size_t s = 0; r == 0 && s < u->streams; s++) {
		const uint8_t *keys = raw + s * L3_KEY_LEN + L3_SKIP;

		for (size_t i = 0; i < L3_WORDS; i++)
			u->product_key[s][i] = wire_get_u64(keys + 8 * i) % P36;
		u->mask[s] = wire_get_u32(mask + 4 * s);
	}
	explicit_bzero(raw, sizeof raw);
	explicit_bzero(mask, sizeof mask);
	return r;
}

int
umac_new(struct umac **out, size_t tag_len, const uint8_t *key)
{
	EVP_CIPHER_CTX *ctx = NULL;
	uint8_t pad_key[UMAC_KEY_LEN];
	struct umac *u;
	int r;

	*out = NULL;
	if (tag_len != 8 && tag_len != 16)
		return ERR_ARGUMENT;
	u = calloc(1, sizeof *u);
	if (u == NULL)
		return ERR_NOMEM;
	u->streams = tag_len / 4;
	u->nh = nh_best();
	if ((r = aes_new(&ctx, key)) != 0 ||
	    (r = derive(ctx, DERIVE_PAD, pad_key, sizeof pad_key)) != 0 ||
	    (r = derive_nh(u, ctx)) != 0 || (r = derive_poly(u, ctx)) != 0 ||
	    (r = derive_inner_product(u, ctx)) != 0 ||
	    (r = aes_new(&u->pad, pad_key)) != 0)
		goto out;
	*out = u;
	u = NULL;
out:
	explicit_bzero(pad_key, sizeof pad_key);
	EVP_CIPHER_CTX_free(ctx);
	umac_free(u);
	return r;
}

void
umac_free(struct umac *u)
{
	if (u == NULL)
		return;
	EVP_CIPHER_CTX_free(u->pad);
	freezero(u, sizeof *u);
}

/* Section 5.2: NH for all streams, of at most NH_BLOCK_LEN bytes. */
static void
hash_block(const struct umac *u, const uint8_t *p, size_t len,
    uint64_t sum[MAX_STREAMS])
{
	uint8_t last[NH_GROUP_LEN] = { 0 };
	size_t whole = len - len % NH_GROUP_LEN;
	bool padded = whole < len || len == 0;

	if (padded && len > 0)
		memcpy(last, p + whole, len - whole);
	for (size_t s = 0; s < u->streams; s += NH_STREAMS) {
		const uint32_t *key = u->nh_key + s * NH_SHIFT;

		sum[s] = sum[s + 1] = (uint64_t)len * 8;
		if (whole > 0)
			u->nh(key, p, whole, sum + s);
		if (padded)
			u->nh(key + whole / 4, last, sizeof last, sum + s);
	}
}

static uint64_t
add_mod_p64(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	/* A carry means 2^64, which is 59 modulo P64. If adding 59 makes a
	 * carry, too, the sum is so small that adding 59 again does not. */
	if (sum < a) {
		sum += P64_GAP;
		if (sum < P64_GAP)
			sum += P64_GAP;
	}
	return sum;
}

/*
 * Computes y * k + m modulo P64, not always fully reduced. The halves of k are
 * below 2^25, so that none of the sums of products overflows.
 */
static uint64_t
poly_step(uint64_t y, uint64_t k, uint64_t m)
{
	uint64_t yh = y >> 32, yl = y & 0xffffffff;
	uint64_t kh = k >> 32, kl = k & 0xffffffff;
	uint64_t middle = yh * kl + yl * kh;
	uint64_t high = yh * kh + (middle >> 32);

	y = add_mod_p64(yl * kl, middle << 32);
	y = add_mod_p64(y, high * P64_GAP);
	return add_mod_p64(y, m);
}

/* Section 5.3: a word m from 2^64 - 2^32 on is hashed as two words, the marker
 * P64 - 1 and m - 59. */
static uint64_t
poly_word(uint64_t y, uint64_t k, uint64_t m)
{
	if (m >> 32 == 0xffffffff) {
		y = poly_step(y, k, P64 - 1);
		m -= P64_GAP;
	}
	return poly_step(y, k, m);
}

/* Section 5.4, of the 8 bytes that the first two layers make. The standard's
 * other 8 bytes are zeros for messages as short as ours. */
static uint32_t
inner_product(const struct umac *u, size_t stream, uint64_t v)
{
	const uint64_t *key = u->product_key[stream];
	uint64_t sum = 0;

	for (int i = 0; i < L3_WORDS; i++)
		sum += (v >> (48 - 16 * i) & 0xffff) * key[i];
	return (uint32_t)(sum % P36) ^ u->mask[stream];
}

static void
hash_message(const struct umac *u, const uint8_t *p, size_t len,
    uint64_t result[MAX_STREAMS])
{
	uint64_t sum[MAX_STREAMS];

	if (len <= NH_BLOCK_LEN) {
		hash_block(u, p, len, result);
		return;
	}
	for (size_t s = 0; s < u->streams; s++)
		result[s] = 1;
	while (len > 0) {
		size_t n = len < NH_BLOCK_LEN ? len : NH_BLOCK_LEN;

		hash_block(u, p, n, sum);
		for (size_t s = 0; s < u->streams; s++)
			result[s] = poly_word(result[s], u->poly_key[s],
			    sum[s]);
		p += n;
		len -= n;
	}
	for (size_t s = 0; s < u->streams; s++) {
		if (result[s] >= P64)
			result[s] -= P64;
	}
}

int
umac_compute(struct umac *u, uint64_t nonce, const void *p, size_t len,
    uint8_t *tag)
{
	uint64_t hash[MAX_STREAMS];
	uint8_t block[BLOCK_LEN] = { 0 }, pad[BLOCK_LEN];
	size_t half = 0;
	int r;

	if (len > UMAC_MAX_MSG)
		return ERR_LIMIT;
	/* Section 3.3: tags of 8 bytes use half of an AES block each. The
	 * lowest bit of the nonce says which half. */
	if (u->streams == 2)
		half = nonce & 1;
	wire_put_u64(block, nonce - half);
	r = aes_block(u->pad, block, pad);
	if (r != 0)
		return r;
	hash_message(u, p, len, hash);
	for (size_t s = 0; s < u->streams; s++) {
		uint32_t mask = wire_get_u32(pad + half * 8 + 4 * s);

		wire_put_u32(tag + 4 * s,
		    inner_product(u, s, hash[s]) ^ mask);
	}
	return 0;
}
