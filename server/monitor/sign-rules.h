/* SPDX-License-Identifier: ISC */
/*
 * What the monitor may sign with the host's keys. hpnsshd-auth and the user's
 * process cannot have anything else signed: an exchange hash must have the
 * length of a hash of a configured key exchange method, and the algorithm must
 * be one that a client could have agreed on.
 *
 * Threads: any; pure.
 */
#ifndef HPN_SERVER_MONITOR_SIGN_RULES_H
#define HPN_SERVER_MONITOR_SIGN_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/server-conf.h"
#include "server/hostkeys.h"

/* Whether the algorithm may sign an exchange hash: HostKeyAlgorithms lists it,
 * and a host key serves it. */
bool sign_rules_alg(const struct server_conf *conf,
    const struct hostkeys *keys, const char *alg);
/* Whether some method of the comma list `methods` has hashes of len bytes. */
bool sign_rules_hash_len(const char *methods, size_t len);
/* Whether the algorithm may sign a proof with an RSA key: HostKeyAlgorithms
 * lists it, or it uses SHA-2, since a proof need not use the algorithm that was
 * agreed on. */
bool sign_rules_rsa_proof(const struct server_conf *conf, const char *alg);

#endif
