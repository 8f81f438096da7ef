/* SPDX-License-Identifier: ISC */
#include "server/session/forward-direct.h"

#include <stdlib.h>

#include "base/log.h"
#include "forward/forwarded.h"
#include "server/session/forward-fields.h"

static const char refused[] = "open failed";

/* The fields of the client's request. The originator is for the log only. A
 * text that is too long or has a NUL is NULL. */
struct direct_request {
	char *target; /* host or path */
	uint32_t port;
	char *originator;
	uint32_t originator_port;
};

static int
read_request(struct direct_request *q, struct rd *r, bool path)
{
	*q = (struct direct_request){ 0 };
	q->target = forward_read_text(r,
	    path ? FORWARD_PATH_MAX : FORWARD_HOST_MAX);
	if (!path)
		q->port = rd_u32(r);
	q->originator = forward_read_text(r, FORWARD_HOST_MAX);
	q->originator_port = rd_u32(r);
	return rd_end(r);
}

static void
clear_request(struct direct_request *q)
{
	free(q->target);
	free(q->originator);
}

static bool
is_sound(const struct direct_request *q)
{
	return q->target != NULL && q->originator != NULL &&
	    q->originator_port <= UINT16_MAX;
}

/* Whether the connection may be made. Logs why not. The client gets the same
 * answer whatever the reason, so that it does not learn which hosts are
 * permitted. */
static bool
may_open_tcp(const struct service_owners *o, const struct direct_request *q)
{
	const struct permits *p = o->params->permits;

	if (!is_sound(q) || q->port == 0 || q->port > UINT16_MAX)
		return false;
	if ((p->forward & PERMITS_OPEN_TCP) == 0) {
		log_info("refused local port forward: originator %s port %u, "
			 "target %s port %u",
		    q->originator, q->originator_port, q->target, q->port);
		return false;
	}
	if (permits_may_open(p, q->target, (uint16_t)q->port))
		return true;
	log_info("Received request from %s port %u to connect to host %s port "
		 "%u, but the request was denied.",
	    o->params->peer->address, o->params->peer->port, q->target,
	    q->port);
	return false;
}

int
forward_direct_tcp(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	struct direct_request q;
	int r = read_request(&q, data, false);

	if (r == 0 && !may_open_tcp(o, &q)) {
		r = channel_refuse(c, CHANNEL_OPEN_PROHIBITED, refused);
	} else if (r == 0) {
		const struct forwarded_target t = { .host = q.target,
			.port = (uint16_t)q.port };

		r = forwarded_connect(o->forwarded, &forwarded_direct_tcp, c,
		    &t);
	}
	clear_request(&q);
	return r;
}

static bool
may_open_path(const struct service_owners *o, const struct direct_request *q)
{
	const struct permits *p = o->params->permits;

	if (!is_sound(q))
		return false;
	if ((p->forward & PERMITS_OPEN_PATH) == 0) {
		log_info("refused streamlocal port forward: originator %s "
			 "port %u, target %s",
		    q->originator, q->originator_port, q->target);
		return false;
	}
	if (permits_may_open_path(p))
		return true;
	log_info("Received request to connect to path %s, but the request was "
		 "denied.",
	    q->target);
	return false;
}

int
forward_direct_path(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	struct direct_request q;
	int r = read_request(&q, data, true);

	if (r == 0 && !may_open_path(o, &q)) {
		r = channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, refused);
	} else if (r == 0) {
		const struct forwarded_target t = { .path = q.target };

		r = forwarded_connect(o->forwarded, &forwarded_direct_path, c,
		    &t);
	}
	clear_request(&q);
	return r;
}
