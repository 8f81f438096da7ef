/* SPDX-License-Identifier: ISC */
/*
 * The built-in provider of security keys: USB authenticators, by libfido2.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_FIDO2_H
#define HPN_TOKENS_SK_SK_FIDO2_H

#include <stdbool.h>

#include "tokens/sk/sk-api.h"

/* The functions of the built-in provider. False: this build has none. */
bool sk_fido2_api(struct sk_api *out);

#endif
