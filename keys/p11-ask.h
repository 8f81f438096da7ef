/* SPDX-License-Identifier: ISC */
/*
 * Keys of tokens for programs that have a user in front of them: the PIN is
 * asked for when it is needed first, and once only, since a token locks itself
 * after a few wrong ones. What fails is logged.
 *
 * Threads: loop thread only; blocks.
 */
#ifndef HPN_KEYS_P11_ASK_H
#define HPN_KEYS_P11_ASK_H

#include "keys/p11-client.h"

/* How the user may be asked. may_ask: false with BatchMode. *asked becomes true
 * when the user was asked. */
struct p11_ask {
	bool may_ask;
	bool asked;
};

/* Starts a helper for the library, and lists its keys. If there are none, logs
 * in to the tokens that may show keys after a login. */
int p11_ask_open(struct p11_ask *a, const char *path, struct p11 **out,
    struct p11_list *list) must_check;
int p11_ask_sign(struct p11_ask *a, struct p11 *p, const struct key *k,
    const char *alg, struct span data, struct buf *signature) must_check;

#endif
