/* SPDX-License-Identifier: ISC */
/*
 * KnownHostsCommand: a program of the user's choice that prints lines as
 * known_hosts has them. It runs as the user, with the user's environment,
 * without a shell and without input. It may take half a minute and print a
 * mebibyte; while it runs, nothing else does.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_HOSTS_KNOWN_HOSTS_COMMAND_H
#define HPN_CLIENT_HOSTS_KNOWN_HOSTS_COMMAND_H

#include "conf/client-conf.h"
#include "keys/key.h"

/* What it is asked for: which keys there may be, in order to propose their
 * types, or whether a key is that of the host. */
#define KNOWN_HOSTS_FOR_ORDER "ORDER"
#define KNOWN_HOSTS_FOR_HOSTNAME "HOSTNAME"
#define KNOWN_HOSTS_FOR_ADDRESS "ADDRESS"

/* Appends what it prints. name is that of the host as the lines shall have it;
 * k is the key that the host shows, or NULL. Without the keyword nothing is
 * done. Any error was logged, and means that the host must not be trusted: the
 * program might have revoked the key. */
int known_hosts_command(const struct client_conf *conf, const char *reason,
    const char *name, const struct key *k, struct buf *out) must_check;
/* The same within so many ms. */
int known_hosts_command_within(int limit_ms, const struct client_conf *conf,
    const char *reason, const char *name, const struct key *k,
    struct buf *out) must_check;

#endif
