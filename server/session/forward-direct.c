/* SPDX-License-Identifier: ISC */
#include "server/session/forward-direct.h"

#include <stdlib.h>

#include "base/log.h"
#include "forward/forwarded.h"
#include "server/session/forward-fields.h"

static const char refused[] = "open failed";

/* What the client asks for; the originator is for the log only. A text is
 * NULL where it cannot be one. */
struct wish {
	char *target; /* host or path */
	uint32_t port;
	char *originator;
	uint32_t originator_port;
};

static int
read_wish(struct wish *w, struct rd *r, bool path)
{
	*w = (struct wish){ 0 };
	w->target = forward_read_text(r,
	    path ? FORWARD_PATH_MAX : FORWARD_HOST_MAX);
	if (!path)
		w->port = rd_u32(r);
	w->originator = forward_read_text(r, FORWARD_HOST_MAX);
	w->originator_port = rd_u32(r);
	return rd_end(r);
}

static void
clear_wish(struct wish *w)
{
	free(w->target);
	free(w->originator);
}

static bool
is_sound(const struct wish *w)
{
	return w->target != NULL && w->originator != NULL &&
	    w->originator_port <= UINT16_MAX;
}

/* True, or says why not. A host that is not permitted is none of the client's
 * business, so that all answers are the same. */
static bool
may_open_tcp(const struct service_owners *o, const struct wish *w)
{
	const struct permits *p = o->params->permits;

	if (!is_sound(w) || w->port == 0 || w->port > UINT16_MAX)
		return false;
	if ((p->forward & PERMITS_OPEN_TCP) == 0) {
		log_info("refused local port forward: originator %s port %u, "
			 "target %s port %u",
		    w->originator, w->originator_port, w->target, w->port);
		return false;
	}
	if (permits_may_open(p, w->target, (uint16_t)w->port))
		return true;
	log_info("Received request from %s port %u to connect to host %s port "
		 "%u, but the request was denied.",
	    o->params->peer->address, o->params->peer->port, w->target,
	    w->port);
	return false;
}

int
forward_direct_tcp(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	struct wish w;
	int r = read_wish(&w, data, false);

	if (r == 0 && !may_open_tcp(o, &w)) {
		r = channel_refuse(c, CHANNEL_OPEN_PROHIBITED, refused);
	} else if (r == 0) {
		const struct forwarded_target t = { .host = w.target,
			.port = (uint16_t)w.port };

		r = forwarded_connect(o->forwarded, &forwarded_direct_tcp, c,
		    &t);
	}
	clear_wish(&w);
	return r;
}

static bool
may_open_path(const struct service_owners *o, const struct wish *w)
{
	const struct permits *p = o->params->permits;

	if (!is_sound(w))
		return false;
	if ((p->forward & PERMITS_OPEN_PATH) == 0) {
		log_info("refused streamlocal port forward: originator %s "
			 "port %u, target %s",
		    w->originator, w->originator_port, w->target);
		return false;
	}
	if (permits_may_open_path(p))
		return true;
	log_info("Received request to connect to path %s, but the request was "
		 "denied.",
	    w->target);
	return false;
}

int
forward_direct_path(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	struct wish w;
	int r = read_wish(&w, data, true);

	if (r == 0 && !may_open_path(o, &w)) {
		r = channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, refused);
	} else if (r == 0) {
		const struct forwarded_target t = { .path = w.target };

		r = forwarded_connect(o->forwarded, &forwarded_direct_path, c,
		    &t);
	}
	clear_wish(&w);
	return r;
}
