/* SPDX-License-Identifier: ISC */
/* What hostkeys.c and hostkeys-sign.c share. */
#ifndef HPN_SERVER_HOSTKEYS_INTERNAL_H
#define HPN_SERVER_HOSTKEYS_INTERNAL_H

#include "server/hostkeys.h"

/* The key, or the certificate, that serves alg; NULL: none. */
const struct hostkey *hostkeys_find(const struct hostkeys *h, const char *alg);
/* Is alg one of the plain key's? */
bool hostkeys_serve_plain(const struct hostkey *hk, const char *alg);

#endif
