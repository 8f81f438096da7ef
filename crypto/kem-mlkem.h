/* SPDX-License-Identifier: ISC */
/*
 * ML-KEM-768 (FIPS 203), by OpenSSL if the library at run time has it, else by
 * the code of crypto/fallback/.
 *
 * Threads: any; a struct mlkem belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_KEM_MLKEM_H
#define HPN_CRYPTO_KEM_MLKEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "crypto/fallback/mlkem-own.h" /* lengths */

/* ML-KEM by OpenSSL only. ERR_UNSUPPORTED if the library has none. *key is an
 * EVP_PKEY for mlkem_evp_decaps() and mlkem_evp_free(). */
int mlkem_evp_keygen(void **key, uint8_t ek[MLKEM_EK_LEN]) must_check;
int mlkem_evp_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN]) must_check;
int mlkem_evp_decaps(void *key, uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ct[MLKEM_CT_LEN]) must_check;
void mlkem_evp_free(void *key);

/* ML-KEM by OpenSSL or by crypto/fallback/, with fresh random numbers. */
struct mlkem; /* a key pair */

int mlkem_new(struct mlkem **out, uint8_t ek[MLKEM_EK_LEN]) must_check;
int mlkem_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN]) must_check;
int mlkem_decaps(struct mlkem *k, uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ct[MLKEM_CT_LEN]) must_check;
void mlkem_free(struct mlkem *k); /* wipes */

#endif
