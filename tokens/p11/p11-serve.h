/* SPDX-License-Identifier: ISC */
/*
 * What hpnssh-pkcs11-helper does: requests of keys/p11-wire.h, each with its
 * answer. The first one to list keys names the provider, which stays.
 *
 * Threads: one; calls block.
 */
#ifndef HPN_TOKENS_P11_SERVE_H
#define HPN_TOKENS_P11_SERVE_H

#include "keys/p11-wire.h"

struct provider;

/* *p: NULL before the first one. Fills an empty answer. */
int p11_serve(struct provider **p, const struct p11_request *q,
    struct buf *answer) must_check;

#endif
