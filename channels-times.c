/* SPDX-License-Identifier: ISC */
/* What the channels were waiting for: to tell a user why it was not faster. */
#include "base/mem.h"
#include "base/clock.h"
#include "base/tcp.h"
#include "channels-internal.h"

/* So much unsent is more than answers and adjusts. */
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

	if (chs->counted_ms != 0) {
		t->total_ms += passed;
		if (network_waits(chs->packet))
			t->network_ms += passed;
		else if (chs->was.window)
			t->window_ms += passed;
		else if (chs->was.source)
			t->source_ms += passed;
		if (chs->was.sink)
			t->sink_ms += passed;
		else if (chs->was.own_window)
			t->own_window_ms += passed;
	}
	chs->counted_ms = now;
}

void
channels_note_waits(struct channels *chs)
{
	size_t open = 0;

	chs->was = (struct channels_waits){ 0 };
	for (size_t i = 0; i < chs->n; i++) {
		const struct channel *c = chs->v[i];

		if (c == NULL || c->state == CHANNEL_DEAD)
			continue;
		open++;
		chs->was.window = chs->was.window || waits_for_window(c);
		chs->was.sink = chs->was.sink ||
		    c->sink[0].queue.len > 0;
		chs->was.own_window = chs->was.own_window ||
		    keeps_peer_waiting(c);
	}
	chs->was.source = open > 0;
}

struct channels_times
channels_times(const struct channels *chs)
{
	return chs->times;
}
