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

/* Warns the user of weak algorithms in k, the result of a connection's first
 * key exchange. */
void weak_crypto_warn(const struct client_conf *conf,
    const struct kex_result *k);

#endif
