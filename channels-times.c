/* SPDX-License-Identifier: ISC */
/* Counts how long the channels waited for what, so that a user can be told why
 * a transfer was not faster. */
#include "base/mem.h"
#include "base/clock.h"
#include "base/tcp.h"
#include "channels-internal.h"

/* NETWORK_BUSY_BYTES: from so many unsent bytes on, the network is what is
 * waited for. Replies and window adjusts alone are fewer. */
enum { NETWORK_BUSY_BYTES = 16 * 1024 };

static bool
waits_for_window(const struct channel *c)
{
	bool has_source = (c->source[0].fd != -1 || c->io != NULL) &&
	    !c->source[0].ended;

	return has_source && c->state == CHANNEL_OPEN && c->peer_window == 0;
}

static bool
keeps_peer_waiting(const struct channel *c)
{
	return c->state == CHANNEL_OPEN && c->window.max > 0 &&
	    !channel_got_eof(c) && c->window.left < c->max_packet &&
	    c->sink[0].queue.len == 0;
}

static bool
network_waits(const struct packet *p)
{
	return packet_tx_pending(p) >= NETWORK_BUSY_BYTES ||
	    tcp_unsent(packet_fd_out(p)) > 0;
}

void
channels_count_time(struct channels *chs)
{
	struct channels_times *t = &chs->times;
	uint64_t now = clock_ms(), passed = now - chs->counted_ms;

	if (passed == 0)
		return; /* network_waits() is a system call */
	if (chs->counted_ms != 0) {
		t->total_ms += passed;
		if (network_waits(chs->packet))
			t->network_ms += passed;
		else if (chs->waiting_window > 0)
			t->window_ms += passed;
		else if (chs->count > 0)
			t->source_ms += passed;
		if (chs->waiting_sink > 0)
			t->sink_ms += passed;
		else if (chs->waiting_own_window > 0)
			t->own_window_ms += passed;
	}
	chs->counted_ms = now;
}

/* Adds `by` to the number of channels that wait, for each thing in w. */
static void
count_waits(struct channels *chs, struct channel_waits w, int by)
{
	chs->waiting_window += (size_t)(w.window ? by : 0);
	chs->waiting_sink += (size_t)(w.sink ? by : 0);
	chs->waiting_own_window += (size_t)(w.own_window ? by : 0);
}

void
channel_forget_waits(struct channel *c)
{
	count_waits(c->chs, c->waits, -1);
	c->waits = (struct channel_waits){ false, false, false };
}

void
channel_note_waits(struct channel *c)
{
	channel_forget_waits(c);
	c->waits = (struct channel_waits){ .window = waits_for_window(c),
		.sink = c->sink[0].queue.len > 0,
		.own_window = keeps_peer_waiting(c) };
	count_waits(c->chs, c->waits, 1);
}

struct channels_times
channels_times(const struct channels *chs)
{
	return chs->times;
}
