/* SPDX-License-Identifier: ISC */
#include "client/check/check-limits.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "client/why-slow.h"

enum {
	/* Limits, in percent of the late rate, between which a rate counts as
	 * the same. */
	LEVEL_LOW = 85,
	LEVEL_HIGH = 118,
	SAME_RATE = 6, /* percent: cipher rates that differ by less count as
		        * equal */
	SPANS = 3,
	HELD_PERCENT = 20, /* percent of the time from which on a buffer counts
			    * as the limit */
	/* Segments sent again per million, from which on losses count: cubic
	 * itself causes some. */
	LOSS_PER_MILLION = 300,
	WIDER = 121, /* percent: the square of the tenth by which Linux's window
		      * is wider */
	FALLS_MOST = 6, /* times */
	NEAR_US = 1000, /* a round trip within a building */
	CPU_BUSY = 80, /* percent of a core */
};

/* ---- curves -------------------------------------------------------------- */

/* The last point that is at least span_ms before point i; else point 0. */
static size_t
span_before(const struct check_point *p, size_t i, uint64_t span_ms)
{
	size_t k = i;

	while (k > 0 && p[i].ms - p[k].ms < span_ms)
		k--;
	return k;
}

static uint64_t
rate_between(const struct check_point *a, const struct check_point *b)
{
	return b->ms > a->ms ? (b->bytes - a->bytes) * 1000 / (b->ms - a->ms) :
			       0;
}

/* The first point that is at least span_ms behind point i; else the last. */
static size_t
span_behind(const struct check_point *p, size_t n, size_t i, uint64_t span_ms)
{
	size_t k = i;

	while (k < n - 1 && p[k].ms - p[i].ms < span_ms)
		k++;
	return k;
}

static bool
is_level(uint64_t rate, uint64_t level)
{
	return rate * 100 >= level * LEVEL_LOW &&
	    rate * 100 <= level * LEVEL_HIGH;
}

uint64_t
check_steady_rate(const struct check_point *p, size_t n)
{
	uint64_t whole, span, level;
	size_t from;

	if (n < 3)
		return 0;
	whole = p[n - 1].ms - p[0].ms;
	span = MAX(whole / 8, (uint64_t)1);
	from = span_behind(p, n, 0, whole * 3 / 5);
	level = rate_between(&p[from], &p[n - 1]);
	while (from > 0 && is_level(rate_between(&p[from - 1],
		&p[span_behind(p, n, from - 1, span)]), level))
		from--;
	return rate_between(&p[from], &p[n - 1]);
}

bool
check_is_steady(const struct check_point *p, size_t n, uint64_t span_ms)
{
	uint64_t least = UINT64_MAX, most = 0, rate;
	size_t end = n, begin;

	for (int i = 0; i < SPANS; i++) {
		if (end < 2)
			return false;
		begin = span_before(p, end - 1, span_ms);
		if (p[end - 1].ms - p[begin].ms < span_ms)
			return false;
		rate = rate_between(&p[begin], &p[end - 1]);
		least = MIN(least, rate);
		most = MAX(most, rate);
		end = begin + 1;
	}
	return most > 0 && (most - least) * 100 <= most * SAME_RATE;
}

/* ---- limits -------------------------------------------------------------- */

const char *
check_limit_name(enum check_limit l)
{
	static const char *const names[CHECK_LIMITS] = {
		[CHECK_LIMIT_UNKNOWN] = "unknown",
		[CHECK_LIMIT_DISK] = "disk",
		[CHECK_LIMIT_CPU] = "cpu",
		[CHECK_LIMIT_RECEIVE_BUFFER] = "receive-buffer",
		[CHECK_LIMIT_SEND_BUFFER] = "send-buffer",
		[CHECK_LIMIT_WINDOW] = "ssh-window",
		[CHECK_LIMIT_LOSS] = "loss",
		[CHECK_LIMIT_PATH] = "path",
		[CHECK_LIMIT_SERVER] = "server",
	};

	return names[l];
}

static const char *
sender(const struct check_facts *f)
{
	return f->up ? "here" : "on the host";
}

/* A buffer that is wide enough: twice the present one, and four times the bytes
 * under way, because the kernel uses half of a buffer for itself; 4 MiB at
 * least. */
static uint64_t
buffer_wanted(const struct check_path *n, uint64_t now)
{
	uint64_t least = MAX(now * 2, 4 * n->bdp);

	return why_slow_buffer(MAX(least, (uint64_t)4 << 20));
}

