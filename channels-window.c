/* SPDX-License-Identifier: ISC */
/*
 * The windows of a connection's channels (RFC 4254 section 5.2): the peer's
 * windows, window adjusts, and what the kernel knows of the path. How wide our
 * windows are is decided in channels-recv-window.c.
 */

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "channels-internal.h"

enum { ANSWERS_WANTED = 3 };

void
channel_count_offered(struct channel *c)
{
	uint64_t now = (uint64_t)c->window.max + c->window.withheld;

	c->chs->offered += now - c->offered;
	c->offered = now;
}

/* The most bytes that c's window may grow to, given those of other channels. */
static uint32_t
grow_limit(const struct channel *c)
{
	return recv_window_limit(c->chs->offered - c->offered,
	    recv_movers_count(&c->chs->movers));
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

void
channels_sample_path(struct channels *chs)
{
	uint64_t now = clock_ms();
	int fd = packet_fd_in(chs->packet);

	if (chs->sampled_ms != 0 && now - chs->sampled_ms < CHANNEL_SAMPLE_MS)
		return;
	chs->sampled_ms = now;
	chs->rcvbuf = (uint32_t)fd_rcvbuf(fd);
	chs->rtt_us = tcp_rtt_us(fd);
	if (chs->rtt_us == 0 && chs->answer_us != 0) {
		/* The kernel knows no round trip time of a descriptor that is
		 * no TCP socket, and its buffer tells nothing of the path. */
		chs->rtt_us = chs->answer_us;
		chs->rcvbuf = CHANNELS_GROW_LIMIT;
	}
}

/* The round trip time is that of the quickest answer: the first answer may have
 * waited until the server had started, and each may have waited behind data. */
static void
on_answer(void *arg, bool ok, struct rd data)
{
	struct channels *chs = arg;
	uint64_t took = MAX(clock_us() - chs->asked_us, (uint64_t)1);

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
	chs->asked_us = clock_us();
	return channels_global_request(chs, "keepalive@openssh.com", NULL,
	    on_answer, chs);
}

bool
channel_widen(struct channel *c, uint32_t more)
{
	uint32_t early = MIN(c->early, more);

	c->early -= early;
	more -= early;
	/* For datagrams OpenSSH gives back a little more than was sent. */
	if (channel_has_datagrams(c))
		more = MIN(more, UINT32_MAX - c->peer_window);
	if (more > UINT32_MAX - c->peer_window)
		return false; /* RFC 4254 section 5.2: at most 2^32-1 */
	c->peer_window += more;
	c->peer_window_top = MAX(c->peer_window_top, c->peer_window);
	return true;
}

static void
grow(struct channel *c)
{
	struct channels *chs = c->chs;
	struct recv_path path;

	if (chs->fixed_windows || c->interactive ||
	    !recv_window_may_grow(&c->window))
		return;
	channels_sample_path(chs);
	path = (struct recv_path){ .rtt_us = chs->rtt_us,
		.rcvbuf = chs->rcvbuf,
		.limit = MAX(c->window.max,
		    MIN(grow_limit(c), channel_rate_window(c))),
		.share = recv_window_fair(recv_movers_count(&chs->movers),
		    chs->exact_windows),
		.exact = chs->exact_windows };
	recv_window_grow(&c->window, &path, clock_us());
}

/* When the budget of all windows is nearly used up, c's window shrinks to an
 * equal share. */
static void
shrink(struct channel *c, uint64_t now_ms)
{
	struct channels *chs = c->chs;

	c->mover = recv_movers_note(&chs->movers, c->mover, now_ms);
	if (recv_window_is_short(chs->offered))
		recv_window_shrink(&c->window,
		    recv_window_share(recv_movers_count(&chs->movers)));
}

/* Takes the bytes of c's window that the peer gets now, as the rate allows. */
static uint32_t
give_back(struct channel *c)
{
	uint32_t least = 3 * MIN(c->max_packet,
	    (uint32_t)CHANNEL_PACKET_DEFAULT), bytes;

	bytes = recv_window_give_back(&c->window, channel_rate_room(c, least));
	channel_rate_give_window(c, bytes);
	/* A turn follows when the rate allows the rest. */
	if (recv_window_adjust_due(&c->window, c->max_packet))
		(void)channel_rate_may(c, CHANNELS_IN);
	return bytes;
}

/* Called once a turn: so a channel sends at most one adjust in a turn. */
int
channel_adjust_window(struct channel *c)
{
	uint64_t now_ms;
	uint32_t bytes;
	struct buf b;

	if (!recv_window_adjust_due(&c->window, c->max_packet) ||
	    channel_got_eof(c) || c->sending == SENDING_CLOSED)
		return 0;
	if (!channel_rate_may(c, CHANNELS_IN))
		return 0;
	now_ms = clock_ms();
	if (!c->chs->fixed_windows) {
		recv_window_rest(&c->window, now_ms);
		shrink(c, now_ms);
	}
	recv_window_withhold(&c->window);
	grow(c);
	channel_count_offered(c);
	if ((bytes = give_back(c)) == 0)
		return 0;
	channel_msg(c, &b, SSH_MSG_CHANNEL_WINDOW_ADJUST);
	buf_put_u32(&b, bytes);
	return channels_send(c->chs, &b);
}
