/* SPDX-License-Identifier: ISC */
#include "crypto/fallback/keccak.h"

#include <string.h>

#include "compat/bsd-mem.h"

enum {
	ROUNDS = 24,
	SHA3_256_RATE = 136,
	SHA3_512_RATE = 72,
	SUFFIX_SHA3 = 0x06,  /* domain bits 01 and the first bit of padding */
	SUFFIX_SHAKE = 0x1f,
	LAST_BYTE = 0x80,    /* the last bit of padding */
};

static const uint64_t round_constants[ROUNDS] = {
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a,
	0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
	0x8000000080008081, 0x8000000000008009, 0x000000000000008a,
	0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
	0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
	0x000000000000800a, 0x800000008000000a, 0x8000000080008081,
	0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

static inline uint64_t
rotate(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* Step chi for one row of five lanes. */
static inline void
mix_row(uint64_t out[5], uint64_t b0, uint64_t b1, uint64_t b2, uint64_t b3,
    uint64_t b4)
{
	out[0] = b0 ^ (~b1 & b2);
	out[1] = b1 ^ (~b2 & b3);
	out[2] = b2 ^ (~b3 & b4);
	out[3] = b3 ^ (~b4 & b0);
	out[4] = b4 ^ (~b0 & b1);
}

/*
 * One round of the permutation, from a to e. Lane (x, y) is a[x + 5 * y]. The
 * steps rho and pi are in the choice of arguments: lane (X, Y) after pi comes
 * from (X + 3Y, X).
 */
static inline void
round_step(uint64_t e[25], const uint64_t a[25], uint64_t constant)
{
	uint64_t c0 = a[0] ^ a[5] ^ a[10] ^ a[15] ^ a[20];
	uint64_t c1 = a[1] ^ a[6] ^ a[11] ^ a[16] ^ a[21];
	uint64_t c2 = a[2] ^ a[7] ^ a[12] ^ a[17] ^ a[22];
	uint64_t c3 = a[3] ^ a[8] ^ a[13] ^ a[18] ^ a[23];
	uint64_t c4 = a[4] ^ a[9] ^ a[14] ^ a[19] ^ a[24];
	uint64_t d0 = c4 ^ rotate(c1, 1), d1 = c0 ^ rotate(c2, 1);
	uint64_t d2 = c1 ^ rotate(c3, 1), d3 = c2 ^ rotate(c4, 1);
	uint64_t d4 = c3 ^ rotate(c0, 1);

	mix_row(e, a[0] ^ d0, rotate(a[6] ^ d1, 44), rotate(a[12] ^ d2, 43),
	    rotate(a[18] ^ d3, 21), rotate(a[24] ^ d4, 14));
	e[0] ^= constant;
	mix_row(e + 5, rotate(a[3] ^ d3, 28), rotate(a[9] ^ d4, 20),
	    rotate(a[10] ^ d0, 3), rotate(a[16] ^ d1, 45),
	    rotate(a[22] ^ d2, 61));
	mix_row(e + 10, rotate(a[1] ^ d1, 1), rotate(a[7] ^ d2, 6),
	    rotate(a[13] ^ d3, 25), rotate(a[19] ^ d4, 8),
	    rotate(a[20] ^ d0, 18));
	mix_row(e + 15, rotate(a[4] ^ d4, 27), rotate(a[5] ^ d0, 36),
	    rotate(a[11] ^ d1, 10), rotate(a[17] ^ d2, 15),
	    rotate(a[23] ^ d3, 56));
	mix_row(e + 20, rotate(a[2] ^ d2, 62), rotate(a[8] ^ d3, 55),
	    rotate(a[14] ^ d4, 39), rotate(a[15] ^ d0, 41),
	    rotate(a[21] ^ d1, 2));
}

static void
permute(uint64_t lane[25])
{
	uint64_t a[25], e[25];

	memcpy(a, lane, sizeof a);
	for (int i = 0; i < ROUNDS; i += 2) {
		round_step(e, a, round_constants[i]);
		round_step(a, e, round_constants[i + 1]);
	}
	memcpy(lane, a, sizeof a);
}

static void
xor_byte(struct keccak *k, unsigned at, uint8_t v)
{
	k->lane[at / 8] ^= (uint64_t)v << 8 * (at % 8);
}

static uint64_t
load_le64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static void
store_le64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void
sponge_init(struct keccak *k, unsigned rate)
{
	memset(k->lane, 0, sizeof k->lane);
	k->rate = rate;
	k->pos = 0;
}

static void
sponge_absorb(struct keccak *k, const uint8_t *p, size_t len)
{
	while (len > 0) {
		if (k->pos % 8 == 0 && len >= 8) {
			k->lane[k->pos / 8] ^= load_le64(p);
			k->pos += 8;
			p += 8;
			len -= 8;
		} else {
			xor_byte(k, k->pos++, *p++);
			len--;
		}
		if (k->pos == k->rate) {
			permute(k->lane);
			k->pos = 0;
		}
	}
}

/* Ends the input with its padding, and makes the first block of output. */
static void
sponge_finish(struct keccak *k, uint8_t suffix)
{
	xor_byte(k, k->pos, suffix);
	xor_byte(k, k->rate - 1, LAST_BYTE);
	permute(k->lane);
	k->pos = 0;
}

static void
sponge_squeeze(struct keccak *k, uint8_t *out, size_t len)
{
	while (len > 0) {
		if (k->pos == k->rate) {
			permute(k->lane);
			k->pos = 0;
		}
		if (k->pos % 8 == 0 && len >= 8) {
			store_le64(out, k->lane[k->pos / 8]);
			k->pos += 8;
			out += 8;
			len -= 8;
		} else {
			*out++ = (uint8_t)(k->lane[k->pos / 8] >>
			    8 * (k->pos % 8));
			k->pos++;
			len--;
		}
	}
}

void
shake_init(struct keccak *k, unsigned rate)
{
	sponge_init(k, rate);
}

void
shake_absorb(struct keccak *k, const void *p, size_t len)
{
	sponge_absorb(k, p, len);
}

void
shake_finish(struct keccak *k)
{
	sponge_finish(k, SUFFIX_SHAKE);
}

void
shake_squeeze(struct keccak *k, uint8_t *out, size_t len)
{
	sponge_squeeze(k, out, len);
}

void
shake_begin_at(struct keccak *k, unsigned rate, const void *seed, size_t len,
    const uint8_t at[2])
{
	shake_init(k, rate);
	shake_absorb(k, seed, len);
	shake_absorb(k, at, 2);
	shake_finish(k);
}

void
shake_clear(struct keccak *k)
{
	explicit_bzero(k, sizeof *k);
}

static void
sha3(uint8_t *out, size_t out_len, unsigned rate, const void *p, size_t len)
{
	struct keccak k;

	sponge_init(&k, rate);
	sponge_absorb(&k, p, len);
	sponge_finish(&k, SUFFIX_SHA3);
	sponge_squeeze(&k, out, out_len);
	shake_clear(&k);
}

void
sha3_256(uint8_t out[SHA3_256_LEN], const void *p, size_t len)
{
	sha3(out, SHA3_256_LEN, SHA3_256_RATE, p, len);
}

void
sha3_512(uint8_t out[SHA3_512_LEN], const void *p, size_t len)
{
	sha3(out, SHA3_512_LEN, SHA3_512_RATE, p, len);
}
