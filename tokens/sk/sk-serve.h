/* SPDX-License-Identifier: ISC */
/*
 * The work of hpnssh-sk-helper: for a request of a program that uses a security
 * key, calls the provider's library, and makes an answer of what it returns.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_SERVE_H
#define HPN_TOKENS_SK_SK_SERVE_H

#include "keys/sk-wire.h"
#include "tokens/sk/sk-api.h"

/* Handles a request, and appends the answer. An error of the library is a
 * status in the answer; the result is an error only if there is no answer. */
int sk_serve(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer) must_check;

#endif
