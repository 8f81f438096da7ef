/* SPDX-License-Identifier: ISC */
/*
 * The name of this host, as the peer of a connection would find it.
 *
 * Threads: any; may wait for name servers.
 */
#ifndef HPN_BASE_LOCAL_NAME_H
#define HPN_BASE_LOCAL_NAME_H

#include <stdbool.h>

/* What the own address of the connection is called; where that has no name or
 * is none of this host's, or fd is something else, the system's name of the
 * host. Caller frees; NULL: there is no name. */
char *local_name(int fd);
/* Is sent this name with a dot at its end, as requests write it? */
bool local_name_is(const char *name, const char *sent);

#endif
