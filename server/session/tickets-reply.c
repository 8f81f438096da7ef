/* SPDX-License-Identifier: ISC */
#include "server/session/tickets-reply.h"

#include <string.h>

#include "server/session/session-calls.h"

enum { VERSION = 1 };

bool
tickets_allowed(const struct serve_params *p)
{
	return p->conf->login.login_tickets.enabled != 0;
}

static bool
is_encrypted(const struct packet *p)
{
	return strcmp(packet_cipher_name(p, PACKET_TX), "none") != 0 &&
	    strcmp(packet_cipher_name(p, PACKET_RX), "none") != 0;
}

int
tickets_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	uint8_t version = rd_u8(data);
	uint32_t beside = rd_u32(data);
	bool any = false;
	int r;

	(void)rd_u32(data); /* tickets in place of this one: not yet */
	if ((r = rd_end(data)) != 0)
		return version != VERSION ? CHANNEL_FAILURE : r;
	if (version != VERSION || !is_encrypted(o->packet))
		return CHANNEL_FAILURE;
	r = monitor_tickets(o->params->monitor_fd, beside, reply, &any);
	if (r != 0)
		return r;
	return any ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}
