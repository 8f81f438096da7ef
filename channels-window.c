/* SPDX-License-Identifier: ISC */
/*
 * How much a peer may send before it hears of us again: windows that follow
 * the path (RFC 4254 section 5.2).
 */
#include <time.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "channels-internal.h"

enum { ANSWERS_WANTED = 3 };

/*
 * A sender that is held back by its window gets a whole one through in a
 * round trip; one that does not get half of it through is held back by
 * something else, and a wider window would only fill buffers. How wide: the
 * kernel enlarges the receive buffer to about twice what arrives in a round
 * trip, so as much is wider than TCP's own window, even for a peer that is
 * told only after half of it was used.
 *
 * Frugally: twice what arrives is what a path with a full queue holds. A
 * sender in slow start doubles, and what is offered now is used a round trip
 * later: so as much more as it became more since the last time. But what does
 * not get away must never be so much that it is moved over and over.
 */
uint32_t
channel_window_next(uint32_t window_max, uint64_t per_rtt, uint64_t before,
    uint32_t rcvbuf, uint32_t limit, bool exact)
{
	uint64_t most = MIN(rcvbuf, limit), useful = 2 * per_rtt;

	if (exact) {
		if (before > 0 && per_rtt > before)
			useful += 4 * MIN(per_rtt - before, per_rtt / 2);
		useful = MIN(useful, per_rtt + CHANNEL_BACKLOG_MAX);
		/* A step that is worth its adjust. */
		if (useful < (uint64_t)window_max * 9 / 8)
			return window_max;
		most = MIN(most, useful);
	} else if (useful < window_max) {
		return window_max;
	}
	return (uint32_t)MAX((uint64_t)window_max, most);
}

uint32_t
channel_window_rested(uint32_t window_max, uint64_t idle_ms)
{
	uint64_t rests = idle_ms / CHANNEL_REST_MS;

	while (rests-- > 0 && window_max > CHANNEL_WINDOW_DEFAULT)
		window_max = MAX(window_max / 2,
		    (uint32_t)CHANNEL_WINDOW_DEFAULT);
	return window_max;
}

uint32_t
channel_window_first(uint32_t wanted, uint64_t offered)
{
	uint64_t left = offered < CHANNELS_BUDGET ?
	    CHANNELS_BUDGET - offered : 0;

	return (uint32_t)MIN((uint64_t)wanted,
	    MAX(left / 2, (uint64_t)CHANNEL_PACKET_DEFAULT));
}

uint64_t
channels_offered(const struct channels *chs)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < chs->n; i++)
		if (chs->v[i] != NULL)
			sum += (uint64_t)chs->v[i]->window_max +
			    chs->v[i]->withheld;
	return sum;
}

/* How wide this channel's window may become beside the others'. */
static uint32_t
grow_limit(const struct channel *c)
{
	uint64_t others = channels_offered(c->chs) - c->window_max -
	    c->withheld;

	return others < CHANNELS_GROW_LIMIT ?
	    CHANNELS_GROW_LIMIT - (uint32_t)others : 0;
}

void
channels_set_exact_windows(struct channels *chs, bool exact)
{
	chs->exact_windows = exact;
}

