/* SPDX-License-Identifier: ISC */
/*
 * The session process's part of a session that survives its connection. It asks
 * the monitor for permission, waits when the connection is lost, and goes on
 * over the connection that the monitor hands over (server/survive-talk.h).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_SURVIVE_H
#define HPN_SERVER_SESSION_SESSION_SURVIVE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "connection.h"
#include "server/session/serve.h"

struct service_owners;
struct session_survive;

/* What the object needs. All is borrowed, and outlives the object. */
struct session_survive_params {
	const struct serve_params *serve;
	struct loop *loop;
	struct packet *packet;
	struct connection *connection;
	void *arg;
	/* Makes the object for key exchanges of a further connection. */
	int (*new_kex)(void *arg, struct packet *p, struct kex **out);
	/* Is called when the connection is lost (waits true), and when the
	 * session has another one. */
	void (*waits)(void *arg, bool waits);
};

struct session_survive *session_survive_new(
    const struct session_survive_params *params);
void session_survive_free(struct session_survive *s);

/* The row of services.c. */
bool session_survive_allowed(const struct serve_params *p);
int session_survive_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

/* The hook `lost` of struct connection_hooks: true if the session waits for
 * another connection. */
bool session_survive_lost(struct session_survive *s, int err);

#endif
