/* SPDX-License-Identifier: ISC */
#include "client/why-slow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

enum {
	REASONS_MAX = 8,
	PERCENT_MIN = 5,  /* a reason that held for less of the time is left
			   * out */
	PERCENT_BUSY = 80, /* of a core's time: from here on the CPU is a
			    * reason */
	ELAPSED_MIN_MS = 500,
	BYTES_MIN = 1024 * 1024,
	/* Packets sent again, of a million. Cubic itself causes about so many
	 * losses on a path that has no others, so only more are worth a
	 * hint. */
	LOSS_PER_MILLION = 500,
};

struct reason {
	enum why_slow_kind kind;
	unsigned percent;
	struct buf text;
};

struct reasons {
	struct reason v[REASONS_MAX];
	size_t n;
};

static unsigned
share(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return 0;
	return (unsigned)(MIN(part, whole) * 100 / whole);
}

/* Adds a reason that held for this share of the time. Returns the buffer for
 * its text, or NULL if the share is too small to be told. */
static struct buf *
add(struct reasons *r, enum why_slow_kind kind, unsigned percent)
{
	struct reason *one = &r->v[r->n];

	if (percent < PERCENT_MIN || r->n == REASONS_MAX)
		return NULL;
	*one = (struct reason){ .kind = kind, .percent = percent };
	r->n++;
	return &one->text;
}

/* Appends a number of bytes for people: "512 KiB", "32 MiB". */
static void
put_bytes(struct buf *b, uint64_t bytes)
{
	if (bytes >= 10 * 1024 * 1024)
		buf_printf(b, "%" PRIu64 " MiB", bytes >> 20);
	else
		buf_printf(b, "%" PRIu64 " KiB", bytes >> 10);
}

/* Linux and the BSDs keep these limits in an int. */
uint64_t
why_slow_buffer(uint64_t at_least)
{
	uint64_t v = 1;

	while (v < at_least && v < (uint64_t)1 << 30)
		v <<= 1;
	return v;
}

/* The divisor, not the product, is scaled where the product has no room. */
uint64_t
why_slow_again(uint64_t again, uint64_t sent)
{
	enum { MILLION = 1000000 };
	uint64_t part = MIN(again, sent);

	if (sent == 0)
		return 0;
	return part <= UINT64_MAX / MILLION ? part * MILLION / sent :
					      part / (sent / MILLION);
}

static uint64_t
lost_per_million(const struct why_slow *w, const struct tcp_numbers *t)
{
	uint64_t sent = t->v[TCP_DATA_SEGS_OUT];

	if (sent == 0 && w->measured && t == &w->local) /* FreeBSD */
		sent = tcp_segments(w->sent, t->v[TCP_SND_MSS]);
	return why_slow_again(t->v[TCP_TOTAL_RETRANS], sent);
}

/* Microseconds in which the congestion window was the limit: the time in which
 * data was in flight, without that in which the kernel was limited by the
 * receiver's window or by the send buffer. */
static uint64_t
path_us(const struct tcp_numbers *t)
{
	uint64_t buffers = t->v[TCP_RWND_LIMITED] + t->v[TCP_SNDBUF_LIMITED];

	return t->v[TCP_BUSY_TIME] > buffers ?
	    t->v[TCP_BUSY_TIME] - buffers : 0;
}

/* The setting of a buffer's limit on the client. */
static const char *
setting(const struct why_slow *w, bool receive)
{
	const char *name = receive ? w->rcvbuf_setting : w->sndbuf_setting;

	if (name != NULL)
		return name;
	return receive ? "the last number of net.ipv4.tcp_rmem" :
			 "the last number of net.ipv4.tcp_wmem";
}

static void
put_path(const struct why_slow *w, const struct tcp_numbers *t, bool bbr,
    struct buf *b)
{
	uint64_t lost = lost_per_million(w, t);

