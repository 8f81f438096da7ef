/* SPDX-License-Identifier: ISC */
/*
 * A session that survives its connection (Survive, docs/PROTOCOL.md): the
 * monitor has the key by which the client proves that the session is its own,
 * listens for the monitors of connections over which that is said
 * (rendezvous.h), and lets these go to the session's process. It ends a session
 * whose client stays away for too long.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_SURVIVE_H
#define HPN_SERVER_MONITOR_MONITOR_SURVIVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

struct loop;
struct monitor;
struct monitor_survive;

/* Prepares for what the user's process may ask for, if the configuration and
 * ticket-rules.h allow it; before the session of PAM, whose modules may hide
 * the directory. */
void monitor_survive_prepare(struct monitor *m);
/* The loop will serve from now on. */
void monitor_survive_begin(struct monitor *m, struct loop *loop);
/* The handler of MONITOR_SURVIVE. */
int monitor_on_survive(struct monitor *m, struct rd *in, struct buf *out);
/* The session ends, and nobody comes back to it any more. */
void monitor_survive_end(struct monitor *m);

/* The other side: hands this connection over to the session that its login has
 * shown to be its own. Returns the exit status of this process. */
int monitor_attach(struct monitor *m);

#endif
