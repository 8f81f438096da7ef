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

/*
 * A sender that is held back by its window gets a whole one through in a
 * round trip; one that does not get half of it through is held back by
 * something else, and a wider window would only fill buffers. How wide: the
 * kernel enlarges the receive buffer to about twice what arrives in a round
 * trip, so as much is wider than TCP's own window, even for a peer that is
 * told only after half of it was used.
 */
uint32_t
channel_window_next(uint32_t window_max, uint64_t arrived,
    uint64_t elapsed_us, uint64_t rtt_us, uint32_t rcvbuf, uint32_t limit,
    bool frugal)
{
	uint64_t per_rtt, most = MIN(rcvbuf, limit);

	if (elapsed_us == 0)
		return window_max;
	per_rtt = arrived * rtt_us / elapsed_us;
	if (frugal)
		most = MIN(most, 2 * per_rtt);
	/* Frugally, twice the border is a step that is worth its adjust. */
	if (per_rtt < (frugal ? (uint64_t)window_max * 9 / 16 :
				(uint64_t)window_max / 2))
		return window_max;
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

void
channels_set_frugal(struct channels *chs, bool frugal)
{
	chs->frugal_windows = frugal;
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

	if (chs->fixed_windows || c->interactive || c->unproven > 0)
		return;
	sample_path(chs);
	if (elapsed < MAX(chs->rtt_us, (uint64_t)CHANNEL_MEASURE_US))
		return;
	if (c->measured_us != 0)
		next = channel_window_next(c->window_max, c->arrived, elapsed,
		    chs->rtt_us, chs->rcvbuf, CHANNEL_WINDOW_LIMIT,
		    chs->frugal_windows);
	c->measured_us = now;
	c->arrived = 0;
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
	uint32_t least = MIN(c->window_max / 2,
	    MAX(3 * c->max_packet, c->window_max / 16));
	uint32_t kept;
	struct buf b;

	if (c->consumed == 0 || c->consumed < least || c->got_eof ||
	    c->got_close || c->sent_close)
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
