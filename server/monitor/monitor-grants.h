/* SPDX-License-Identifier: ISC */
/*
 * Grants, as seen by two monitors (grant.h). The monitor of the connection that
 * gives them keeps them beside its tickets, answers questions about them over
 * the same socket, and ends all connections by them when its own connection
 * ends. The monitor of a connection by a grant ends that connection when the
 * first monitor has gone, or when the grant has expired.
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
/* Ends all grants and the connections by them. mg may be NULL. */
void monitor_grants_free(struct monitor_grants *mg);

/* Answers another monitor's question about a grant. If the grant is good,
 * `scope` gets its scope, the milliseconds that are left, and the login's
 * ChrootDirectory (NULL: none), below which the path is. */
enum rendezvous_verdict monitor_grants_judge(struct monitor_grants *mg,
    const struct rendezvous_question *q, const char *chroot_directory,
    struct buf *scope);
/* Keeps the socket to the monitor that has asked, until that monitor ends. */
void monitor_grants_keep(struct monitor_grants *mg, int fd);

/* For the monitor of a connection by a grant: begins to watch, once the user's
 * process runs. */
void monitor_granted_begin(struct monitor *m, struct loop *loop);
/* True if the connection has to end because its grant has. */
bool monitor_granted_over(const struct monitor *m);
void monitor_granted_end(struct monitor *m);

#endif
