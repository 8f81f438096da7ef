/* SPDX-License-Identifier: ISC */
/*
 * Forwards that passengers want on the connection. They are the connection's,
 * and outlive the passenger. While one waits for the server, its passenger's
 * next message waits too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "client/forwards/forwards.h"
#include "client/mux/mux-forward.h"
#include "client/mux/mux-master-internal.h"

enum { SIDE_MAX = 512 }; /* bytes of a question about one */

struct mux_pending {
	struct mux_pending *next;
	struct mux_master *m;
	struct passenger *p; /* NULL: it has gone meanwhile */
	uint32_t id;
};

static void
take_out(struct mux_pending *pending)
{
	struct mux_pending **at = &pending->m->pending;

	while (*at != pending)
		at = &(*at)->next;
	*at = pending->next;
	free(pending);
}

static void
answer(struct passenger *p, uint32_t id, const char *error,
    uint16_t allocated)
{
	struct buf b = { 0 };

	if (error != NULL) {
		passenger_refuse(p, MUX_FAILURE, id, error);
	} else if (allocated != 0) {
		mux_begin_request(&b, MUX_PORT, id);
		buf_put_u32(&b, allocated);
		passenger_send(p, &b);
		buf_clear(&b);
	} else {
		passenger_answer(p, MUX_OK, id);
	}
}

static void
on_done(void *arg, const char *error, uint16_t allocated)
{
	struct mux_pending *pending = arg;

	if (pending->p != NULL) {
		answer(pending->p, pending->id, error, allocated);
		mux_link_pause(pending->p->link, false);
	}
	take_out(pending);
}

static void
add(struct passenger *p, uint32_t id, const struct forward_spec *spec)
{
	struct mux_pending *pending = xcalloc(1, sizeof *pending);

	pending->m = p->m;
	pending->p = p;
	pending->id = id;
	pending->next = p->m->pending;
	p->m->pending = pending;
	mux_link_pause(p->link, true);
	forwards_add(p->m->p.forwards, spec, on_done, pending);
}

static void
on_add_allowed(struct passenger *p, bool allowed)
{
	struct forward_spec spec;

	if (mux_forward_to_spec(&spec, &p->forward_wanted) != 0)
		passenger_refuse(p, MUX_FAILURE, p->request,
		    "Invalid forwarding request");
	else if (!allowed)
		passenger_deny(p);
	else if (p->m->p.forwards == NULL)
		passenger_refuse(p, MUX_FAILURE, p->request,
		    "Port forwarding failed");
	else
		add(p, p->request, &spec);
	forward_spec_clear(&spec);
	mux_forward_clear(&p->forward_wanted);
}

/* Text of one side; path or host and port. */
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
passenger_wants_forward(struct passenger *p, uint32_t id, struct rd *r)
{
	static const char *const names[] = { "local", "remote", "dynamic" };
	struct mux_forward *f = &p->forward_wanted;
	char listen[SIDE_MAX], target[SIDE_MAX];
	int err;

	mux_forward_clear(f);
	if ((err = mux_read_forward(r, f)) != 0)
		return err;
	p->request = id;
	if (f->type < MUX_FORWARD_LOCAL || f->type > MUX_FORWARD_DYNAMIC) {
		on_add_allowed(p, false); /* it cannot be described */
		return 0;
	}
	describe(listen, sizeof listen, f->listen_host, f->listen_port);
	describe(target, sizeof target, f->target_host, f->target_port);
	passenger_ask(p, on_add_allowed, "Open %s forward %s -> %s on %s?",
	    names[f->type - 1], listen, target,
	    p->m->p.session.conf->host.hostname);
	return 0;
}

static void
cancel(struct passenger *p, uint32_t id, const struct mux_forward *f)
{
	struct forward_spec spec;

	if (mux_forward_to_spec(&spec, f) != 0)
		passenger_refuse(p, MUX_FAILURE, id,
		    "Invalid forwarding request");
	else if (p->m->p.forwards != NULL &&
	    forwards_cancel(p->m->p.forwards, &spec))
		passenger_answer(p, MUX_OK, id);
	else
		passenger_refuse(p, MUX_FAILURE, id,
		    f->type == MUX_FORWARD_REMOTE ?
			"port not in permitted opens" : "port not found");
	forward_spec_clear(&spec);
}

int
passenger_cancels_forward(struct passenger *p, uint32_t id, struct rd *r)
{
	struct mux_forward f;
	int err = mux_read_forward(r, &f);

	if (err == 0)
		cancel(p, id, &f);
	mux_forward_clear(&f);
	return err;
}

void
passenger_leave_forwards(const struct passenger *p)
{
	for (struct mux_pending *w = p->m->pending; w != NULL; w = w->next)
		if (w->p == p)
			w->p = NULL;
}

void
mux_master_drop_pending(struct mux_master *m)
{
	while (m->pending != NULL)
		take_out(m->pending);
}
