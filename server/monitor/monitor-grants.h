/* SPDX-License-Identifier: ISC */
/*
 * Grants at both ends (grant.h): the monitor of the connection that gives them
 * keeps them beside its tickets, answers for them over the same socket, and
 * ends all connections by them when its own ends. The monitor of a connection
 * by a grant ends that when the other one has gone, or when its time is over.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_GRANTS_H
#define HPN_SERVER_MONITOR_MONITOR_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "server/monitor/rendezvous-wire.h"

struct loop;
struct monitor;
struct monitor_grants;

struct monitor_grants *monitor_grants_new(struct loop *loop);
/* Ends all grants, and all connections by them. NULL: nothing. */
void monitor_grants_free(struct monitor_grants *mg);

/* Judges a question for a grant. If it is good, its scope, the milliseconds
 * that are left and the login's ChrootDirectory (NULL: none), which its path
 * is below, are appended to `scope`. */
enum rendezvous_verdict monitor_grants_judge(struct monitor_grants *mg,
    const struct rendezvous_question *q, const char *chroot_directory,
    struct buf *scope);
/* Keeps the socket of the monitor that has asked, while that one lives. */
void monitor_grants_keep(struct monitor_grants *mg, int fd);

/* In the monitor of a connection by a grant: the user's process runs now. */
void monitor_granted_begin(struct monitor *m, struct loop *loop);
/* Is the connection over, because what it stands on is? */
bool monitor_granted_over(const struct monitor *m);
void monitor_granted_end(struct monitor *m);

#endif
