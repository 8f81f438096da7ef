/* SPDX-License-Identifier: ISC */
/*
 * ML-KEM-768 (FIPS 203) for older versions of OpenSSL: portable code, whose
 * time and memory accesses do not depend on secrets. The caller provides the
 * random bytes (d, z, m), and wipes dk, ss and these.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_FALLBACK_MLKEM_OWN_H
#define HPN_CRYPTO_FALLBACK_MLKEM_OWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	MLKEM_EK_LEN = 1184, /* encapsulation key, sent by the client */
	MLKEM_DK_LEN = 2400, /* decapsulation key */
	MLKEM_CT_LEN = 1088, /* ciphertext, sent by the server */
	MLKEM_SS_LEN = 32,   /* shared secret */
	MLKEM_SEED_LEN = 32, /* d, z and m of FIPS 203 */
};

void mlkem_own_keygen(uint8_t ek[MLKEM_EK_LEN], uint8_t dk[MLKEM_DK_LEN],
    const uint8_t d[MLKEM_SEED_LEN], const uint8_t z[MLKEM_SEED_LEN]);
/* Makes a shared secret and its ciphertext for ek. ERR_KEX_VALUE: ek contains a
 * number that is not below the modulus (section 7.2). */
int mlkem_own_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN], const uint8_t m[MLKEM_SEED_LEN]) must_check;
/* Computes the shared secret of a ciphertext. For a wrong one ss becomes a
 * secret that the peer does not know. */
void mlkem_own_decaps(uint8_t ss[MLKEM_SS_LEN], const uint8_t ct[MLKEM_CT_LEN],
    const uint8_t dk[MLKEM_DK_LEN]);

#endif
