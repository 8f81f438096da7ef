/* SPDX-License-Identifier: ISC */
/*
 * The folder crypto/fallback/ has our own code for what OpenSSL has only from a
 * version on. It is used if the library is older or is configured not to offer
 * the algorithm: OpenSSL is asked first. Once configure.ac requires that
 * version, the folder can be removed. crypto/kem-mlkem.c and crypto/mldsa44.c
 * then keep the lengths of its headers and their calls of OpenSSL.
 */
#ifndef HPN_CRYPTO_FALLBACK_FALLBACK_H
#define HPN_CRYPTO_FALLBACK_FALLBACK_H

/* OpenSSL has ML-KEM and ML-DSA from 3.5.0 on. Older versions are not asked for
 * them. */
#define FALLBACK_ENDS 0x30500000UL

#endif
