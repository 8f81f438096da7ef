/* SPDX-License-Identifier: ISC */
/*
 * Early messages (docs/ROUND-TRIPS.md): for a channel that the sender has
 * opened, and whose number it has not been told yet. It uses its own number
 * instead, with the highest bit set. Those for raw channels go to their owners.
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

/* A channel that is over is not found by the peer's number any more: the peer
 * uses that for a later channel as soon as this one is closed, while we may
 * still have data for a sink. */
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

/* Early data waits in the queue of the sink that the channel will have. */
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
		return ERR_PROTOCOL; /* a kind without a window as yet */
	c->early = 0;
	return 0;
}
