/* SPDX-License-Identifier: ISC */
/*
 * Whose a process is. Becoming somebody for a while is seteuid() and setegid(),
 * which every system has.
 *
 * Threads: where there is one thread.
 */
#ifndef HPN_COMPAT_IDS_H
#define HPN_COMPAT_IDS_H

#include <sys/types.h>

#include <stdbool.h>

/* For ever: the real ids, the effective ones, and those that are saved. The
 * superuser becomes anybody, others only whom they are already or were started
 * by. 0, or -1 with errno: perhaps half done. */
int ids_become(uid_t uid, gid_t gid);
/* Are all three these? False, too, where nobody can tell. */
bool ids_are(uid_t uid, gid_t gid);

/* As getgrouplist(): -1 if there are more than *n, which is then their number
 * where the system tells that. */
int ids_group_list(const char *user, gid_t gid, gid_t *groups, int *n);

#endif
