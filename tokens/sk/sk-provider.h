/* SPDX-License-Identifier: ISC */
/*
 * Loads the library of a provider of security keys. Its code runs with all
 * rights of this process, so only a file that is such a library is loaded.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_PROVIDER_H
#define HPN_TOKENS_SK_SK_PROVIDER_H

#include "base/err.h"
#include "tokens/sk/sk-api.h"

/* Loads the library, for as long as this process runs. On an error *why is the
 * reason, which must not be freed. */
int sk_provider_load(const char *path, struct sk_api *out,
    const char **why) must_check;

#endif