	buf_printf(b, "the path: congestion window of %" PRIu64
		      " packets, round trip %" PRIu64 ".%" PRIu64 " ms, %"
		      PRIu64 ".%02" PRIu64 " %% of the packets sent again",
	    t->v[TCP_SND_CWND], t->v[TCP_RTT] / 1000,
	    t->v[TCP_RTT] / 100 % 10, lost / 10000, lost / 100 % 100);
	if (lost >= LOSS_PER_MILLION && !bbr)
		buf_printf(b, " (CongestionControl bbr on the sending side "
			      "may help)");
}

/* Adds the reasons that t shows, the numbers of the sending side's kernel.
 * sender and receiver name the two sides ("client", "server") in the texts, so
 * that each text says on which side something has to be changed. */
static void
tcp_reasons(const struct why_slow *w, const struct tcp_numbers *t,
    const char *sender, const char *receiver, struct reasons *r)
{
	uint64_t window = t->v[TCP_SND_WND], path = path_us(t);
	uint64_t us = t == &w->local ? w->elapsed_ms * 1000 :
				       w->remote_ms * 1000;
	struct buf *b;

	if (t->kernel == 0)
		return;
	b = add(r, WHY_SLOW_RECEIVE_BUFFER, share(t->v[TCP_RWND_LIMITED], us));
	if (b != NULL) {
		buf_printf(b, "the receive buffer of TCP on the %s",
		    receiver);
		/* Linux lets the sender use half of a receive buffer as its
		 * window, so twice the present buffer is four times the
		 * window. */
		if (window > 0)
			buf_printf(b, ": raise %s there to %" PRIu64,
			    t == &w->remote ? setting(w, true) :
			    "the last number of net.ipv4.tcp_rmem",
			    why_slow_buffer(MIN(window, UINT32_MAX) * 4));
	}
	b = add(r, WHY_SLOW_SEND_BUFFER,
	    share(t->v[TCP_SNDBUF_LIMITED], us));
	if (b != NULL) {
		buf_printf(b, "the send buffer of TCP on the %s", sender);
		if (w->sndbuf_limit > 0 && t == &w->local)
			buf_printf(b, ": raise the last number of "
				      "net.ipv4.tcp_wmem there to %" PRIu64,
			    why_slow_buffer(w->sndbuf_limit * 2));
	}
	/* The kernel counts TCP as busy while data is in flight, even if we
	 * give it no more data. That time is not the fault of the path, so the
	 * path gets at most the time in which we waited for the kernel. */
	if (t == &w->local)
		path = MIN(path, w->times.network_ms * 1000);
	b = add(r, WHY_SLOW_PATH, share(path, us));
	if (b != NULL)
		put_path(w, t, t == &w->local && w->bbr, b);
}

/* Adds the reason that the windows show where the kernel counts no times. The
 * smallest of three is what held data back while we waited for the kernel: the
 * send buffer, what the receiver takes, and the congestion window. */
static void
window_reason(const struct why_slow *w, struct reasons *r)
{
	const struct tcp_numbers *t = &w->local;
	uint64_t path = t->v[TCP_SND_CWND] * t->v[TCP_SND_MSS];
	uint64_t window = t->v[TCP_SND_WND];
	unsigned percent = share(w->times.network_ms, w->elapsed_ms);
	bool sndbuf = w->sndbuf > 0 && w->sndbuf <= MIN(path, window);
	bool rcvbuf = !sndbuf && window > 0 && window < path;
	struct buf *b = add(r, sndbuf ? WHY_SLOW_SEND_BUFFER :
		rcvbuf ? WHY_SLOW_RECEIVE_BUFFER : WHY_SLOW_PATH, percent);

	if (b == NULL)
		return;
	if (sndbuf) {
		buf_printf(b, "the send buffer of TCP on the client, most "
			      "likely");
		if (w->sndbuf_limit > 0)
			buf_printf(b, ": raise %s here to %" PRIu64,
			    setting(w, false),
			    why_slow_buffer(w->sndbuf_limit * 2));
	} else if (rcvbuf) {
		buf_printf(b, "the receive buffer of TCP on the server, most "
			      "likely: it lets pass ");
		put_bytes(b, window);
		buf_printf(b, " in a round trip");
	} else {
		put_path(w, t, w->bbr, b);
	}
}

