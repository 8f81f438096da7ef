/* SPDX-License-Identifier: ISC */
#include "server/session/tickets-reply.h"

#include "server/session/none-allowed.h"
#include "server/session/session-calls.h"

enum { VERSION = 1 };

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
