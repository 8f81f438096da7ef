/* SPDX-License-Identifier: ISC */
/*
 * The name of this host, as the peer of a connection would find it.
 *
 * Threads: any; may wait for name servers.
 */
#ifndef HPN_BASE_LOCAL_NAME_H
#define HPN_BASE_LOCAL_NAME_H

#include <stdbool.h>

/* The name of our address of the connection fd. Where that address has no name,
 * or not one of this host, or fd is no connection, it is the system's name of
 * the host. Caller frees; NULL: there is no name. */
char *local_name(int fd);
/* Is sent, the host that a request names, name with a dot at its end? */
bool local_name_is(const char *name, const char *sent);

#endif
