/* SPDX-License-Identifier: ISC */
/*
 * The fixed groups of RFC 3526 and RFC 2409. The generator is 2 for all of
 * them.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_KEM_GROUP_H
#define HPN_CRYPTO_KEM_GROUP_H

#include <stdint.h>

#include "base/err.h"

struct buf;

/* Appends the prime as big-endian bytes. bits: 1024, 2048, 3072, 4096, 6144 or
 * 8192; other sizes are ERR_NOT_FOUND. */
int kem_fixed_prime(uint32_t bits, struct buf *prime) must_check;

#endif
