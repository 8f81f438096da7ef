/* SPDX-License-Identifier: ISC */
/*
 * The services of a connection after authentication: the types of channels that
 * clients may open, and the global requests that are answered. Each is one row
 * of a table in services.c.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SERVICES_H
#define HPN_SERVER_SESSION_SERVICES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "channels.h"
#include "kex.h"
#include "packet.h"
#include "server/session/serve.h"

struct services;

/* The state of all handlers: each takes what belongs to it. All is borrowed. */
struct service_owners {
	const struct serve_params *params;
	struct channels *channels;
	struct packet *packet;
	struct sessions *sessions;
	struct hostprove *hostprove;
	struct forwarded_list *forwarded;
	struct forward_listens *listens;
	struct forward_tunnels *tunnels;
	struct kex *kex;
	struct connection *connection;
	struct session_survive *survive;
};

/* A type of channel that clients may open. */
struct service_channel {
	const char *type;
	/* Whether the configuration and the permits of this login allow the
	 * type. If not, the client gets OPEN_FAILURE with
	 * ADMINISTRATIVELY_PROHIBITED. NULL: every login may open it, or open()
	 * decides. */
	bool (*allowed)(const struct serve_params *p);
	/* Opens the channel; returns as channel_open_fn does. */
	int (*open)(const struct service_owners *o, struct channel *c,
	    struct rd *data);
};

/* A global request that clients may make. */
struct service_request {
	const char *name;
	bool (*allowed)(const struct serve_params *p); /* false: the client gets
							* FAILURE */
	/* Answers the request; returns as channels_global_fn does. */
	int (*answer)(const struct service_owners *o, struct rd *data,
	    struct buf *reply);
};

/* Registers all rows of the tables with the channels. *o is copied. *out must
 * be freed after the channels. */
int services_new(struct services **out,
    const struct service_owners *o) must_check;
void services_free(struct services *s);

/* Registers one more row, which is borrowed. */
int services_add_channel(struct services *s,
    const struct service_channel *row) must_check;
int services_add_request(struct services *s,
    const struct service_request *row) must_check;

#endif
