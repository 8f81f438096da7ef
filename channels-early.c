/* SPDX-License-Identifier: ISC */
/*
 * Early messages (docs/ROUND-TRIPS.md): the side that opens a channel sends
 * them before it has learnt the other side's number for the channel. They are
 * addressed by the opener's own number, with the highest bit set. The owner of
 * a raw channel (channels-raw.h) is given the early messages for it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "compat/bsd-mem.h"

#define EARLY_BIT (UINT32_C(1) << 31)

_Static_assert(CHANNEL_EARLY_MAX <= RECV_WINDOW_LEAST_OF_MANY,
    "what is kept for a channel fits into the narrowest window");

/* ---- what we send ------------------------------------------------------- */

void
channels_send_early(struct channels *chs, bool send)
{
	chs->early.sent = send;
}

void
channel_expect_early(struct channel *c)
{
	if (c->chs->early.sent)
		c->peer_id = c->id | EARLY_BIT;
}

bool
channel_is_early(const struct channel *c)
{
	return c->state == CHANNEL_OPENING && (c->peer_id & EARLY_BIT) != 0;
}

size_t
channel_early_room(const struct channel *c)
{
	return channel_is_early(c) ? CHANNEL_EARLY_MAX - c->early : 0;
}

int
channel_send_early(struct channel *c, const void *p, size_t len)
{
	struct buf b;
	int r;

	ENSURE(c->optimistic || len <= channel_early_room(c));
	channel_msg(c, &b, SSH_MSG_CHANNEL_DATA);
	buf_put_string(&b, p, len);
	if ((r = channels_send(c->chs, &b)) == 0)
		c->early += (uint32_t)len;
	return r;
}

/* ---- what we take ------------------------------------------------------- */

void
channels_take_early(struct channels *chs)
{
	chs->early.taken = true;
}

int
channel_note_early(struct channel *c)
{
	struct channels_early *e = &c->chs->early;
	struct channel **v;
	size_t n;

	if (!e->taken || c->peer_id >= CHANNELS_MAX)
		return 0;
	if (c->peer_id >= e->n) {
		for (n = MAX(e->n, (size_t)8); n <= c->peer_id;)
			n *= 2;
		v = recallocarray(e->by_peer, e->n, n, sizeof *v);
		if (v == NULL)
			return ERR_NOMEM;
		e->by_peer = v;
		e->n = n;
	}
	e->by_peer[c->peer_id] = c;
	return 0;
}

/* c is taken out of the table by_peer. As soon as c is closed the peer may use
 * the same number for another channel, while c lives on here until its sink
 * has all data. */
void
channel_forget_early(struct channel *c)
{
	struct channels_early *e = &c->chs->early;

	if (c->peer_id < e->n && e->by_peer[c->peer_id] == c)
		e->by_peer[c->peer_id] = NULL;
}

void
channels_clear_early(struct channels *chs)
{
	free(chs->early.by_peer);
}

bool
channels_is_early(const struct channels *chs, uint32_t id)
{
	return (id & EARLY_BIT) != 0 && (id & ~EARLY_BIT) < chs->early.n;
}

struct channel *
channels_find_early(const struct channels *chs, uint32_t id)
{
	return chs->early.by_peer[id & ~EARLY_BIT];
}

/* Queues data that came before c was answered, until c has a sink. */
int
channel_keep_early(struct channel *c, struct span data)
{
	if (data.len > CHANNEL_EARLY_MAX - c->early) {
		log_info("channel %u: peer sent too much before it was open",
		    c->id);
		return ERR_PROTOCOL;
	}
	c->early += (uint32_t)data.len;
	return queue_put(&c->sink[0].queue, &c->chs->pool, data);
}

int
channel_count_early(struct channel *c)
{
	if (c->early > 0 && !recv_window_receive(&c->window, c->early))
		return ERR_PROTOCOL; /* c was accepted without a window */
	c->early = 0;
	return 0;
}
