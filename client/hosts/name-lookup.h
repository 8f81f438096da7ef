/* SPDX-License-Identifier: ISC */
/*
 * What the system's resolver knows of a host's name, for its canonical name
 * and, later, the connection.
 *
 * Threads: loop thread only; it waits for the resolver.
 */
#ifndef HPN_CLIENT_HOSTS_NAME_LOOKUP_H
#define HPN_CLIENT_HOSTS_NAME_LOOKUP_H

#include "conf/client-conf.h"

/* A client_conf_resolve_fn. */
int name_look_up(const char *name, int family, bool expected,
    struct addrinfo **list, char **alias) must_check;

#endif
