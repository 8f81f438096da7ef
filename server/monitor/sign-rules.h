/* SPDX-License-Identifier: ISC */
/*
 * What the monitor signs with the host's keys, and no more: neither
 * hpnsshd-auth nor the user's process has a say in it. An exchange hash has
 * the length that a configured exchange gives it, and the algorithm is one
 * that a client could have agreed on.
 *
 * Threads: any; pure.
 */
#ifndef HPN_SERVER_MONITOR_SIGN_RULES_H
#define HPN_SERVER_MONITOR_SIGN_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/server-conf.h"
#include "server/hostkeys.h"

/* The algorithm may sign an exchange hash: HostKeyAlgorithms has it, and there
 * is a key for it. */
bool sign_rules_alg(const struct server_conf *conf,
    const struct hostkeys *keys, const char *alg);
/* methods: a comma list, as KexAlgorithms has it. */
bool sign_rules_hash_len(const char *methods, size_t len);
/* The algorithm may sign a proof with an RSA key: it is one that
 * HostKeyAlgorithms has, or one with SHA-2, since a proof is not limited to
 * what was agreed on. */
bool sign_rules_rsa_proof(const struct server_conf *conf, const char *alg);

#endif
