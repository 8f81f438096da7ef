/* SPDX-License-Identifier: ISC */
/*
 * How a channel ends: EOF and CLOSE in both directions (RFC 4254 section 5.3).
 */
#include "base/mem.h"
#include "channels-internal.h"

#define BIT(state) (1U << (state))

/* States that may follow each state. */
static const unsigned sending_next[] = {
	[SENDING_OPEN] = BIT(SENDING_DRAINING) | BIT(SENDING_ENDING) |
	    BIT(SENDING_CLOSING) | BIT(SENDING_EOF_SENT) | BIT(SENDING_CLOSED),
	[SENDING_DRAINING] = BIT(SENDING_CLOSING) | BIT(SENDING_CLOSE_DUE) |
	    BIT(SENDING_CLOSED),
	[SENDING_ENDING] = BIT(SENDING_CLOSING) | BIT(SENDING_EOF_SENT) |
	    BIT(SENDING_CLOSED),
	[SENDING_CLOSING] = BIT(SENDING_CLOSE_DUE) | BIT(SENDING_CLOSED),
	[SENDING_EOF_SENT] = BIT(SENDING_CLOSE_DUE) | BIT(SENDING_CLOSED),
	[SENDING_CLOSE_DUE] = BIT(SENDING_CLOSED),
	[SENDING_CLOSED] = 0,
};

static const unsigned receiving_next[] = {
	[RECEIVING_OPEN] = BIT(RECEIVING_EOF) | BIT(RECEIVING_CLOSED),
	[RECEIVING_EOF] = BIT(RECEIVING_EOF_REPORTED) | BIT(RECEIVING_CLOSED),
	[RECEIVING_EOF_REPORTED] = BIT(RECEIVING_CLOSED_REPORTED),
	[RECEIVING_CLOSED] = BIT(RECEIVING_CLOSED_REPORTED),
	[RECEIVING_CLOSED_REPORTED] = 0,
};

bool
channel_sending_may_become(enum channel_sending from, enum channel_sending to)
{
	return (sending_next[from] & BIT(to)) != 0;
}

bool
channel_receiving_may_become(enum channel_receiving from,
    enum channel_receiving to)
{
	return (receiving_next[from] & BIT(to)) != 0;
}

static void
set_sending(struct channel *c, enum channel_sending next)
{
	if (c->sending == next)
		return;
	ENSURE(channel_sending_may_become(c->sending, next));
	c->sending = next;
}

static void
set_receiving(struct channel *c, enum channel_receiving next)
{
	if (c->receiving == next)
		return;
	ENSURE(channel_receiving_may_become(c->receiving, next));
	c->receiving = next;
}

bool
channel_sent_eof(const struct channel *c)
{
	return c->sending >= SENDING_EOF_SENT;
}

bool
channel_closes(const struct channel *c)
{
	return c->sending == SENDING_DRAINING ||
	    c->sending == SENDING_CLOSING || c->sending == SENDING_CLOSE_DUE;
}

bool
channel_got_eof(const struct channel *c)
{
	return c->receiving != RECEIVING_OPEN;
}

bool
channel_got_close(const struct channel *c)
{
	return c->receiving >= RECEIVING_CLOSED;
}

void
channel_note_eof(struct channel *c)
{
	if (!channel_got_eof(c))
		set_receiving(c, RECEIVING_EOF);
}

void
channel_note_close(struct channel *c)
{
	if (!channel_got_close(c))
		set_receiving(c, c->receiving == RECEIVING_EOF_REPORTED ?
		    RECEIVING_CLOSED_REPORTED : RECEIVING_CLOSED);
}

void
channel_end_source(struct channel *c)
{
	channel_touch(c);
	if (c->sending == SENDING_OPEN)
		set_sending(c, SENDING_ENDING);
	else if (c->sending == SENDING_DRAINING)
		set_sending(c, SENDING_CLOSING);
	channel_drop_sources(c);
}

static void
close_wanted(struct channel *c)
{
	if (c->sending == SENDING_OPEN)
		set_sending(c, SENDING_DRAINING);
	else if (c->sending == SENDING_ENDING)
		set_sending(c, SENDING_CLOSING);
	else if (c->sending == SENDING_EOF_SENT)
		set_sending(c, SENDING_CLOSE_DUE);
}

