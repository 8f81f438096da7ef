/* SPDX-License-Identifier: ISC */
/*
 * Tells the user when a server and this program could only agree on weak
 * algorithms (WarnWeakCrypto).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CONNECT_WEAK_CRYPTO_H
#define HPN_CLIENT_CONNECT_WEAK_CRYPTO_H

#include "conf/client-conf.h"
#include "kex.h"

/* The user is warned of what was agreed on in the first key exchange of a
 * connection. */
void weak_crypto_warn(const struct client_conf *conf,
    const struct kex_result *k);

#endif
