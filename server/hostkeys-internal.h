/* SPDX-License-Identifier: ISC */
/* What hostkeys.c and hostkeys-sign.c share. */
#ifndef HPN_SERVER_HOSTKEYS_INTERNAL_H
#define HPN_SERVER_HOSTKEYS_INTERNAL_H

#include "server/hostkeys.h"

/* The host key that serves alg: its plain key, or its certificate if alg is an
 * algorithm of certificates. NULL: there is none. */
const struct hostkey *hostkeys_find(const struct hostkeys *h, const char *alg);
/* Whether hk can sign by alg, a name for plain keys (not for certificates). */
bool hostkeys_serve_plain(const struct hostkey *hk, const char *alg);

#endif
