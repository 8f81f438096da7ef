/* SPDX-License-Identifier: ISC */
/*
 * bcrypt_pbkdf: built like PBKDF2, with a hash that is made from Blowfish with
 * bcrypt's expensive key schedule (Provos and Mazieres 1999). The hash takes
 * keys and salts of 64 bytes, which are SHA-512 digests, and gives 32 bytes.
 */
#include "crypto/kdf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"
#include "crypto/kdf-pi.h"

enum {
	ROUNDS = 16,	 /* of Blowfish */
	SEED_LEN = 64,	 /* bytes: a SHA-512 digest */
	SEED_WORDS = SEED_LEN / 4,
	HASH_WORDS = 8,
	HASH_LEN = 4 * HASH_WORDS,
	COST = 64,	 /* runs of the key schedule, and of the cipher */
	OUT_MAX = HASH_LEN * HASH_LEN,
	SALT_MAX = 1 << 20, /* bytes */
};

struct blowfish {
	uint32_t p[ROUNDS + 2];
	uint32_t s[4][256];
};

struct work {
	struct blowfish state;
	uint8_t pass[SEED_LEN], salt[SEED_LEN];
	uint8_t hash[HASH_LEN], sum[HASH_LEN];
};

static inline uint32_t
mix(const struct blowfish *b, uint32_t v)
{
	return ((b->s[0][v >> 24] + b->s[1][v >> 16 & 0xff]) ^
		   b->s[2][v >> 8 & 0xff]) +
	    b->s[3][v & 0xff];
}

/* Encrypts 64 bits. Each turn of the loop does two rounds of Blowfish, so the
 * halves need not be swapped. */
static inline void
encipher(const struct blowfish *b, uint32_t *left, uint32_t *right)
{
	uint32_t l = *left, r = *right;

	for (int i = 0; i < ROUNDS; i += 2) {
		l ^= b->p[i];
		r ^= mix(b, l);
		r ^= b->p[i + 1];
		l ^= mix(b, r);
	}
	*left = r ^ b->p[ROUNDS + 1];
	*right = l ^ b->p[ROUNDS];
}

static void
load_words(uint32_t words[SEED_WORDS], const uint8_t seed[SEED_LEN])
{
	for (size_t i = 0; i < SEED_WORDS; i++)
		words[i] = wire_get_u32(seed + 4 * i);
}

/* Bcrypt's key schedule. With a salt of zeros it is that of Blowfish. */
static void
expand(struct blowfish *b, const uint32_t key[SEED_WORDS],
    const uint32_t salt[SEED_WORDS])
{
	uint32_t *table = &b->s[0][0];
	uint32_t l = 0, r = 0;
	size_t at = 0;

	for (size_t i = 0; i < ROUNDS + 2; i++)
		b->p[i] ^= key[i % SEED_WORDS];
	for (size_t i = 0; i < ROUNDS + 2; i += 2) {
		l ^= salt[at];
		r ^= salt[at + 1];
		at = (at + 2) % SEED_WORDS;
		encipher(b, &l, &r);
		b->p[i] = l;
		b->p[i + 1] = r;
	}
	for (size_t i = 0; i < 4 * 256; i += 2) {
		l ^= salt[at];
		r ^= salt[at + 1];
		at = (at + 2) % SEED_WORDS;
		encipher(b, &l, &r);
		table[i] = l;
		table[i + 1] = r;
	}
}

static void
start_from_pi(struct blowfish *b)
{
	memcpy(b->p, pi_words, sizeof b->p);
	memcpy(b->s, pi_words + ROUNDS + 2, sizeof b->s);
}

/* Computes w->hash from w->pass and w->salt. */
static void
bcrypt_hash(struct work *w)
{
	static const uint32_t none[SEED_WORDS];
	static const char text[HASH_LEN + 1] =
	    "OxychromaticBlowfishSwatDynamite";
	uint32_t pass[SEED_WORDS], salt[SEED_WORDS], v[HASH_WORDS];

	load_words(pass, w->pass);
	load_words(salt, w->salt);
	start_from_pi(&w->state);
	expand(&w->state, pass, salt);
	for (int i = 0; i < COST; i++) {
		expand(&w->state, salt, none);
		expand(&w->state, pass, none);
	}
	for (size_t i = 0; i < HASH_WORDS; i++)
		v[i] = wire_get_u32((const uint8_t *)text + 4 * i);
	for (size_t i = 0; i < HASH_WORDS; i += 2) {
		for (int turn = 0; turn < COST; turn++)
			encipher(&w->state, &v[i], &v[i + 1]);
	}
	for (size_t i = 0; i < HASH_LEN; i++)
		w->hash[i] = (uint8_t)(v[i / 4] >> 8 * (i % 4));
	explicit_bzero(pass, sizeof pass);
	explicit_bzero(salt, sizeof salt);
	explicit_bzero(v, sizeof v);
}

/* Sets w->salt for the first round of a block: the digest of the user's salt
 * and the number of the block. */
static int
first_salt(struct work *w, const uint8_t *salt, size_t salt_len,
    uint32_t number)
{
	struct digest *d = NULL;
	uint8_t suffix[4];
	int r;

	wire_put_u32(suffix, number);
	if ((r = digest_new(&d, DIGEST_SHA512)) == 0 &&
	    (r = digest_update(d, salt, salt_len)) == 0 &&
	    (r = digest_update(d, suffix, sizeof suffix)) == 0)
		r = digest_final(d, w->salt);
	digest_free(d);
	return r;
}

/* Sets w->sum to the exclusive or of the hashes of all rounds of a block. */
static int
block_sum(struct work *w, const uint8_t *salt, size_t salt_len,
    uint32_t number, uint32_t rounds)
{
	int r = first_salt(w, salt, salt_len, number);

	if (r != 0)
		return r;
	bcrypt_hash(w);
	memcpy(w->sum, w->hash, HASH_LEN);
	for (uint32_t i = 1; i < rounds; i++) {
		r = digest_once(DIGEST_SHA512, w->hash, HASH_LEN, w->salt);
		if (r != 0)
			return r;
		bcrypt_hash(w);
		for (size_t j = 0; j < HASH_LEN; j++)
			w->sum[j] ^= w->hash[j];
	}
	return 0;
}

int
kdf_bcrypt(const void *pass, size_t pass_len, const uint8_t *salt,
    size_t salt_len, uint32_t rounds, uint8_t *out, size_t out_len)
{
	size_t blocks = (out_len + HASH_LEN - 1) / HASH_LEN;
	struct work *w;
	int r;

	if (pass_len == 0 || salt_len == 0 || salt_len > SALT_MAX ||
	    rounds == 0 || out_len == 0 || out_len > OUT_MAX)
		return ERR_ARGUMENT;
	w = calloc(1, sizeof *w);
	if (w == NULL)
		return ERR_NOMEM;
	r = digest_once(DIGEST_SHA512, pass, pass_len, w->pass);
	for (size_t b = 0; r == 0 && b < blocks; b++) {
		r = block_sum(w, salt, salt_len, (uint32_t)(b + 1), rounds);
		/* The bytes of the blocks are interleaved in the output, so a
		 * part of it costs as much as all of it. */
		for (size_t i = 0; r == 0 && i * blocks + b < out_len; i++)
			out[i * blocks + b] = w->sum[i];
	}
	if (r != 0)
		explicit_bzero(out, out_len);
	mem_free_secret(w, sizeof *w);
	return r;
}
