/* SPDX-License-Identifier: ISC */
/*
 * The name of this host, as the peer of a connection would find it.
 *
 * Threads: any; may wait for name servers.
 */
#ifndef HPN_BASE_LOCAL_NAME_H
#define HPN_BASE_LOCAL_NAME_H

#include <stdbool.h>

/* The name of this host's address on the connection fd. It is the name that the
 * system has for the host if that address has no name, or one of another host,
 * or if fd is no connection. The caller frees it; NULL: there is no name. */
char *local_name(int fd);
/* Is sent, the host name in a request, the name `name` with a dot at its
 * end? */
bool local_name_is(const char *name, const char *sent);

#endif
