/* SPDX-License-Identifier: ISC */
/*
 * The public key in an X.509 certificate, as tokens hold them. Nothing else of
 * the certificate is looked at: whose key it is, is not for us to believe.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KEY_X509_H
#define HPN_KEYS_KEY_X509_H

#include "keys/key.h"

/* Makes a key of the public key in the certificate der. *subject is one line
 * with the name in the certificate, which the caller frees. ERR_KEY_TYPE: SSH
 * has no type for such a key. */
int key_from_x509(struct span der, struct key **out,
    char **subject) must_check;

#endif
