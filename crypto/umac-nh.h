/* SPDX-License-Identifier: ISC */
/*
 * NH, the inner hash of UMAC (RFC 4418 section 5.2.2). It computes two streams
 * at once, the second with a shifted key (Toeplitz). Only for umac.c and its
 * test.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_UMAC_NH_H
#define HPN_CRYPTO_UMAC_NH_H

#include <stddef.h>
#include <stdint.h>

enum {
	NH_GROUP_LEN = 32,   /* bytes: a message is hashed in such units */
	NH_BLOCK_LEN = 1024, /* bytes hashed with one key */
	NH_SHIFT = 4,	     /* key words between two streams */
	NH_STREAMS = 2,
};

/*
 * Adds to sum[s] the hash of len bytes, a multiple of NH_GROUP_LEN and at
 * most NH_BLOCK_LEN, under the key words that start at key[s * NH_SHIFT].
 */
typedef void (*nh_fn)(const uint32_t *key, const uint8_t *p, size_t len,
    uint64_t sum[NH_STREAMS]);

/* The fastest function that this processor can run. */
nh_fn nh_best(void);
/* All functions that this processor can run, the slowest first; NULL behind the
 * last one. */
nh_fn nh_at(size_t index);

#endif