static void
say_buffer(const struct check_facts *f, struct check_expected *out,
    bool receive)
{
	const struct check_path *n = f->path;
	bool here = receive != f->up;
	uint64_t now = !here ? 0 : receive ? n->receive_limit : n->send_limit;

	buf_printf(&out->why, "the %s buffer of TCP %s",
	    receive ? "receive" : "send", here ? "here" : "on the host");
	if (now > 0)
		buf_printf(&out->why, ", at most %" PRIu64 " KiB", now >> 10);
	buf_printf(&out->change, "sysctl -w net.ipv4.tcp_%s=\"4096 %s %"
				 PRIu64 "\" (%s)",
	    receive ? "rmem" : "wmem", receive ? "131072" : "16384",
	    buffer_wanted(n, now), here ? "here" : "on the host");
}

static uint64_t
lost_per_million(const struct check_facts *f)
{
	const struct check_path *n = f->path;
	uint64_t sent = f->up ? n->segments_up : n->segments_down;
	uint64_t again = f->up ? n->again_up : n->again_down;

	return why_slow_again(again, sent);
}

/* The integer root, bit by bit. */
static uint64_t
root(uint64_t v)
{
	uint64_t r = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
		if ((r | bit) * (r | bit) <= v)
			r |= bit;
	return r;
}

/* Computes the rate at which losses hold the connections. The mean window of
 * AIMD, and of cubic on such paths (RFC 8312 section 4.2), is the root of 3 /
 * (2 p) segments; measured over minutes, Linux's is a tenth wider. If the path
 * was full at any time, it has lost packets for that reason, and the losses say
 * nothing about the path. */
uint64_t
check_loss_rate(const struct check_path *path, const struct check_moved *moved,
    bool up)
{
	uint64_t sent = moved->late_segments, again = moved->late_again;

	uint64_t rate;

	if (!path->known || moved->queued || moved->filled ||
	    path->least_us < NEAR_US ||
	    !(up ? path->up_backs_off : path->down_backs_off) || again == 0 ||
	    again * 1000000 < sent * LOSS_PER_MILLION)
		return UINT64_MAX;
	rate = moved->connections * path->mss *
	    root(sent * (1500000 / 100 * WIDER) / again) * 1000 /
	    path->least_us;
	/* A rate does not fall that far: there was a queue that was not
	 * seen. */
	return rate * FALLS_MOST < moved->rate ? UINT64_MAX : rate;
}

static void
say_loss(const struct check_facts *f, struct check_expected *out)
{
	uint64_t lost = lost_per_million(f);

	buf_printf(&out->why, "the path: %" PRIu64 ".%02" PRIu64
			      " %% of the packets are sent again",
	    lost / 10000, lost / 100 % 100);
	if (f->up && strcmp(f->path->congestion, "bbr") == 0)
		return;
	buf_printf(&out->change, "CongestionControl bbr in the configuration "
				 "%s", sender(f));
}

static void
say_cpu(const struct check_facts *f, struct check_expected *out)
{
	const struct check_ciphers *k = f->ciphers;
	const char *name = f->up ? k->up : k->down;
	uint64_t own = f->up ? k->encrypts : k->decrypts;

	buf_printf(&out->why, "this computer: a core was busy for %u %% of "
			      "the time", f->moved->cpu);
	if (own > 0)
		buf_printf(&out->why, " (%s alone: %" PRIu64 " MB/s)", name,
		    own / 1000000);
	if (k->best_rate > own + own / 4)
		buf_printf(&out->change, "-c %s", k->best);
}

static void
say_window(const struct check_facts *f, struct check_expected *out)
{
	buf_printf(&out->why, "the SSH windows of the host");
	if (f->moved->refused)
		buf_printf(&out->change, "MaxSessions 32 in sshd_config on "
					 "the host");
	else
		buf_printf(&out->change, "hpnsshd on the host, whose windows "
					 "grow");
}

static void
say_path(const struct check_facts *f, struct check_expected *out)
{
	buf_printf(&out->why, "the path: %s", f->moved->queued ?
	    "packets wait in a queue on it, so it is full" :
	    "it gave no more");
	if (f->moved->refused && !f->moved->queued)
		buf_printf(&out->change, "MaxStartups 30:30:100 in "
		    "sshd_config on the host, which refused connections");
}

