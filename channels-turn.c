/* SPDX-License-Identifier: ISC */
/*
 * A turn of the loop, for the channels that have something to do in it. What
 * happens to a channel touches it. A channel that is not touched, and has
 * nothing left to send, costs no time, however many such channels there are.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "channels-internal.h"

enum { ROUND_BYTES = 16 * 1024 }; /* the share of a channel in a round */

static void
append(struct channel_list *list, struct channel *c)
{
	c->next_active = NULL;
	if (list->last != NULL)
		list->last->next_active = c;
	else
		list->first = c;
	list->last = c;
}

static struct channel *
take_first(struct channel_list *list)
{
	struct channel *c = list->first;

	if (c == NULL)
		return NULL;
	list->first = c->next_active;
	if (list->first == NULL)
		list->last = NULL;
	return c;
}

/* ---- rows ---------------------------------------------------------------- */

static void
leave_row(struct channel *c)
{
	struct channel_row *row = c->row;

	if (row == NULL)
		return;
	*(c->row_prev != NULL ? &c->row_prev->row_next : &row->first) =
	    c->row_next;
	*(c->row_next != NULL ? &c->row_next->row_prev : &row->last) =
	    c->row_prev;
	row->n--;
	c->row = NULL;
}

/* Puts c at the end of its row: quick if it is interactive, else bulk. A
 * channel that is in the row already keeps its position. */
static void
join_row(struct channel *c)
{
	struct channel_row *row = c->interactive ? &c->chs->quick :
						   &c->chs->bulk;

	if (c->row == row)
		return;
	leave_row(c);
	c->row = row;
	c->row_next = NULL;
	c->row_prev = row->last;
	*(row->last != NULL ? &row->last->row_next : &row->first) = c;
	row->last = c;
	row->n++;
}

/* ---- touched ones -------------------------------------------------------- */

void
channel_touch(struct channel *c)
{
	if (c->active)
		return;
	c->active = true;
	append(&c->chs->active, c);
}

void
channel_forget_touch(struct channel *c)
{
	struct channel_list rest = c->chs->active;
	struct channel *one;

	leave_row(c);
	if (!c->active)
		return;
	c->chs->active = (struct channel_list){ NULL, NULL };
	while ((one = take_first(&rest)) != NULL)
		if (one != c)
			append(&c->chs->active, one);
	c->active = false;
}

/* ---- a turn -------------------------------------------------------------- */

/* Touched channels join their rows, as they may have something to send. */
static void
join_touched(struct channels *chs)
{
	for (struct channel *c = chs->active.first; c != NULL;
	    c = c->next_active)
		if (c->state == CHANNEL_OPEN)
			join_row(c);
}

/* c, at the head of its row, has sent more in one packet than others could, who
 * can read less at once: it goes to the end of the row instead of sending. */
static bool
lets_others_pass(struct channel *c)
{
	if (c->ahead == 0 || c->row->n == 1)
		return false;
	c->ahead -= MIN(c->ahead, (uint32_t)ROUND_BYTES);
	leave_row(c);
	join_row(c);
	return true;
}

static int
send_one(struct channel *c, bool *moved)
{
	uint32_t before = c->peer_window;
	int r = channel_pump(c, moved);
	uint32_t sent = before - c->peer_window;

	channel_rate_sent(c, sent);
	c->ahead = sent > ROUND_BYTES ? sent - ROUND_BYTES : 0;
	return r;
}

/* Each channel that is in the row now sends one packet, from the head of the
 * row on. A channel that sent goes to the end; a channel that has nothing
 * leaves the row. If the output ring is full the channel stays at the head, and
 * is the first in the next turn. All channels but that one are looked at when
 * the turn ends. */
static int
turn_row(struct channels *chs, struct channel_row *row)
{
	size_t n = row->n;
	struct channel *c;
	bool moved;
	int r;

	while (n-- > 0 && (c = row->first) != NULL) {
		if (!channel_rate_may(c, CHANNELS_OUT))
			return 0;
		if (lets_others_pass(c))
			continue;
		if ((r = send_one(c, &moved)) != 0)
			return r;
		if (!moved && chs->tx_blocked != 0)
			return 0;
		channel_touch(c);
		leave_row(c);
		if (moved)
			join_row(c);
		if (chs->tx_blocked != 0)
			return 0;
	}
	return 0;
}

/* All channels of a row are treated alike, so the first one decides. */
static bool
row_may(const struct channel_row *row)
{
	return row->n > 0 && channel_rate_may(row->first, CHANNELS_OUT);
}

/* Sends packets in rounds, the interactive channels first: so no channel waits
 * for another's bulk. In a round each channel sends one packet, or none if its
 * last was large. Ends when the output ring is full or no channel has more to
 * send. */
static int
pump_all(struct channels *chs)
{
	int r = 0;

	join_touched(chs);
	while (r == 0 && chs->tx_blocked == 0 &&
	    (row_may(&chs->quick) || row_may(&chs->bulk))) {
		r = turn_row(chs, &chs->quick);
		if (r == 0 && chs->tx_blocked == 0)
			r = turn_row(chs, &chs->bulk);
	}
	return r;
}

/* The end of a turn for c: sends its window adjust, EOF and CLOSE, or refuses
 * an OPEN whose handler's owner has left the channel. */
static int
finish_turn(struct channel *c)
{
	int r;

	if (c->state == CHANNEL_INCOMING && channel_is_left(c))
		return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, NULL);
	if (c->state != CHANNEL_OPEN)
		return 0;
	if ((r = channel_adjust_window(c)) != 0)
		return r;
	return channel_advance_close(c);
}

/* The end of a turn, for the channels that were touched or served. The other
 * channels in the rows have not changed, and are not looked at. */
static int
finish_all(struct channels *chs)
{
	struct channel_list todo = chs->active;
	struct channel *c;
	int r = 0;

	chs->active = (struct channel_list){ NULL, NULL };
	while (r == 0 && (c = take_first(&todo)) != NULL) {
		c->active = false;
		r = finish_turn(c);
		if (c->state == CHANNEL_DEAD) {
			channel_free(c);
			continue;
		}
		channel_update_watches(c);
		channel_note_waits(c);
		channel_note_use(c, chs->counted_ms);
		channel_count_use(c);
		if (channel_has_output(c))
			join_row(c);
		else
			leave_row(c);
	}
	if (chs->active.first != NULL)
		loop_again(chs->loop); /* a hook has touched a channel */
	while ((c = take_first(&todo)) != NULL) /* only after an error */
		append(&chs->active, c);
	return r;
}

int
channels_turn(struct channels *chs, bool *more)
{
	int r;

	chs->tx_blocked = 0;
	chs->turn_bytes = 0;
	channels_count_time(chs);
	if ((r = pump_all(chs)) != 0)
		return r;
	*more = chs->tx_blocked != 0;
	if ((r = finish_all(chs)) != 0)
		return r;
	channels_tell_use(chs);
	return 0;
}
