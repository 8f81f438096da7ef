/* SPDX-License-Identifier: ISC */
/*
 * Text about the channels of a connection, which users see with ~#: one line
 * for each channel. Its form is OpenSSH's, because programs read it. A number
 * in it that we do not have is the one that OpenSSH prints for a channel at
 * rest.
 */
#include <stdlib.h>
#include <string.h>

#include "channels-internal.h"

/* The numbers that OpenSSH prints for a channel's kind, and for the states of
 * its two directions. */
enum { KIND_OPENING = 3, KIND_OPEN = 4 };
enum { DIRECTION_OPEN = 0, DIRECTION_DRAINING = 1, DIRECTION_CLOSED = 3 };

static int
input_state(const struct channel *c)
{
	if (c->sending == SENDING_OPEN)
		return DIRECTION_OPEN;
	return channel_sent_eof(c) ? DIRECTION_CLOSED : DIRECTION_DRAINING;
}

static int
output_state(const struct channel *c)
{
	if (!channel_got_eof(c))
		return DIRECTION_OPEN;
	return channel_sinks_done(c) ? DIRECTION_CLOSED : DIRECTION_DRAINING;
}

void
channel_set_name(struct channel *c, const char *name)
{
	free(c->name);
	c->name = strdup(name); /* NULL (no memory): the type is shown */
}

void
channels_describe(const struct channels *chs, struct buf *out)
{
	for (size_t i = 0; i < chs->n; i++) {
		const struct channel *c = chs->v[i];
		bool open = c != NULL && c->state == CHANNEL_OPEN;

		if (c == NULL || c->state == CHANNEL_DEAD)
			continue;
		buf_printf(out,
		    "  #%u %s (t%d [%s] %s%u nm0 i%d/%zu o%d/%zu e[write]/%zu "
		    "fd %d/%d/%d sock %d cc -1 nc0 io 0x%02x/0x%02x)\n",
		    c->id, c->name != NULL ? c->name : c->type,
		    open ? KIND_OPEN : KIND_OPENING, c->type,
		    open ? "r" : "nr", c->peer_id, input_state(c),
		    buf_len(&c->send), output_state(c), c->sink[0].queue.len,
		    c->sink[1].queue.len, c->source[0].fd, c->sink[0].fd,
		    c->sink[1].fd,
		    c->source[0].fd == c->sink[0].fd ? c->sink[0].fd : -1,
		    (c->source[0].ended ? 0 : 1) |
			(c->sink[0].queue.len > 0 ? 2 : 0),
		    c->source[0].ready ? 1 : 0);
	}
}
