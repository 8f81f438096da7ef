/* SPDX-License-Identifier: ISC */
/*
 * The provider that is built in: USB authenticators by libfido2.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_FIDO2_H
#define HPN_TOKENS_SK_SK_FIDO2_H

#include <stdbool.h>

#include "tokens/sk/sk-api.h"

/* False: it is not built in. */
bool sk_fido2_api(struct sk_api *out);

#endif
