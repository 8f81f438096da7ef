/* SPDX-License-Identifier: ISC */
/*
 * A provider: a library for tokens (PKCS#11), and a session with each token.
 *
 * Threads: one; calls block.
 */
#ifndef HPN_TOKENS_P11_PROVIDER_H
#define HPN_TOKENS_P11_PROVIDER_H

#include "keys/p11-wire.h"

struct provider;

/* The library is loaded; NULL: why was logged. */
struct provider *provider_load(const char *path);
void provider_free(struct provider *p);
/* Logs in to the token, or to all that want it, as the request says. */
enum p11_status provider_log_in(struct provider *p, uint32_t token,
    const struct p11_request *q);

#endif
