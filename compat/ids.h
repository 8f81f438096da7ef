/* SPDX-License-Identifier: ISC */
/*
 * The user and group ids of a process. To become another user for a while,
 * seteuid() and setegid() are used, which every system has.
 *
 * Threads: where there is one thread.
 */
#ifndef HPN_COMPAT_IDS_H
#define HPN_COMPAT_IDS_H

#include <sys/types.h>

#include <stdbool.h>

/* Sets the real, effective and saved ids for ever. Only the superuser can
 * become any user; others only a user that they are, or that started them. 0,
 * or -1 with errno: the ids may be partly set then. */
int ids_become(uid_t uid, gid_t gid);
/* Are the real, effective and saved ids these? False if that cannot be found
 * out. */
bool ids_are(uid_t uid, gid_t gid);

/* As getgrouplist(): -1 if there are more than *n groups; *n is then their
 * number, on systems that tell it. */
int ids_group_list(const char *user, gid_t gid, gid_t *groups, int *n);

#endif
