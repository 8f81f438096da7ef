/* SPDX-License-Identifier: ISC */
/*
 * A session that survives its connection (Survive, docs/PROTOCOL.md). The
 * monitor has the key by which a client proves that the session is its own. It
 * listens for the monitors of new connections over which a client has asked to
 * go on (rendezvous.h), and lets them hand their connection to the session's
 * process. It ends a session whose client stays away for too long.
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

/* Opens what the session needs to survive, if the configuration and
 * ticket-rules.h allow that. Called before PAM opens its session, because a
 * module may hide the directory. */
void monitor_survive_prepare(struct monitor *m);
/* Takes the loop, once it is about to run. */
void monitor_survive_begin(struct monitor *m, struct loop *loop);
/* The handler of MONITOR_SURVIVE. */
int monitor_on_survive(struct monitor *m, struct rd *in, struct buf *out);
/* Ends the survival: nobody can come back to the session any more. */
void monitor_survive_end(struct monitor *m);

/* For the monitor of the new connection: hands the connection over to the
 * session that the login has proven to be its client's. Returns the exit status
 * of this process. */
int monitor_attach(struct monitor *m);

#endif
