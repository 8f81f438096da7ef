/* SPDX-License-Identifier: ISC */
/*
 * Signatures by ML-DSA-44 (FIPS 204), by OpenSSL if the library at run time has
 * it, else by the code of crypto/fallback/. A private key is the seed from
 * which it is made.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_MLDSA44_H
#define HPN_CRYPTO_MLDSA44_H

#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "crypto/fallback/mldsa44-own.h" /* lengths, messages */

/* ML-DSA by OpenSSL only. ERR_UNSUPPORTED if the library has none. */
int mldsa44_evp_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN]) must_check;
int mldsa44_evp_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN],
    const struct mldsa44_message *m) must_check;
int mldsa44_evp_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN],
    const struct mldsa44_message *m) must_check;

/* ML-DSA by OpenSSL or by crypto/fallback/. mldsa44_sign() uses fresh random
 * numbers. */
int mldsa44_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN]) must_check;
int mldsa44_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN],
    const struct mldsa44_message *m) must_check;
int mldsa44_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN],
    const struct mldsa44_message *m) must_check;

#endif
