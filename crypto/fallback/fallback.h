/* SPDX-License-Identifier: ISC */
/*
 * The folder crypto/fallback/ holds what OpenSSL has itself from a version on,
 * for libraries that are older, or that are told not to offer it. It is asked
 * for it first, when a process needs it. Once configure.ac asks for that
 * version the folder goes, and its callers (crypto/kem-mlkem.c and
 * crypto/mldsa44.c) keep the lengths of the headers and their calls of OpenSSL.
 */
#ifndef HPN_CRYPTO_FALLBACK_FALLBACK_H
#define HPN_CRYPTO_FALLBACK_FALLBACK_H

/* ML-KEM and ML-DSA came with OpenSSL 3.5.0. Before, a program that asks for
 * them is told that there is nothing of the name. */
#define FALLBACK_ENDS 0x30500000UL

#endif
