/* SPDX-License-Identifier: ISC */
/*
 * The fraction of pi in hexadecimal digits, with which Blowfish's tables begin.
 * Only for kdf-bcrypt.c.
 *
 * Threads: any (constant).
 */
#ifndef HPN_CRYPTO_KDF_PI_H
#define HPN_CRYPTO_KDF_PI_H

#include <stdint.h>

enum { PI_WORDS = 18 + 4 * 256 };

extern const uint32_t pi_words[PI_WORDS];

#endif
