/* SPDX-License-Identifier: ISC */
/*
 * The two numbers of an ECDSA signature as authenticators write it (DER: a
 * sequence of two integers).
 *
 * Threads: any.
 */
#ifndef HPN_TOKENS_SK_SK_DER_H
#define HPN_TOKENS_SK_SK_DER_H

#include "base/err.h"
#include "base/wire.h"

/* r and s lie in der, without zeros in front. For curves of up to 256 bits. */
int sk_der_split(struct span der, struct span *r, struct span *s) must_check;

#endif
