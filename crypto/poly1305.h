/* SPDX-License-Identifier: ISC */
/*
 * Poly1305 of OpenSSL (RFC 8439 section 2.5), for many texts, each under its
 * own key; or all under one key that, like its tags, stays secret.
 *
 * Threads: any; a struct poly1305 belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_POLY1305_H
#define HPN_CRYPTO_POLY1305_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { POLY1305_KEY_LEN = 32, POLY1305_TAG_LEN = 16 };

struct poly1305;

/* ERR_CRYPTO: the library does not have Poly1305, as with FIPS 140. */
int poly1305_new(struct poly1305 **out) must_check;
void poly1305_free(struct poly1305 *p); /* NULL: nothing */
int poly1305_compute(struct poly1305 *p, const uint8_t key[POLY1305_KEY_LEN],
    const void *text, size_t len, uint8_t tag[POLY1305_TAG_LEN]) must_check;

#endif
