/* SPDX-License-Identifier: ISC */
/*
 * Looks up a host's name with the system's resolver: for its canonical name
 * and, later, for the connection.
 *
 * Threads: loop thread only; waits for the resolver.
 */
#ifndef HPN_CLIENT_HOSTS_NAME_LOOKUP_H
#define HPN_CLIENT_HOSTS_NAME_LOOKUP_H

#include "conf/client-conf.h"

/* Looks up a name, as client_conf_resolve_fn (conf/client-conf.h) describes.
 * ERR_NOT_FOUND, which was logged, for all failures. */
int name_look_up(const char *name, int family, bool expected,
    struct addrinfo **list, char **alias) must_check;

#endif
