/* SPDX-License-Identifier: ISC */
/*
 * ML-DSA-44 (FIPS 204) for older versions of OpenSSL: portable code, whose time
 * and memory accesses do not depend on secrets.
 *
 * A private key is the seed from which it is made. The standard's form of 2560
 * bytes is not kept, because most of the work of expanding a seed has to be
 * done for each signature anyway.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_FALLBACK_MLDSA44_OWN_H
#define HPN_CRYPTO_FALLBACK_MLDSA44_OWN_H

#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"

enum {
	MLDSA44_SEED_LEN = 32,
	MLDSA44_PUBLIC_LEN = 1312,
	MLDSA44_SIGNATURE_LEN = 2420,
	MLDSA44_RANDOM_LEN = 32,
	MLDSA44_CONTEXT_MAX = 255,
};

/* What is signed. With different contexts a key can sign for several uses, and
 * a signature for one use is not valid for another. Both ends must know the
 * context, which may have at most MLDSA44_CONTEXT_MAX bytes. */
struct mldsa44_message {
	struct span context, data;
};

/* mldsa44_own_sign(): random makes two signatures of the same message differ;
 * zeros give the standard's deterministic variant. ERR_ARGUMENT: the context is
 * too long. */
void mldsa44_own_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN]);
int mldsa44_own_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN], const struct mldsa44_message *m,
    const uint8_t random[MLDSA44_RANDOM_LEN]) must_check;
/* Verifies a signature. ERR_SIGNATURE: it is not one of this message by this
 * key. */
int mldsa44_own_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN],
    const struct mldsa44_message *m) must_check;

#endif
