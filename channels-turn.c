/* SPDX-License-Identifier: ISC */
/*
 * A turn of the loop, for the channels that have something to do in it. What
 * happens to a channel touches it; who is not touched, and has nothing left
 * from the last turn, costs nothing however many there are.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "channels-internal.h"

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

/* from is empty afterwards. */
static void
append_all(struct channel_list *list, struct channel_list *from)
{
	if (from->first == NULL)
		return;
	if (list->last != NULL)
		list->last->next_active = from->first;
	else
		list->first = from->first;
	list->last = from->last;
	*from = (struct channel_list){ NULL, NULL };
}

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

	if (!c->active)
		return;
	c->chs->active = (struct channel_list){ NULL, NULL };
	while ((one = take_first(&rest)) != NULL)
		if (one != c)
			append(&c->chs->active, one);
	c->active = false;
}

/* Those that may send, interactive ones first, linked by next_round. */
static struct channel *
first_round(struct channels *chs)
{
	struct channel *first = NULL, **at = &first;

	for (int pass = 0; pass < 2; pass++) {
		for (struct channel *c = chs->active.first; c != NULL;
		    c = c->next_active) {
			if (c->state != CHANNEL_OPEN ||
			    c->interactive != (pass == 0))
				continue;
			*at = c;
			at = &c->next_round;
		}
	}
	*at = NULL;
	return first;
}

/* Rounds of one packet each, interactive channels first, so that none has to
 * wait for another's bulk; ends when the ring is full or all are idle. */
static int
pump_all(struct channels *chs)
{
	struct channel *round = first_round(chs), **at;
	bool moved;
	int r;

	while (round != NULL && chs->tx_blocked == 0) {
		for (at = &round; *at != NULL;) {
			if ((r = channel_pump(*at, &moved)) != 0)
				return r;
			if (moved)
				at = &(*at)->next_round;
			else
				*at = (*at)->next_round;
		}
	}
	return 0;
}

/* What is not about data: adjusts, EOF and CLOSE, and answers that nobody is
 * left to give. */
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

/* The channels that were touched, and have more to send than there was room
 * for, are looked at again in the next turn. Who was first in this one is last
 * then. */
static int
finish_all(struct channels *chs)
{
	struct channel_list todo = chs->active, kept = { NULL, NULL };
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
		if (!c->active && channel_has_output(c)) {
			c->active = true;
			append(&kept, c);
		}
	}
	if (chs->active.first != NULL)
		loop_again(chs->loop); /* by what was called meanwhile */
	if ((c = take_first(&kept)) != NULL)
		append(&kept, c);
	append_all(&kept, &chs->active);
	append_all(&kept, &todo); /* after an error */
	chs->active = kept;
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
