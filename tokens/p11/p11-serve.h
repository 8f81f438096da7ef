/* SPDX-License-Identifier: ISC */
/*
 * The work of hpnssh-pkcs11-helper: answers the requests of keys/p11-wire.h.
 * The first request to list keys names the provider's library, which then stays
 * loaded.
 *
 * Threads: one; calls block.
 */
#ifndef HPN_TOKENS_P11_SERVE_H
#define HPN_TOKENS_P11_SERVE_H

#include "keys/p11-wire.h"

struct provider;

/* Handles a request and fills answer, which is empty. *p: the provider, NULL
 * before the first request. The result is an error only if there is no answer;
 * a refusal is an answer. */
int p11_serve(struct provider **p, const struct p11_request *q,
    struct buf *answer) must_check;

#endif
