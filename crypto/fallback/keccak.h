/* SPDX-License-Identifier: ISC */
/*
 * The Keccak sponge of FIPS 202: SHA3-256, SHA3-512, SHAKE128 and SHAKE256, for
 * ML-KEM and ML-DSA. It is own code because these need many short streams, each
 * read in several pieces. OpenSSL takes longer to set up such a stream than to
 * compute it, and before 3.3 cannot give a second piece. No branch or index
 * depends on a secret.
 *
 * Threads: any; a struct keccak belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_FALLBACK_KECCAK_H
#define HPN_CRYPTO_FALLBACK_KECCAK_H

#include <stddef.h>
#include <stdint.h>

enum {
	SHAKE128_RATE = 168, /* bytes per permutation */
	SHAKE256_RATE = 136,
	SHA3_256_LEN = 32,
	SHA3_512_LEN = 64,
};

struct keccak {
	uint64_t lane[25];
	unsigned rate; /* bytes per permutation */
	unsigned pos;  /* index of the next byte, below rate */
};

/* A SHAKE stream: init (rate is SHAKE128_RATE or SHAKE256_RATE), absorb any
 * number of times, finish once, squeeze any number of times. */
void shake_init(struct keccak *k, unsigned rate);
void shake_absorb(struct keccak *k, const void *p, size_t len);
void shake_finish(struct keccak *k);
void shake_squeeze(struct keccak *k, uint8_t *out, size_t len);
/* A SHAKE stream over a seed and two bytes behind it, ready to be squeezed:
 * polynomials of both algorithms are sampled from such streams. */
void shake_begin_at(struct keccak *k, unsigned rate, const void *seed,
    size_t len, const uint8_t at[2]);
/* Wipes k. This is needed if the input was secret. */
void shake_clear(struct keccak *k);

void sha3_256(uint8_t out[SHA3_256_LEN], const void *p, size_t len);
void sha3_512(uint8_t out[SHA3_512_LEN], const void *p, size_t len);

#endif