/* Appends the reason why an upload waited for the server's SSH window. If less
 * than half of a usual window was sent in a round trip, the window was large
 * enough for the path: then the server's program did not read. */
static void
put_peer_window(const struct why_slow *w, struct buf *b)
{
	uint64_t rtt_us = w->local.v[TCP_RTT];
	uint64_t per_trip = w->sent * rtt_us / 1000 / w->elapsed_ms;

	if (per_trip < CHANNEL_WINDOW_DEFAULT / 2) {
		buf_printf(b, "the server's program or disk, which took no "
			      "more");
		return;
	}
	buf_printf(b, "the SSH window of the server, which lets pass about ");
	put_bytes(b, per_trip);
	buf_printf(b, " in a round trip of %" PRIu64 " ms (that of HPN-SSH "
		      "servers grows)", rtt_us / 1000);
}

static void
upload_reasons(const struct why_slow *w, struct reasons *r)
{
	struct buf *b;

	b = add(r, WHY_SLOW_SSH_WINDOW,
	    share(w->times.window_ms, w->elapsed_ms));
	if (b != NULL)
		put_peer_window(w, b);
	b = add(r, WHY_SLOW_SOURCE,
	    share(w->times.source_ms, w->elapsed_ms));
	if (b != NULL)
		buf_printf(b, "the source here (a disk or program): nothing "
			      "came from it");
	if (w->measured && w->local.kernel == 0)
		window_reason(w, r);
	else
		tcp_reasons(w, &w->local, "client", "server", r);
}

/* Adds our receive buffer as a reason if it has grown to its limit and was in
 * use. This is a guess, and made only if the server did not tell its own
 * numbers, which would show the reason. */
static void
guess_receive_buffer(const struct why_slow *w, struct reasons *r)
{
	bool linux_here = w->local.kernel != 0;
	/* Elsewhere that is the window, however little of it is used. */
	uint64_t per_trip = linux_here || !w->measured ?
	    w->local.v[TCP_RCV_SPACE] :
	    w->received * w->local.v[TCP_RTT] / 1000 / w->elapsed_ms;
	struct buf *b;

	if (w->remote.kernel != 0 || w->rcvbuf_limit == 0 ||
	    w->rcvbuf < w->rcvbuf_limit || per_trip * 4 < w->rcvbuf)
		return;
	/* How much of the time it held is not known, so no share is told; share
	 * 0 puts it at the end of the list. */
	if ((b = add(r, WHY_SLOW_RECEIVE_BUFFER, PERCENT_MIN)) == NULL)
		return;
	r->v[r->n - 1].percent = 0;
	buf_printf(b, "the receive buffer of TCP on the client, most likely: "
		      "it has grown to its limit of ");
	put_bytes(b, w->rcvbuf_limit);
	buf_printf(b, "; raise %s here to %" PRIu64, setting(w, true),
	    why_slow_buffer(w->rcvbuf_limit * 2));
}

/* Adds our SSH window as a reason if it has a fixed size and the server used it
 * up in each round trip. No counter shows that here, so it is concluded from
 * the rate. Returns whether it was added. */
static bool
fixed_window(const struct why_slow *w, struct reasons *r)
{
	uint64_t rtt_us = MAX(w->local.v[TCP_RCV_RTT], w->local.v[TCP_RTT]);
	uint64_t per_trip = w->received * rtt_us / 1000 / w->elapsed_ms;
	struct buf *b;

	if (!w->fixed_windows || (w->local.kernel == 0 && !w->measured) ||
	    per_trip < CHANNEL_WINDOW_DEFAULT * 6 / 10 ||
	    (b = add(r, WHY_SLOW_SSH_WINDOW, PERCENT_MIN)) == NULL)
		return false;
	r->v[r->n - 1].percent = 0;
	buf_printf(b, "the SSH window of the client, most likely: HPNDisabled "
		      "or TcpRcvBufPoll keeps it at 2 MiB per round trip of %"
		      PRIu64 " ms", rtt_us / 1000);
	return true;
}

