/* SPDX-License-Identifier: ISC */
/*
 * One request of a program that wants something of a security key: calls the
 * library, and puts what it returns into an answer.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_SERVE_H
#define HPN_TOKENS_SK_SK_SERVE_H

#include "keys/sk-wire.h"
#include "tokens/sk/sk-api.h"

/* Appends the answer. An error of the library is a part of it. */
int sk_serve(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer) must_check;

#endif
