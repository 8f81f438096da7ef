/* SPDX-License-Identifier: ISC */
/*
 * Rates of what moves. The rate that people see, from which the time left is
 * computed, is that of the last 30 s: a burst or a short pause changes it
 * little, and what was an hour ago does not count.
 */
#include <stdlib.h>

#include "xfer/progress-internal.h"

enum {
	SAMPLE_MS = 1000,
	WINDOW_MS = 30 * 1000,
	WINDOW_POINTS = 32, /* a point a second, and one for each end */
};

/* Points of the last WINDOW_MS, in a ring; the oldest is at `first`. */
struct progress_window {
	unsigned first, n;
	struct {
		uint64_t ms, moved;
	} points[WINDOW_POINTS];
};

uint64_t
progress_moved(const struct progress_item *item)
{
	return item->done > item->kept ? item->done - item->kept : 0;
}

void
progress_rates_free(struct progress_item *item)
{
	free(item->window);
	item->window = NULL;
}

static void
put(struct progress_window *w, uint64_t ms, uint64_t moved)
{
	unsigned at;

	if (w->n == WINDOW_POINTS) {
		w->first = (w->first + 1) % WINDOW_POINTS;
		w->n--;
	}
	at = (w->first + w->n++) % WINDOW_POINTS;
	w->points[at].ms = ms;
	w->points[at].moved = moved;
}

/* Removes points from the front, as long as the next one is at least 30 s
 * old. */
static void
drop_old(struct progress_window *w, uint64_t now_ms)
{
	while (w->n > 1 &&
	    w->points[(w->first + 1) % WINDOW_POINTS].ms + WINDOW_MS <=
		now_ms) {
		w->first = (w->first + 1) % WINDOW_POINTS;
		w->n--;
	}
}

/* Adds a point, one a second. A file that begins anew begins a new row of
 * points. */
static void
note(struct progress_item *item, uint64_t now_ms)
{
	struct progress_window *w = item->window;
	uint64_t moved = progress_moved(item);
	unsigned last;

	if (w == NULL) {
		if ((w = calloc(1, sizeof *w)) == NULL)
			return;
		item->window = w;
		put(w, item->start_ms, 0);
	}
	last = (w->first + w->n - 1) % WINDOW_POINTS;
	if (moved < w->points[last].moved)
		w->first = w->n = 0;
	else if (now_ms - w->points[last].ms < SAMPLE_MS)
		return;
	put(w, now_ms, moved);
	drop_old(w, now_ms);
}

static double
window_rate(const struct progress_item *item, uint64_t now_ms)
{
	const struct progress_window *w = item->window;
	uint64_t since, before, moved = progress_moved(item);

	if (w == NULL || w->n == 0)
		return 0;
	since = w->points[w->first].ms;
	before = w->points[w->first].moved;
	return now_ms > since && moved > before ?
	    (double)(moved - before) * 1000 / (double)(now_ms - since) : 0;
}

void
progress_sample_item(struct progress_item *item, uint64_t now_ms)
{
	uint64_t took_ms = now_ms - item->tick_ms;
	uint64_t moved = progress_moved(item);

	if (item->done != item->stir_done) {
		item->stir_done = item->done;
		item->stir_ms = now_ms;
	}
	if (took_ms < SAMPLE_MS) {
		/* Before the first second is over, the rate is that of the time
		 * so far. */
		if (item->peak == 0 && now_ms > item->start_ms)
			item->rate = item->last = (double)moved * 1000 /
			    (double)(now_ms - item->start_ms);
		return;
	}
	note(item, now_ms);
	item->rate = window_rate(item, now_ms);
	/* No byte since the last sample: a stall. tick_ms stays, so that the
	 * next rate includes this time. */
	if (moved <= item->tick_moved) {
		item->last = 0;
		item->tick_moved = moved;
		return;
	}
	item->last = (double)(moved - item->tick_moved) * 1000 /
	    (double)took_ms;
	if (item->last > item->peak)
		item->peak = item->last;
	item->tick_ms = now_ms;
	item->tick_moved = moved;
}