static void
download_reasons(const struct why_slow *w, struct reasons *r)
{
	struct buf *b;

	b = add(r, WHY_SLOW_SINK,
	    share(w->times.sink_ms, w->elapsed_ms));
	if (b != NULL)
		buf_printf(b, "the output here (a disk or program): it took "
			      "no more");
	b = add(r, WHY_SLOW_SSH_WINDOW,
	    share(w->times.own_window_ms, w->elapsed_ms));
	if (b != NULL)
		buf_printf(b, "the SSH window of the client");
	/* A fixed window explains all of the waiting. The numbers of the
	 * server's TCP would then wrongly blame the path. */
	if (fixed_window(w, r))
		return;
	tcp_reasons(w, &w->remote, "server", "client", r);
	guess_receive_buffer(w, r);
}

static void
cpu_reason(const struct why_slow *w, struct reasons *r)
{
	unsigned percent = share(w->cpu_ms, w->elapsed_ms);
	struct buf *b;

	if (percent < PERCENT_BUSY ||
	    (b = add(r, WHY_SLOW_CPU, percent)) == NULL)
		return;
	buf_printf(b, "this computer: %s and copying kept a core busy",
	    w->cipher);
}

static int
more_first(const void *a, const void *b)
{
	const struct reason *x = a, *y = b;

	return (x->percent < y->percent) - (x->percent > y->percent);
}

static void
put_summary(const struct why_slow *w, bool up, struct buf *out)
{
	uint64_t bytes = up ? w->sent : w->received;
	uint64_t ms = w->elapsed_ms;

	buf_printf(out, "What held this connection back: ");
	put_bytes(out, bytes);
	buf_printf(out, " %s in %" PRIu64 ".%" PRIu64 " s (%" PRIu64
			".%" PRIu64 " MB/s). ",
	    up ? "sent" : "received", ms / 1000, ms / 100 % 10,
	    bytes / ms / 1000, bytes / ms / 100 % 10);
}

static void
find_reasons(const struct why_slow *w, bool up, struct reasons *r)
{
	if (up)
		upload_reasons(w, r);
	else
		download_reasons(w, r);
	cpu_reason(w, r);
}

bool
why_slow_text(const struct why_slow *w, struct buf *out)
{
	bool up = w->sent > w->received;
	struct reasons r = { .n = 0 };

	if (w->elapsed_ms < ELAPSED_MIN_MS ||
	    MAX(w->sent, w->received) < BYTES_MIN)
		return false;
	find_reasons(w, up, &r);
	put_summary(w, up, out);
	qsort(r.v, r.n, sizeof r.v[0], more_first);
	for (size_t i = 0; i < r.n; i++) {
		buf_printf(out, "%s", i > 0 ? "; " : "");
		if (r.v[i].percent > 0)
			buf_printf(out, "%u %% of the time: ",
			    r.v[i].percent);
		buf_put_buf(out, &r.v[i].text);
		buf_clear(&r.v[i].text);
	}
	if (r.n > 0)
		buf_printf(out, ".");
	else
		buf_printf(out, up ? "Nothing here did: look at the path and "
				     "the server." :
				     "Nothing here did: the server or the "
				     "path gave no more.");
	return true;
}

/* ---- shares ------------------------------------------------------------- */

const char *
why_slow_kind_text(enum why_slow_kind kind)
{
	static const char *const texts[WHY_SLOW_KINDS] = {
		[WHY_SLOW_PATH] = "the path",
		[WHY_SLOW_RECEIVE_BUFFER] = "TCP's receive buffer",
		[WHY_SLOW_SEND_BUFFER] = "TCP's send buffer",
		[WHY_SLOW_SSH_WINDOW] = "the SSH window",
		[WHY_SLOW_SOURCE] = "the source here",
		[WHY_SLOW_SINK] = "the output here",
		[WHY_SLOW_CPU] = "the processor here",
	};

	return texts[kind];
}

