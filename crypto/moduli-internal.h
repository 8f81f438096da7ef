/* SPDX-License-Identifier: ISC */
/* Shared by moduli.c, moduli-make.c and moduli-sieve.c. */
#ifndef HPN_CRYPTO_MODULI_INTERNAL_H
#define HPN_CRYPTO_MODULI_INTERNAL_H

#include <openssl/bn.h>

#include "crypto/moduli.h"

enum { MODULI_MIN_BITS = 512 }; /* a smaller size must be a typing error */

/* Appends the number as big-endian bytes. */
int moduli_put_number(struct buf *out, const BIGNUM *v) must_check;

/* Sets m->time to the current time. */
int moduli_stamp(struct modulus *m) must_check;

#endif