void
channel_close(struct channel *c, bool drain)
{
	channel_touch(c);
	close_wanted(c);
	if (drain)
		channel_mark_sources_readable(c);
	else
		channel_end_source(c);
	/* The caller may be a hook that runs late in a turn: another turn is
	 * asked for, which acts upon the new state. */
	loop_again(c->chs->loop);
}

void
channel_hold_close(struct channel *c, bool hold)
{
	c->hold_close = hold;
	channel_touch(c);
}

static int
send_bare(struct channel *c, uint8_t type)
{
	struct buf b;

	channel_msg(c, &b, type);
	return channels_send(c->chs, &b);
}

/* The sources have no more data, and all that was read from them is sent. */
static bool
is_drained(const struct channel *c)
{
	bool no_source = c->sending == SENDING_ENDING ||
	    c->sending == SENDING_CLOSING || channel_sources_ended(c);

	return no_source && buf_len(&c->send) == 0;
}

static int
send_eof(struct channel *c)
{
	int r = send_bare(c, SSH_MSG_CHANNEL_EOF);

	if (r != 0)
		return r;
	set_sending(c, channel_closes(c) ? SENDING_CLOSE_DUE :
					   SENDING_EOF_SENT);
	if (c->ops->source_end != NULL)
		c->ops->source_end(c->arg, c);
	return 0;
}

static int
send_close(struct channel *c)
{
	int r = send_bare(c, SSH_MSG_CHANNEL_CLOSE);

	if (r != 0)
		return r;
	set_sending(c, SENDING_CLOSED);
	channel_drop_sources(c);
	return 0;
}

/* Calls ops->eof when the sinks have all data that came before the peer's
 * EOF. */
static void
report_eof(struct channel *c)
{
	if (!channel_sinks_done(c))
		return;
	if (c->receiving == RECEIVING_EOF)
		set_receiving(c, RECEIVING_EOF_REPORTED);
	else if (c->receiving == RECEIVING_CLOSED)
		set_receiving(c, RECEIVING_CLOSED_REPORTED);
	else
		return;
	if (c->io != NULL && c->io->end != NULL)
		c->io->end(c->io_arg);
	if (c->ops->eof != NULL)
		c->ops->eof(c->arg, c);
}

static void
die(struct channel *c)
{
	c->state = CHANNEL_DEAD;
	channel_drop_watches(c); /* the descriptors will be closed now */
	if (c->ops->closed != NULL)
		c->ops->closed(c->arg, c);
}

int
channel_advance_close(struct channel *c)
{
	int r;

	if (c->state != CHANNEL_OPEN || c->optimistic)
		return 0;
	if (is_drained(c) && !channel_sent_eof(c) && !channel_got_close(c) &&
	    (r = send_eof(c)) != 0)
		return r;
	report_eof(c);
	if (c->sending != SENDING_CLOSED && !c->hold_close &&
	    (channel_got_close(c) || c->sending == SENDING_CLOSE_DUE) &&
	    (r = send_close(c)) != 0)
		return r;
	if (c->sending == SENDING_CLOSED && channel_got_close(c) &&
	    channel_sinks_done(c))
		die(c);
	return 0;
}

size_t
channels_settle(struct channels *chs)
{
	size_t left = 0;

	for (size_t i = 0; i < chs->n; i++) {
		struct channel *c = chs->v[i];

		if (c == NULL || c->state == CHANNEL_DEAD)
			continue;
		if (c->state == CHANNEL_RAW) {
			channel_free_raw(c);
			c->state = CHANNEL_DEAD;
			continue;
		}
		if (c->state == CHANNEL_INCOMING) {
			die(c);
			continue;
		}
		channel_note_close(c);
		set_sending(c, SENDING_CLOSED);
		channel_drop_sources(c);
		report_eof(c);
		if (channel_sinks_done(c)) {
			die(c);
			continue;
		}
		channel_update_watches(c);
		left++;
	}
	return left;
}

bool
channels_complete(const struct channels *chs)
{
	for (size_t i = 0; i < chs->n; i++)
		if (chs->v[i] != NULL && chs->v[i]->state != CHANNEL_DEAD &&
		    !channel_got_close(chs->v[i]))
			return false;
	return chs->n > 0;
}
