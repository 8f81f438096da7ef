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

/* The reason for which the program is run (token %I): which keys the host may
 * have, so that their types can be proposed; or whether a key is that of the
 * host, by its name or by its address. */
#define KNOWN_HOSTS_FOR_ORDER "ORDER"
#define KNOWN_HOSTS_FOR_HOSTNAME "HOSTNAME"
#define KNOWN_HOSTS_FOR_ADDRESS "ADDRESS"

/* Runs KnownHostsCommand, if there is one, and appends what it prints to out.
 * name: the host or its address, as the printed lines shall have it. k: the key
 * that the host shows, or NULL. Any error was logged, and means that the host
 * must not be trusted: the program might have revoked the key. */
int known_hosts_command(const struct client_conf *conf, const char *reason,
    const char *name, const struct key *k, struct buf *out) must_check;
/* As known_hosts_command(), with another limit for its time, in ms. */
int known_hosts_command_within(int limit_ms, const struct client_conf *conf,
    const char *reason, const char *name, const struct key *k,
    struct buf *out) must_check;

#endif