void
channels_set_dynamic(struct channels *chs, bool dynamic)
{
	chs->fixed_windows = !dynamic;
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void
sample_path(struct channels *chs)
{
	uint64_t now = loop_now_ms();
	int fd = packet_fd_in(chs->packet);

	if (chs->sampled_ms != 0 && now - chs->sampled_ms < CHANNEL_SAMPLE_MS)
		return;
	chs->sampled_ms = now;
	chs->rcvbuf = (uint32_t)fd_rcvbuf(fd);
	chs->rtt_us = tcp_rtt_us(fd);
	if (chs->rtt_us == 0 && chs->answer_us != 0) {
		/* Nor does the buffer of such a descriptor follow the path. */
		chs->rtt_us = chs->answer_us;
		chs->rcvbuf = CHANNELS_GROW_LIMIT;
	}
}

/* The quickest counts: the first may wait for the server to begin, and behind
 * data all of them do. */
static void
on_answer(void *arg, bool ok, struct rd data)
{
	struct channels *chs = arg;
	uint64_t took = MAX(now_us() - chs->asked_us, (uint64_t)1);

	(void)ok;
	(void)data;
	chs->answer_us = chs->answer_us == 0 ? took :
					       MIN(chs->answer_us, took);
	if (++chs->answers < ANSWERS_WANTED)
		(void)!channels_measure_path(chs);
}

int
channels_measure_path(struct channels *chs)
{
	chs->asked_us = now_us();
	return channels_global_request(chs, "keepalive@openssh.com", NULL,
	    on_answer, chs);
}

bool
channel_widen(struct channel *c, uint32_t more)
{
	uint32_t early = MIN(c->early, more);

	c->early -= early;
	more -= early;
	if (more > UINT32_MAX - c->peer_window)
		return false; /* RFC 4254 section 5.2: at most 2^32-1 */
	c->peer_window += more;
	c->peer_window_top = MAX(c->peer_window_top, c->peer_window);
	return true;
}

/*
 * What was offered cannot be taken back. After a rest the window is smaller
 * by not giving back what is used, until it is as small as it shall be; and
 * it grows again only for a peer that uses all that is left of it.
 */
static void
note_use(struct channel *c)
{
	uint64_t now = loop_now_ms();
	uint32_t rested = c->window_max;

	if (c->used_ms != 0)
		rested = channel_window_rested(c->window_max,
		    now - c->used_ms);
	c->used_ms = now;
	if (rested == c->window_max)
		return;
	c->withheld += c->window_max - rested;
	c->window_max = rested;
	c->unproven = rested;
}

static void
grow(struct channel *c)
{
	struct channels *chs = c->chs;
	uint64_t now = now_us(), elapsed = now - c->measured_us;
	uint32_t next = c->window_max, more, back;
	uint64_t per_rtt = 0, least;

	if (chs->fixed_windows || c->interactive || c->unproven > 0)
		return;
	sample_path(chs);
	least = MAX(chs->rtt_us, (uint64_t)CHANNEL_MEASURE_US);
	if (c->measured_us != 0 && chs->rtt_us > 0) {
		/* What came in less than a round trip counts as it is. */
		per_rtt = c->arrived * chs->rtt_us /
		    MAX(elapsed, chs->rtt_us);
		next = channel_window_next(c->window_max, per_rtt, c->per_rtt,
		    chs->rcvbuf, grow_limit(c), chs->exact_windows);
	}
	if (elapsed >= least) {
		c->per_rtt = per_rtt;
		c->measured_us = now;
		c->arrived = 0;
	}
	more = next - c->window_max;
	c->window_max = next;
	/* The peer still has what was to be withheld. */
	back = MIN(more, c->withheld);
	c->withheld -= back;
	c->consumed += more - back;
}

/*
 * One adjust at most a turn, and not for less than a fair part of the window:
 * handing back crumbs would make the peer send crumbs. As all that was used
 * will be consumed at some time, the peer always has at least half.
 */
int
channel_adjust_window(struct channel *c)
{
	uint32_t packet = MIN(c->max_packet, (uint32_t)CHANNEL_PACKET_DEFAULT);
	uint32_t least = MIN(c->window_max / 2,
	    MAX(3 * packet, c->window_max / 16));
	uint32_t kept;
	struct buf b;

	if (c->consumed == 0 || c->consumed < least ||
	    channel_got_eof(c) || c->sending == SENDING_CLOSED)
		return 0;
	if (!c->chs->fixed_windows)
		note_use(c);
	c->unproven -= MIN(c->unproven, c->consumed);
	kept = MIN(c->consumed, c->withheld);
	c->withheld -= kept;
	c->consumed -= kept;
	grow(c);
	if (c->consumed == 0)
		return 0;
	channel_msg(c, &b, SSH_MSG_CHANNEL_WINDOW_ADJUST);
	buf_put_u32(&b, c->consumed);
	c->window_left += c->consumed;
	c->consumed = 0;
	return channels_send(c->chs, &b);
}
