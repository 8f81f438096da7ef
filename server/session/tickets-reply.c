/* SPDX-License-Identifier: ISC */
#include "server/session/tickets-reply.h"

#include "connection.h"
#include "server/session/none-allowed.h"
#include "server/session/session-calls.h"

enum {
	VERSION = 1,
	/* A client that has given a grant is asked at this interval whether it
	 * is there. It counts as gone after so many questions without an
	 * answer. */
	GIVER_ALIVE_S = 15,
	GIVER_ALIVE_MAX = 3,
};

bool
tickets_allowed(const struct serve_params *p)
{
	return p->conf->login.login_tickets.enabled != 0;
}

int
tickets_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	uint8_t version = rd_u8(data);
	uint32_t beside = rd_u32(data), instead = rd_u32(data);
	bool any = false;
	int r;

	if ((r = rd_end(data)) != 0)
		return version != VERSION ? CHANNEL_FAILURE : r;
	/* A ticket is answered at once, and has to be encrypted: so the cipher
	 * none is excluded from now on. */
	if (version != VERSION || !none_exclude(o->kex, o->packet, "a ticket"))
		return CHANNEL_FAILURE;
	r = monitor_tickets(o->params->monitor_fd, beside, instead, reply,
	    &any);
	if (r != 0)
		return r;
	return any ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

bool
grants_allowed(const struct serve_params *p)
{
	return p->conf->login.transfer_grants != 0 && p->grant == NULL;
}

/* A grant ends with the login that gave it. A machine that has lost its network
 * or its power says nothing of its end, so it is asked, also where
 * ClientAliveInterval is off or would take longer. */
static void
watch_giver(const struct service_owners *o)
{
	const struct server_conf *conf = o->params->conf;
	int s = conf->session.client_alive_interval;
	int max = conf->session.client_alive_count_max;

	if (s <= 0 || max <= 0 || max > GIVER_ALIVE_S * GIVER_ALIVE_MAX / s)
		connection_set_alive(o->connection, GIVER_ALIVE_S,
		    GIVER_ALIVE_MAX);
}

int
grants_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	bool given = false;
	int r;

	if (rd_u8(data) != VERSION ||
	    !none_exclude(o->kex, o->packet, "a grant"))
		return CHANNEL_FAILURE;
	r = monitor_grant(o->params->monitor_fd,
	    (struct span){ data->p, data->len }, reply, &given);
	if (r != 0)
		return r;
	if (given)
		watch_giver(o);
	return given ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

int
grants_answer_end(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	bool over = false;
	uint8_t version = rd_u8(data);
	struct span name = rd_string(data);
	int r = rd_end(data);

	(void)reply;
	if (r != 0 || version != VERSION)
		return version != VERSION ? CHANNEL_FAILURE : r;
	r = monitor_grant_end(o->params->monitor_fd, name, &over);
	if (r != 0)
		return r;
	return over ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

int
grants_answer_receipt(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	(void)reply;
	if (rd_u8(data) != VERSION)
		return CHANNEL_FAILURE;
	monitor_receipt(o->params->monitor_fd,
	    (struct span){ data->p, data->len });
	return CHANNEL_SUCCESS;
}