static bool
is_near(const struct check_path *n)
{
	return !n->known || n->least_us < NEAR_US;
}

/* True if the rate of reading shows the disk's. Over a long path it shows what
 * one connection gives, unless it is much lower than that. */
static bool
disk_shows(const struct check_facts *f)
{
	const struct check_disk *d = f->disk;
	uint64_t one = f->moved->rate / MAX(f->moved->connections, 1u);

	return d->reread && !d->cached && (is_near(f->path) ||
	    d->read * 2 < one);
}

/* Lowers the rate to that of the disk if the disk is slower than all else.
 * Returns whether it is. */
static bool
limit_by_disk(const struct check_facts *f, struct check_expected *out)
{
	const struct check_disk *d = f->disk;
	uint64_t rate;

	if (!d->known)
		return false;
	/* The host writes to the disk while data arrives, so the slower of the
	 * two counts. On a long path, the time to take a file shows how TCP
	 * begins, not how fast the host takes data. */
	rate = !f->up ? d->read : d->synced ? d->sync : d->write;
	if (f->up && is_near(f->path))
		rate = MIN(rate, d->taken);
	if (rate == 0 || (!f->up && !disk_shows(f)) ||
	    (out->rate != 0 && rate * 100 >= out->rate * 95))
		return false;
	out->rate = rate;
	buf_printf(&out->why, "the disk of the host, which %s %" PRIu64
			      " MB/s", f->up ? "writes" : "reads",
	    rate / 1000000);
	return true;
}

/* The buffer, receiver's or sender's, that has held data back for most of the
 * time; CHECK_LIMIT_UNKNOWN: neither has long enough. */
static enum check_limit
limit_by_buffer(const struct check_path *n, bool up)
{
	unsigned by_receiver = up ? n->up_receiver : n->down_receiver;
	unsigned by_sender = up ? n->up_sender : n->down_sender;

	if (!n->known || MAX(by_receiver, by_sender) < HELD_PERCENT)
		return CHECK_LIMIT_UNKNOWN;
	return by_receiver >= by_sender ? CHECK_LIMIT_RECEIVE_BUFFER :
					  CHECK_LIMIT_SEND_BUFFER;
}

static enum check_limit
limit_of(const struct check_facts *f)
{
	const struct check_path *n = f->path;
	const struct check_moved *m = f->moved;
	enum check_limit buffer = limit_by_buffer(n, f->up);

	if (m->cpu >= CPU_BUSY)
		return CHECK_LIMIT_CPU;
	if (is_near(n))
		return CHECK_LIMIT_SERVER;
	if (buffer != CHECK_LIMIT_UNKNOWN)
		return buffer;
	if (f->up && m->held)
		return CHECK_LIMIT_WINDOW;
	if (!m->queued && lost_per_million(f) >= LOSS_PER_MILLION)
		return CHECK_LIMIT_LOSS;
	return CHECK_LIMIT_PATH;
}

static void
say(const struct check_facts *f, struct check_expected *out)
{
	switch (out->limit) {
	case CHECK_LIMIT_CPU:
		say_cpu(f, out);
		break;
	case CHECK_LIMIT_RECEIVE_BUFFER:
	case CHECK_LIMIT_SEND_BUFFER:
		say_buffer(f, out,
		    out->limit == CHECK_LIMIT_RECEIVE_BUFFER);
		break;
	case CHECK_LIMIT_WINDOW:
		say_window(f, out);
		break;
	case CHECK_LIMIT_LOSS:
		say_loss(f, out);
		break;
	case CHECK_LIMIT_PATH:
		say_path(f, out);
		break;
	case CHECK_LIMIT_SERVER:
		buf_printf(&out->why, "the host's processor, or its limits");
		break;
	default:
		break;
	}
}

void
check_expect(const struct check_facts *f, struct check_expected *out)
{
	*out = (struct check_expected){ .rate = 0 };
	if (f->moved->known) {
		uint64_t by_loss = check_loss_rate(f->path, f->moved, f->up);

		out->rate = MIN(f->moved->rate, by_loss);
		out->limit = limit_of(f);
		if (by_loss < f->moved->rate)
			out->limit = CHECK_LIMIT_LOSS;
	}
	if (limit_by_disk(f, out))
		out->limit = CHECK_LIMIT_DISK;
	else
		say(f, out);
}

void
check_expected_clear(struct check_expected *e)
{
	buf_clear(&e->why);
	buf_clear(&e->change);
}