void
why_slow_shares(const struct why_slow *w, bool up,
    unsigned percent[WHY_SLOW_KINDS])
{
	struct reasons r = { .n = 0 };

	memset(percent, 0, WHY_SLOW_KINDS * sizeof *percent);
	if (w->elapsed_ms == 0)
		return;
	find_reasons(w, up, &r);
	for (size_t i = 0; i < r.n; i++) {
		percent[r.v[i].kind] += r.v[i].percent;
		buf_clear(&r.v[i].text);
	}
}

struct tcp_numbers
why_slow_tcp_since(const struct tcp_numbers *later,
    const struct tcp_numbers *earlier)
{
	static const enum tcp_field sums[] = { TCP_BUSY_TIME, TCP_RWND_LIMITED,
		TCP_SNDBUF_LIMITED, TCP_TOTAL_RETRANS, TCP_DATA_SEGS_OUT };
	struct tcp_numbers t = *later;

	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		t.v[sums[i]] -= MIN(t.v[sums[i]], earlier->v[sums[i]]);
	return t;
}

struct why_slow
why_slow_since(const struct why_slow *later, const struct why_slow *earlier)
{
	struct why_slow w = *later;

	w.elapsed_ms -= earlier->elapsed_ms;
	w.sent -= earlier->sent;
	w.received -= earlier->received;
	w.cpu_ms -= MIN(w.cpu_ms, earlier->cpu_ms);
	w.times.window_ms -= earlier->times.window_ms;
	w.times.network_ms -= earlier->times.network_ms;
	w.times.source_ms -= earlier->times.source_ms;
	w.times.sink_ms -= earlier->times.sink_ms;
	w.times.own_window_ms -= earlier->times.own_window_ms;
	w.local = why_slow_tcp_since(&later->local, &earlier->local);
	return w;
}

/* ---- collecting --------------------------------------------------------- */

void
why_slow_begin(struct why_slow_start *s, const struct packet *p)
{
	s->at_ms = clock_ms();
	s->cpu_ms = clock_thread_us() / 1000;
	s->sent = packet_counters(p, PACKET_TX).payload;
	s->received = packet_counters(p, PACKET_RX).payload;
}

static void
measure_tcp(struct why_slow *w, const struct packet *p, bool limits)
{
	if (tcp_measure(packet_fd_in(p), &w->local) != 0)
		return;
	w->measured = true;
	if (!limits)
		return;
	w->rcvbuf = (uint64_t)fd_rcvbuf(packet_fd_in(p));
	w->sndbuf = (uint64_t)fd_sndbuf(packet_fd_out(p));
	w->rcvbuf_setting = tcp_buffer_setting(true);
	w->sndbuf_setting = tcp_buffer_setting(false);
	w->rcvbuf_limit = tcp_buffer_limit(true);
	w->sndbuf_limit = tcp_buffer_limit(false);
	w->bbr = tcp_congestion_is(packet_fd_in(p), "bbr");
}

bool
why_slow_measure(struct why_slow *out, const struct why_slow_start *s,
    const struct packet *p, const struct channels *chs,
    const struct tcp_numbers *remote, uint64_t remote_at_ms, bool limits)
{
	struct why_slow w = { .elapsed_ms = clock_ms() - s->at_ms };

	if (s->at_ms == 0 || chs == NULL)
		return false;
	w.cpu_ms = clock_thread_us() / 1000 - s->cpu_ms;
	w.sent = packet_counters(p, PACKET_TX).payload - s->sent;
	w.received = packet_counters(p, PACKET_RX).payload - s->received;
	w.cipher = packet_cipher_name(p, w.sent > w.received ? PACKET_TX :
							       PACKET_RX);
	w.times = channels_times(chs);
	measure_tcp(&w, p, limits);
	if (remote != NULL && remote_at_ms > s->at_ms) {
		w.remote = *remote;
		w.remote_ms = remote_at_ms - s->at_ms;
	}
	*out = w;
	return true;
}

void
why_slow_log(const struct why_slow *w)
{
	struct buf text = { 0 };
	char *line;

	if (why_slow_text(w, &text) &&
	    (line = buf_dup_string(&text)) != NULL) {
		log_verbose("%s", line);
		free(line);
	}
	buf_clear(&text);
}
