/* SPDX-License-Identifier: ISC */
/*
 * Loads the library of a provider. It runs with all that this process may do,
 * so only a file that is such a library is given to the dynamic linker.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_PROVIDER_H
#define HPN_TOKENS_SK_SK_PROVIDER_H

#include "base/err.h"
#include "tokens/sk/sk-api.h"

/* The library is loaded, and stays so. On error *why says what is wrong,
 * static. */
int sk_provider_load(const char *path, struct sk_api *out,
    const char **why) must_check;

#endif
