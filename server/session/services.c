/* SPDX-License-Identifier: ISC */
#include "server/session/services.h"

#include <stdlib.h>
#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "compat/queue.h"
#include "server/session/forward-direct.h"
#include "server/session/forward-listen.h"
#include "server/session/forward-tunnel.h"
#include "server/session/hostprove.h"
#include "server/session/session-survive.h"
#include "server/session/session.h"
#include "server/session/tickets-reply.h"

/* ---- the tables --------------------------------------------------------- */

static int
answer_keepalive(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	(void)o;
	(void)data;
	(void)reply;
	return CHANNEL_SUCCESS;
}

/* TCP_INFO of our socket, for clients that use the option Metrics. */
static int
answer_metrics(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	struct tcp_numbers numbers;
	struct buf blob = { 0 };
	int err = rd_end(data);

	if (err != 0)
		return err;
	if (tcp_measure(packet_fd_in(o->packet), &numbers) != 0)
		return CHANNEL_FAILURE;
	tcp_numbers_put(&blob, &numbers);
	if ((err = buf_err(&blob)) == 0)
		buf_put_string_buf(reply, &blob);
	buf_clear(&blob);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

static const struct service_channel channel_rows[] = {
	{ "session", NULL, sessions_open },
	{ "direct-tcpip", NULL, forward_direct_tcp },
	{ "direct-streamlocal@openssh.com", NULL, forward_direct_path },
	{ "tun@openssh.com", NULL, forward_tunnel_open },
};

static const struct service_request request_rows[] = {
	{ "keepalive@openssh.com", NULL, answer_keepalive },
	{ "no-more-sessions@openssh.com", NULL, sessions_no_more },
	{ "hostkeys-prove-00@openssh.com", NULL, hostprove_answer },
	{ "stack-metrics@hpnssh.org", NULL, answer_metrics },
	{ "grant@hpnssh.org", grants_allowed, grants_answer },
	{ "grant-end@hpnssh.org", grants_allowed, grants_answer_end },
	{ "grant-receipt@hpnssh.org", grants_allowed, grants_answer_receipt },
	{ "tickets@hpnssh.org", tickets_allowed, tickets_answer },
	{ "survive@hpnssh.org", session_survive_allowed,
	    session_survive_answer },
	{ "tcpip-forward", NULL, forward_listen_tcp },
	{ "cancel-tcpip-forward", NULL, forward_cancel_tcp },
	{ "streamlocal-forward@openssh.com", NULL, forward_listen_path },
	{ "cancel-streamlocal-forward@openssh.com", NULL,
	    forward_cancel_path },
};

/* ---- registering them --------------------------------------------------- */

/* A row that is registered: either channel or request is set. */
struct offer {
	TAILQ_ENTRY(offer) entry;
	const struct services *services;
	const struct service_channel *channel;
	const struct service_request *request;
};

struct services {
	struct service_owners owners;
	TAILQ_HEAD(offer_list, offer) offers;
};

static struct offer *
add_offer(struct services *s)
{
	struct offer *o = xcalloc(1, sizeof *o);

	o->services = s;
	TAILQ_INSERT_HEAD(&s->offers, o, entry);
	return o;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	const struct offer *o = arg;
	const struct service_channel *row = o->channel;
	const struct service_owners *owners = &o->services->owners;

	log_debug("server_input_channel_open: ctype %s", row->type);
	(void)chs;
	if (row->allowed != NULL && !row->allowed(owners->params)) {
		log_info("a channel of type %s is not allowed for user %s",
		    row->type, owners->params->user->name);
		return channel_refuse(c, CHANNEL_OPEN_PROHIBITED, NULL);
	}
	return row->open(owners, c, data);
}

static int
on_request(void *arg, struct rd *data, struct buf *reply)
{
	const struct offer *o = arg;
	const struct service_request *row = o->request;
	const struct service_owners *owners = &o->services->owners;

	log_debug("server_input_global_request: rtype %s want_reply %d",
	    row->name, channels_reply_wanted(owners->channels));
	if (row->allowed != NULL && !row->allowed(owners->params)) {
		log_info("the request %s is not allowed for user %s",
		    row->name, owners->params->user->name);
		return CHANNEL_FAILURE;
	}
	return row->answer(owners, data, reply);
}

int
services_add_channel(struct services *s, const struct service_channel *row)
{
	struct offer *o = add_offer(s);

	o->channel = row;
	return channels_on_open(s->owners.channels, row->type, on_open, o);
}

int
services_add_request(struct services *s, const struct service_request *row)
{
	struct offer *o = add_offer(s);

	o->request = row;
	return channels_on_global(s->owners.channels, row->name, on_request,
	    o);
}

int
services_new(struct services **out, const struct service_owners *o)
{
	struct services *s = xcalloc(1, sizeof *s);
	int r = 0;

	TAILQ_INIT(&s->offers);
	s->owners = *o;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(channel_rows); i++)
		r = services_add_channel(s, &channel_rows[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(request_rows); i++)
		r = services_add_request(s, &request_rows[i]);
	if (r != 0) {
		services_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void
services_free(struct services *s)
{
	struct offer *o;

	if (s == NULL)
		return;
	while ((o = TAILQ_FIRST(&s->offers)) != NULL) {
		TAILQ_REMOVE(&s->offers, o, entry);
		free(o);
	}
	free(s);
}
