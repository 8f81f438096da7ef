/* SPDX-License-Identifier: ISC */
/*
 * The two numbers, r and s, of an ECDSA signature as authenticators write it
 * (DER: a sequence of two integers).
 *
 * Threads: any.
 */
#ifndef HPN_TOKENS_SK_SK_DER_H
#define HPN_TOKENS_SK_SK_DER_H

#include "base/err.h"
#include "base/wire.h"

/* Splits the signature. *r and *s point into der, and have no zeros in front.
 * For curves of up to 256 bits. ERR_FORMAT. */
int sk_der_split(struct span der, struct span *r, struct span *s) must_check;

#endif
