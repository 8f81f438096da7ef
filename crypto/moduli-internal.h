/* SPDX-License-Identifier: ISC */
/* What moduli.c and moduli-make.c share. */
#ifndef HPN_CRYPTO_MODULI_INTERNAL_H
#define HPN_CRYPTO_MODULI_INTERNAL_H

#include <openssl/bn.h>

#include "crypto/moduli.h"

enum { MODULI_MIN_BITS = 512 }; /* less must be a mistyped number */

/* Appends the bytes of a number, big-endian. */
int moduli_put_number(struct buf *out, const BIGNUM *v) must_check;

/* Sets m's time to now. */
int moduli_stamp(struct modulus *m) must_check;

#endif
