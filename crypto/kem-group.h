/* SPDX-License-Identifier: ISC */
/*
 * The fixed groups of RFC 3526. All have the generator 2.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_KEM_GROUP_H
#define HPN_CRYPTO_KEM_GROUP_H

#include <stdint.h>

#include "base/err.h"

struct buf;

/* Appends the prime, big-endian. bits: 2048, 3072, 4096, 6144 or 8192;
 * ERR_NOT_FOUND otherwise. */
int kem_fixed_prime(uint32_t bits, struct buf *prime) must_check;

#endif
