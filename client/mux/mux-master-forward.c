/* SPDX-License-Identifier: ISC */
/*
 * Forwards that mux clients want on the connection. A forward belongs to the
 * connection, and outlives the client that asked for it. While the server has
 * not answered about a forward, the next message of that client is not read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "client/forwards/forwards.h"
#include "client/mux/mux-forward.h"
#include "client/mux/mux-master-internal.h"

enum { SIDE_MAX = 512 }; /* bytes of one side of a forward, in a question */

struct mux_pending {
	TAILQ_ENTRY(mux_pending) entry;
	struct mux_master *m;
	struct mux_client *client; /* NULL: the client has gone meanwhile */
	uint32_t id;
};

static void
take_out(struct mux_pending *pending)
{
	TAILQ_REMOVE(&pending->m->pending, pending, entry);
	free(pending);
}

static void
answer(struct mux_client *c, uint32_t id, const char *error,
    uint16_t allocated)
{
	struct buf b = { 0 };

	if (error != NULL) {
		mux_client_refuse(c, MUX_FAILURE, id, error);
	} else if (allocated != 0) {
		mux_begin_request(&b, MUX_PORT, id);
		buf_put_u32(&b, allocated);
		mux_client_send(c, &b);
		buf_clear(&b);
	} else {
		mux_client_answer(c, MUX_OK, id);
	}
}

static void
on_done(void *arg, const char *error, uint16_t allocated)
{
	struct mux_pending *pending = arg;

	if (pending->client != NULL) {
		answer(pending->client, pending->id, error, allocated);
		mux_transport_pause(pending->client->transport, false);
	}
	take_out(pending);
}

static void
add(struct mux_client *c, uint32_t id, const struct forward_spec *spec)
{
	struct mux_pending *pending = xcalloc(1, sizeof *pending);

	pending->m = c->m;
	pending->client = c;
	pending->id = id;
	TAILQ_INSERT_HEAD(&c->m->pending, pending, entry);
	mux_transport_pause(c->transport, true);
	forwards_add(c->m->p.forwards, spec, on_done, pending);
}

static void
on_add_allowed(struct mux_client *c, bool allowed)
{
	struct forward_spec spec;

	if (mux_forward_to_spec(&spec, &c->forward_wanted) != 0)
		mux_client_refuse(c, MUX_FAILURE, c->request,
		    "Invalid forwarding request");
	else if (!allowed)
		mux_client_deny(c);
	else if (c->m->p.forwards == NULL)
		mux_client_refuse(c, MUX_FAILURE, c->request,
		    "Port forwarding failed");
	else
		add(c, c->request, &spec);
	forward_spec_clear(&spec);
	mux_forward_clear(&c->forward_wanted);
}

/* One side of a forward as text: a path, or host and port. */
static void
describe(char *out, size_t size, const char *host, uint32_t port)
{
	if (port == MUX_PORT_PATH)
		snprintf(out, size, "%s", host);
	else
		snprintf(out, size, "%s:%u", *host != '\0' ? host : "LOCALHOST",
		    port);
}

int
mux_client_wants_forward(struct mux_client *c, uint32_t id, struct rd *r)
{
	static const char *const names[] = { "local", "remote", "dynamic" };
	struct mux_forward *f = &c->forward_wanted;
	char listen[SIDE_MAX], target[SIDE_MAX];
	int err;

	mux_forward_clear(f);
	if ((err = mux_read_forward(r, f)) != 0)
		return err;
	c->request = id;
	if (f->type < MUX_FORWARD_LOCAL || f->type > MUX_FORWARD_DYNAMIC) {
		/* An unknown type cannot be shown to the user. */
		on_add_allowed(c, false);
		return 0;
	}
	describe(listen, sizeof listen, f->listen_host, f->listen_port);
	describe(target, sizeof target, f->target_host, f->target_port);
	mux_client_ask(c, on_add_allowed, "Open %s forward %s -> %s on %s?",
	    names[f->type - 1], listen, target,
	    c->m->p.session.conf->host.hostname);
	return 0;
}

static void
cancel(struct mux_client *c, uint32_t id, const struct mux_forward *f)
{
	struct forward_spec spec;

	if (mux_forward_to_spec(&spec, f) != 0)
		mux_client_refuse(c, MUX_FAILURE, id,
		    "Invalid forwarding request");
	else if (c->m->p.forwards != NULL &&
	    forwards_cancel(c->m->p.forwards, &spec))
		mux_client_answer(c, MUX_OK, id);
	else
		mux_client_refuse(c, MUX_FAILURE, id,
		    f->type == MUX_FORWARD_REMOTE ?
			"port not in permitted opens" : "port not found");
	forward_spec_clear(&spec);
}

int
mux_client_cancels_forward(struct mux_client *c, uint32_t id, struct rd *r)
{
	struct mux_forward f;
	int err = mux_read_forward(r, &f);

	if (err == 0)
		cancel(c, id, &f);
	mux_forward_clear(&f);
	return err;
}

void
mux_client_leave_forwards(const struct mux_client *c)
{
	struct mux_pending *pending;

	TAILQ_FOREACH(pending, &c->m->pending, entry)
		if (pending->client == c)
			pending->client = NULL;
}

void
mux_master_drop_pending(struct mux_master *m)
{
	while (!TAILQ_EMPTY(&m->pending))
		take_out(TAILQ_FIRST(&m->pending));
}
