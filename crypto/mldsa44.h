/* SPDX-License-Identifier: ISC */
/*
 * ML-DSA-44, the signatures of FIPS 204: OpenSSL's where the library at run
 * time has it, else those of crypto/fallback/. A private key is the seed that
 * it was made of.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_MLDSA44_H
#define HPN_CRYPTO_MLDSA44_H

#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "crypto/fallback/mldsa44-own.h" /* lengths, messages */

/* OpenSSL's. ERR_UNSUPPORTED where the library has no ML-DSA. */
int mldsa44_evp_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN]) must_check;
int mldsa44_evp_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN],
    const struct mldsa44_message *m) must_check;
int mldsa44_evp_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN],
    const struct mldsa44_message *m) must_check;

/* Either; sign takes fresh randomness. */
int mldsa44_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN]) must_check;
int mldsa44_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN],
    const struct mldsa44_message *m) must_check;
int mldsa44_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN],
    const struct mldsa44_message *m) must_check;

#endif
