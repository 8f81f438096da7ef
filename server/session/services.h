/* SPDX-License-Identifier: ISC */
/*
 * What an authenticated client may ask of the connection: the kinds of
 * channels that it may open, and the global requests that are answered. Each
 * is one row of a table in services.c.
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

/* What a handler finds its own state by. All borrowed. */
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
};

/* A kind of channel that clients may open. */
struct service_channel {
	const char *type;
	/* By the configuration and the permits of this login; NULL: every
	 * login has it, or open() decides by what it is to. False: the client
	 * is told PROHIBITED. */
	bool (*allowed)(const struct serve_params *p);
	/* As channel_open_fn. */
	int (*open)(const struct service_owners *o, struct channel *c,
	    struct rd *data);
};

/* A global request that clients may make. */
struct service_request {
	const char *name;
	bool (*allowed)(const struct serve_params *p); /* false: FAILURE */
	/* As channels_global_fn. */
	int (*answer)(const struct service_owners *o, struct rd *data,
	    struct buf *reply);
};

/* With all rows of the tables; *o is copied. Outlives the channels. */
int services_new(struct services **out,
    const struct service_owners *o) must_check;
void services_free(struct services *s);

/* One more, whose row is borrowed. */
int services_add_channel(struct services *s,
    const struct service_channel *row) must_check;
int services_add_request(struct services *s,
    const struct service_request *row) must_check;

#endif
