/* SPDX-License-Identifier: ISC */
/*
 * A provider: a PKCS#11 library for tokens, and a session with each of its
 * tokens.
 *
 * Threads: one; calls block.
 */
#ifndef HPN_TOKENS_P11_PROVIDER_H
#define HPN_TOKENS_P11_PROVIDER_H

#include "keys/p11-wire.h"

struct provider;

/* Loads and starts the library, and opens its tokens. NULL: the reason was
 * logged. */
struct provider *provider_load(const char *path);
void provider_free(struct provider *p);
/* Logs in to the token with this index, or with P11_ALL_TOKENS to each that
 * requires it, with the PIN of the request. */
enum p11_status provider_log_in(struct provider *p, uint32_t token,
    const struct p11_request *q);

#endif
