/* SPDX-License-Identifier: ISC */
/*
 * Streamlined NTRU Prime with p = 761, q = 4591, w = 286 (the round 3
 * submission to NIST, "sntrup761"). Own code, whose time and memory accesses
 * do not depend on secrets.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_KEM_SNTRUP761_H
#define HPN_CRYPTO_KEM_SNTRUP761_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	SNTRUP761_PK_LEN = 1158, /* public key, sent by the client */
	SNTRUP761_SK_LEN = 1763, /* secret key */
	SNTRUP761_CT_LEN = 1039, /* ciphertext, sent by the server */
	SNTRUP761_SS_LEN = 32,	 /* shared secret */
};

/* The caller wipes sk and ss. `random` is rand_bytes(); tests pass a known
 * stream. One call asks for all 761 words of a polynomial, as 32-bit numbers in
 * the byte order of the machine. */
int sntrup761_keygen(uint8_t pk[SNTRUP761_PK_LEN], uint8_t sk[SNTRUP761_SK_LEN],
    void (*random)(void *p, size_t len)) must_check;
int sntrup761_encaps(uint8_t ct[SNTRUP761_CT_LEN], uint8_t ss[SNTRUP761_SS_LEN],
    const uint8_t pk[SNTRUP761_PK_LEN],
    void (*random)(void *p, size_t len)) must_check;
/* For a wrong ciphertext ss becomes a secret that the peer does not know, and
 * the result is 0. */
int sntrup761_decaps(uint8_t ss[SNTRUP761_SS_LEN],
    const uint8_t ct[SNTRUP761_CT_LEN],
    const uint8_t sk[SNTRUP761_SK_LEN]) must_check;

#endif
