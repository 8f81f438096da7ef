/* SPDX-License-Identifier: ISC */
/*
 * Forwards that passengers want on the connection. They are the connection's,
 * and outlive the passenger. While one waits for the server, its passenger's
 * next message waits too.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "client/forwards.h"
#include "client/mux-forward.h"
#include "client/mux-master-internal.h"

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
start(struct passenger *p, uint32_t id, const struct mux_forward *f,
    bool cancel)
{
	struct forward_spec spec;

	if (mux_forward_to_spec(&spec, f) != 0)
		passenger_refuse(p, MUX_FAILURE, id,
		    "Invalid forwarding request");
	else if (p->m->p.forwards == NULL)
		passenger_refuse(p, MUX_FAILURE, id, "Port forwarding failed");
	else if (!cancel)
		add(p, id, &spec);
	else if (forwards_cancel(p->m->p.forwards, &spec))
		passenger_answer(p, MUX_OK, id);
	else
		passenger_refuse(p, MUX_FAILURE, id,
		    spec.kind == FORWARD_REMOTE ?
			"port not in permitted opens" : "port not found");
	forward_spec_clear(&spec);
}

static int
request(struct passenger *p, uint32_t id, struct rd *r, bool cancel)
{
	struct mux_forward f;
	int err = mux_read_forward(r, &f);

	if (err == 0)
		start(p, id, &f, cancel);
	mux_forward_clear(&f);
	return err;
}

int
passenger_wants_forward(struct passenger *p, uint32_t id, struct rd *r)
{
	return request(p, id, r, false);
}

int
passenger_cancels_forward(struct passenger *p, uint32_t id, struct rd *r)
{
	return request(p, id, r, true);
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
