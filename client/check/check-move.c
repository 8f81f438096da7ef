/* SPDX-License-Identifier: ISC */
/*
 * Moves data for a check: random bytes to the host's /dev/null, and zeros from
 * its /dev/zero, so that no disk there counts. Streams are opened by the same
 * decisions as in a copy (xfer/streams/transfer-growth.h), so that the rate is
 * that of a copy.
 *
 * The devices are opened without CREAT and TRUNC, and only WRITE and READ are
 * asked for: not even root's check changes anything on the host. If they are no
 * devices (in another root directory), nothing is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/unnamed.h"
#include "client/check/check-internal.h"
#include "client/sshclient.h"
#include "compat/queue.h"
#include "crypto/rand.h"
#include "xfer/state/transfer-limits.h"
#include "xfer/streams/transfer-growth.h"

enum {
	/* Bytes of the source: more than a processor's cache has, so it is like
	 * a file in memory. */
	SOURCE_BYTES = 64 * 1024 * 1024,
	SOURCE_PIECE = 1024 * 1024,
	WINDOW_MIN = 1024 * 1024,
	WINDOW_MAX = 64 * 1024 * 1024, /* of all lanes together */
	WINDOW_FIXED = 4 * 1024 * 1024, /* windows that are wider follow the
					 * path */
	SAMPLE_MS = 100,
	POINT_MS = 35,
	TURN_MS = 20,
	SPAN_MIN_MS = 400,
	SPAN_TRIPS = 4,
	STEADY_SPANS = 3,
	START_MS = 1000,
	START_TRIPS = 12,
	DRAIN_MS = 2500, /* time limit for the answers to what is under way */
	/* seconds that are left, as far as the decisions about streams know: as
	 * for a large copy */
	SECONDS_LEFT = 20,
	QUEUE_US = 1000, /* a shorter delay may be due to the hosts */
	FILLED_PART = 20, /* a path counts as filled if one sample in so many
			   * shows a queue */
	QUEUE_PART = 4,	 /* a path counts as queued if one sample in so many
			  * shows a queue */
};
#define BULK_LEFT (UINT64_C(1) << 30)

enum lane_state {
	LANE_NEW,
	LANE_OPENING,
	LANE_MOVING,
	LANE_ENDED,
};

/* A lane: one stream of the check. */
struct lane {
	struct check_lanes *m;
	struct sftp *s;
	bool idle;
	enum lane_state state;
	struct sftp_handle handle;
	unsigned connection;
	uint64_t offset;	  /* of the next request */
	uint64_t moved;		  /* bytes of data whose answers have come */
	uint64_t sample_moved, sample_ms, rate;
	uint64_t in_flight, window;
	TAILQ_ENTRY(lane) entry;
};

struct check_lanes {
	struct check *c;
	struct xfer_streams streams;
	TAILQ_HEAD(lane_list, lane) lanes;
	struct xfer_growth growth;
	unsigned to_open, channels;
	bool up, channels_stopped, sending;
	uint64_t moved; /* bytes of all lanes in this direction */
	uint64_t begun_ms, sampled_ms, sample_moved, sample_arrived, stall_ms;
	uint64_t rtt_ms;
	struct check_sums late; /* sums at the end of the slow start */
	struct check_asked asked;
	bool is_late;
	uint64_t changed_ms; /* clock_ms() when the connections that take work
			      * last changed */
	/* Numbers: of samples, and of the samples that saw a queue on the
	 * path. */
	unsigned samples, queued;
	struct check_point points[CHECK_POINTS];
	size_t n_points;
	char words[CHECK_WORDS_MAX]; /* the reason why a lane was refused */
	int source; /* descriptor of the file that is sent: SOURCE_BYTES,
		     * random */
	struct check_moved *out;
};

/* ---- data ---------------------------------------------------------------- */

static void
end_lane(struct lane *l, const char *words)
{
	l->state = LANE_ENDED;
	if (words != NULL && l->m->words[0] == '\0')
		snprintf(l->m->words, sizeof l->m->words, "%s", words);
}

static void
count(struct lane *l, uint64_t len)
{
	l->moved += len;
	l->m->moved += len;
}

static void
on_written(void *arg, const struct sftp_reply *r)
{
	struct lane *l = arg;
	uint64_t len = MIN(l->in_flight,
	    MIN((uint64_t)XFER_BLOCK_MAX, sftp_write_max(l->s)));

	l->in_flight -= len;
	if (l->state != LANE_MOVING)
		return;
	if (r->err != 0 || r->status != SFTP_OK)
		end_lane(l, r->err != 0 ? err_text(r->err) : r->words);
	else
		count(l, len);
}

static void
on_read(void *arg, const struct sftp_reply *r)
{
	struct lane *l = arg;
	uint64_t len = MIN(l->in_flight,
	    MIN((uint64_t)XFER_BLOCK_MAX, sftp_read_max(l->s)));

	l->in_flight -= len;
	if (l->state != LANE_MOVING)
		return;
	if (r->err != 0 || r->status != SFTP_OK || r->data_len == 0)
		end_lane(l, r->err != 0 ? err_text(r->err) :
		    r->status != SFTP_OK ? r->words : "no data came");
	else
		count(l, r->data_len);
}

/* Fills the output from the file, as a copy does. Blocks have one size, so that
 * each answer stands for the same number of bytes. */
static void
send_writes(struct lane *l)
{
	uint32_t len = MIN((uint32_t)XFER_BLOCK_MAX, sftp_write_max(l->s));

	while (l->state == LANE_MOVING &&
	    sftp_output_len(l->s) < XFER_OUTPUT_MAX &&
	    l->in_flight < WINDOW_MAX) {
		uint64_t at = l->offset % (SOURCE_BYTES - len);

		if (sftp_error(l->s) != 0)
			return;
		l->in_flight += len;
		l->offset += len;
		sftp_write_file(l->s, &l->handle, at, len, l->m->source,
		    on_written, l);
	}
}

static void
send_reads(struct lane *l)
{
	uint32_t len = MIN((uint32_t)XFER_BLOCK_MAX, sftp_read_max(l->s));

	while (l->state == LANE_MOVING && l->in_flight < l->window) {
		l->in_flight += len;
		l->offset += len;
		sftp_read(l->s, &l->handle, l->offset - len, len, check_no_data,
		    on_read, l);
	}
}

/* ---- lanes --------------------------------------------------------------- */

static void
on_opened(void *arg, const struct sftp_reply *r)
{
	struct lane *l = arg;

	if (r->err != 0 || r->status != SFTP_OK ||
	    r->handle.len > sizeof l->handle.bytes || r->handle.len == 0) {
		end_lane(l, r->err != 0 ? err_text(r->err) : r->words);
		return;
	}
	l->handle.len = (uint32_t)r->handle.len;
	memcpy(l->handle.bytes, r->handle.p, r->handle.len);
	l->state = LANE_MOVING;
	l->sample_ms = clock_ms();
}

static const char *
device_of(const struct check_lanes *m)
{
	return m->up ? "/dev/null" : "/dev/zero";
}

static void
open_device(struct lane *l)
{
	l->state = LANE_OPENING;
	sftp_open(l->s, device_of(l->m), l->m->up ? SFTP_O_WRITE : SFTP_O_READ,
	    NULL, on_opened, l);
}

static int
add_lane(struct check_lanes *m, struct sftp *s)
{
	struct lane *l = calloc(1, sizeof *l);

	if (l == NULL)
		return ERR_NOMEM;
	l->m = m;
	l->s = s;
	l->window = WINDOW_MIN;
	TAILQ_INSERT_TAIL(&m->lanes, l, entry);
	return 0;
}

static int
open_lane(struct check_lanes *m, enum xfer_stream_kind kind,
    uint64_t among)
{
	struct sftp *s;
	int r = m->streams.ops->open(m->streams.arg, kind, among, &s);

	if (r == 0 && (r = add_lane(m, s)) != 0)
		m->streams.ops->close(m->streams.arg, s);
	return r;
}

/* Opens the lanes that were decided on. A connection that is refused shows as a
 * lane that has ended. */
static void
open_more(struct check_lanes *m)
{
	int r = 0;

	while (m->to_open > 0 && r == 0) {
		r = open_lane(m, XFER_STREAM_CONNECTION, 0);
		if (r == ERR_AGAIN)
			return;
		m->to_open--;
	}
	if (r < 0) {
		m->to_open = 0;
		m->growth.stopped = true;
	}
}

static void
open_channels(struct check_lanes *m, unsigned add, uint64_t among)
{
	while (add-- > 0 && !m->channels_stopped) {
		m->channels_stopped =
		    open_lane(m, XFER_STREAM_CHANNEL, among) != 0;
		m->channels += !m->channels_stopped;
	}
}

/* ---- how many: what a copy measures -------------------------------------- */

static void
adapt(struct lane *l, uint64_t now, uint64_t rtt)
{
	uint64_t took = now - l->sample_ms, rate;

	if (l->state != LANE_MOVING || took < MAX(rtt, (uint64_t)5))
		return;
	rate = (l->moved - l->sample_moved) * 1000 / took;
	l->window = (rate > l->rate + l->rate / 4 ? 4 : 2) * rate *
	    MAX(rtt, (uint64_t)1) / 1000;
	l->window = MAX(l->window, (uint64_t)WINDOW_MIN);
	l->window = MIN(l->window, (uint64_t)WINDOW_MAX);
	l->rate = rate > l->rate ? rate : (3 * l->rate + rate) / 4;
	l->sample_moved = l->moved;
	l->sample_ms = now;
}

static void
measure(struct check_lanes *m, uint64_t now, struct xfer_streams_view *v)
{
	uint64_t ready = 0, moving = 0, rates[64] = { 0 };
	struct xfer_stream_stats path;
	struct lane *l;

	*v = (struct xfer_streams_view){ .fixed = m->up,
		.bulk_left = BULK_LEFT };
	TAILQ_FOREACH(l, &m->lanes, entry) {
		if (l->state == LANE_ENDED || sftp_error(l->s) != 0)
			continue;
		m->streams.ops->path(m->streams.arg, l->s, &path);
		l->connection = MIN(path.connection, 63u);
		adapt(l, now, path.rtt_us / 1000 + 1);
		v->rtt_ms = MAX(v->rtt_ms, path.rtt_us / 1000 + 1);
		v->fixed = v->fixed && path.send_window <= WINDOW_FIXED;
		v->widens = v->widens || path.widens;
		v->windows += l->idle ? 0 : path.send_window;
		v->busy |= l->idle ? 0 : UINT64_C(1) << l->connection;
		v->rate += l->rate;
		v->stalled_ms = MAX(v->stalled_ms, path.window_stall_ms);
		rates[l->connection] += l->rate;
		v->top = MAX(v->top, rates[l->connection]);
		if (!l->idle)
			xfer_view_add_trip(v, &path, l->moved > 0, m->up);
		if ((ready & UINT64_C(1) << l->connection) == 0)
			v->arrived += path.arrived;
		if (sftp_has_version(l->s))
			ready |= UINT64_C(1) << l->connection;
		if (l->moved > 0)
			moving |= UINT64_C(1) << l->connection;
	}
	for (unsigned i = 0; i < 64; i++) {
		v->ready += (unsigned)(ready >> i & 1);
		v->connections += (unsigned)(moving >> i & 1);
	}
}

/* Lets as many connections take work as the decisions say, the first ones;
 * others are idle. */
static void
let_idle(struct check_lanes *m)
{
	unsigned use = m->c->copy.connections != 0 ? 64 :
	    MAX(m->growth.use, 1u);
	uint64_t busy = 0;
	struct lane *l;

	TAILQ_FOREACH(l, &m->lanes, entry) {
		uint64_t bit = UINT64_C(1) << l->connection;

		if (l->state == LANE_ENDED || !sftp_has_version(l->s))
			continue;
		l->idle = (busy & bit) == 0 && use == 0;
		if (!l->idle && (busy & bit) == 0) {
			busy |= bit;
			use--;
		}
	}
}

static void
decide(struct check_lanes *m, uint64_t now, struct xfer_streams_view *v)
{
	uint64_t took = now - m->sampled_ms;
	struct xfer_sample s;
	unsigned add;

	xfer_view_complete(v, m->sample_arrived, m->stall_ms, took);
	add = xfer_channels_next(m->channels, v);
	open_channels(m, add, v->busy);
	s = xfer_sample_of(v);
	s.now_ms = now;
	s.rate = (double)(m->moved - m->sample_moved) * 1000 / (double)took;
	s.seconds_left = SECONDS_LEFT;
	s.bulk_left = BULK_LEFT;
	s.max = m->c->copy.connections;
	s.window_bound = xfer_window_bound(v, add, m->channels_stopped);
	m->out->held = v->held;
	if (!v->held || s.window_bound)
		m->to_open += xfer_growth_next(&m->growth, &s);
	m->samples++;
	m->queued += v->least_us != 0 &&
	    v->trip_us > v->least_us + v->least_us / 4 + QUEUE_US;
	m->sampled_ms = now;
	m->sample_moved = m->moved;
	m->sample_arrived = v->arrived;
	m->stall_ms = v->stalled_ms;
}

static void
grow(struct check_lanes *m, uint64_t now)
{
	struct xfer_streams_view v;
	unsigned early, use = m->growth.use, opened = m->growth.asked;

	measure(m, now, &v);
	m->rtt_ms = v.rtt_ms;
	early = xfer_streams_early(v.rtt_ms * 1000, BULK_LEFT,
	    m->c->copy.connections);
	if (!m->growth.stopped && m->growth.asked == 0 && early > 0 &&
	    m->c->copy.connections == 0)
		m->to_open += xfer_growth_begin(&m->growth, early);
	open_more(m);
	let_idle(m);
	open_channels(m, xfer_channels_next(m->channels, &v), v.busy);
	if (now - m->sampled_ms >= MAX((uint64_t)SAMPLE_MS, v.rtt_ms) &&
	    m->moved > m->sample_moved)
		decide(m, now, &v);
	if (use != m->growth.use || opened != m->growth.asked)
		m->changed_ms = now;
}

/* ---- a direction --------------------------------------------------------- */

static void
note_point(struct check_lanes *m, uint64_t now)
{
	uint64_t ms = now - m->begun_ms;

	if (m->n_points == CHECK_POINTS || (m->n_points > 0 &&
		ms < m->points[m->n_points - 1].ms + POINT_MS))
		return;
	m->points[m->n_points++] = (struct check_point){ .ms = ms,
		.bytes = m->moved };
}

/* Notes the figures at the end of the slow start: losses during the start are
 * its own doing, and do not count. The server's figures are asked for, and
 * taken at the end, while data moves on. */
static void
note_late(struct check_lanes *m, uint64_t now)
{
	if (m->is_late ||
	    now - m->begun_ms < START_MS + START_TRIPS * m->rtt_ms)
		return;
	m->is_late = true;
	if (m->up)
		m->late = check_sums_here(m->c);
	else
		check_ask(m->c, &m->asked);
}

/* True if packets are lost although no queue shows that the path is full: the
 * rate may then fall for a long time. Losses of what the host sends do not show
 * here during a direction, so a path that was lossy in one direction is taken
 * to be so in the other. */
static bool
is_lossy(const struct check_lanes *m)
{
	const struct check_moved *up = &m->c->up;

	if (m->queued * QUEUE_PART >= m->samples)
		return false;
	return m->up ? check_sums_here(m->c).again > m->late.again :
		       up->late_again > 0 && !up->queued;
}

static bool
is_enough(const struct check_lanes *m, uint64_t now)
{
	uint64_t ms = now - m->begun_ms;

	uint64_t span = MAX((uint64_t)SPAN_MIN_MS, SPAN_TRIPS * m->rtt_ms);
	uint64_t most = m->c->path != NULL ? CHECK_MOVE_SHORT_MS :
					     CHECK_MOVE_MS;

	if (m->c->stop || m->moved >= CHECK_MOVE_BYTES || ms >= most ||
	    check_left(m->c, 1) == 0)
		return true;
	return m->is_late && m->to_open == 0 && !is_lossy(m) &&
	    now - m->changed_ms >= STEADY_SPANS * span &&
	    check_is_steady(m->points, m->n_points, span);
}

/* Gives each lane work. False: no lane is left. */
static bool
feed(struct check_lanes *m)
{
	struct lane *l;
	bool any = false;

	TAILQ_FOREACH(l, &m->lanes, entry) {
		if (l->state != LANE_ENDED && sftp_error(l->s) != 0)
			end_lane(l, NULL);
		if (l->state == LANE_NEW && sftp_has_version(l->s))
			open_device(l);
		any = any || l->state != LANE_ENDED;
		if (l->state != LANE_MOVING || l->idle)
			continue;
		if (m->up)
			send_writes(l);
		else
			send_reads(l);
	}
	return any;
}

/* Waits a short time for the answers that are still to come. */
static int
drain(struct check_lanes *m)
{
	uint64_t until = clock_ms() + check_left(m->c, DRAIN_MS);
	struct lane *l;
	int r = 0;

	while (r == 0 && !m->c->stop && clock_ms() < until) {
		TAILQ_FOREACH(l, &m->lanes, entry)
			if (l->state == LANE_MOVING && l->in_flight > 0 &&
			    sftp_error(l->s) == 0)
				break;
		if (l == NULL)
			break;
		r = m->streams.ops->turn(m->streams.arg, TURN_MS);
	}
	TAILQ_FOREACH(l, &m->lanes, entry)
		if (l->state == LANE_MOVING && sftp_error(l->s) == 0)
			sftp_close(l->s, &l->handle, NULL, NULL);
	return r;
}

static int
run(struct check_lanes *m)
{
	uint64_t now = clock_ms(), grown = 0;
	bool any = true;
	int r = 0;

	while (r == 0 && any && !is_enough(m, now)) {
		any = feed(m);
		r = m->streams.ops->turn(m->streams.arg, TURN_MS);
		now = clock_ms();
		note_point(m, now);
		note_late(m, now);
		if (now - grown >= 5) {
			grow(m, now);
			grown = now;
		}
	}
	return r;
}

static void
conclude(struct check_lanes *m, uint64_t cpu_us)
{
	const struct check_point *last = &m->points[m->n_points - 1];
	struct check_moved *out = m->out;
	uint64_t connections = 0, bulk_ms;
	const struct lane *l;

	if (m->n_points < 3 || last->ms == 0 || last->bytes == 0)
		return;
	out->bytes = last->bytes;
	out->ms = last->ms;
	out->rate = check_steady_rate(m->points, m->n_points);
	out->known = out->rate > 0;
	out->queued = m->queued * QUEUE_PART >= m->samples;
	out->filled = m->queued * FILLED_PART >= m->samples;
	out->cpu = (unsigned)MIN(cpu_us / 10 / out->ms, (uint64_t)100);
	bulk_ms = out->rate > 0 ? out->bytes * 1000 / out->rate : 0;
	out->start_ms = out->ms > bulk_ms ? out->ms - bulk_ms : 0;
	TAILQ_FOREACH(l, &m->lanes, entry) {
		out->refused = out->refused || (sftp_error(l->s) != 0 &&
		    !sftp_has_version(l->s));
		if (l->moved == 0 || l->idle)
			continue;
		out->channels++;
		if ((connections & UINT64_C(1) << l->connection) == 0)
			out->connections++;
		connections |= UINT64_C(1) << l->connection;
	}
}

static void
count_losses(struct check_lanes *m)
{
	struct check_sums now;

	if (!m->is_late)
		return;
	now = check_sums_here(m->c);
	if (!m->up) {
		m->late = check_answered(m->c, &m->asked);
		check_ask(m->c, &m->asked);
		now = check_answered(m->c, &m->asked);
	}
	if (now.sent < m->late.sent || now.again < m->late.again)
		return; /* a connection has ended */
	m->out->late_segments = now.sent - m->late.sent;
	m->out->late_again = now.again - m->late.again;
}

/* True if the path is that of a device at the host. */
static bool
is_device(struct check_lanes *m, const char *what)
{
	struct check_call *call = check_call_new();
	struct check_answer a;

	if (call != NULL)
		sftp_path_request(m->c->sftp, SFTP_STAT, device_of(m),
		    check_call_done, call);
	if (!check_call_wait(m->c, call, check_left(m->c, CHECK_ANSWER_MS),
		&a) ||
	    a.status != SFTP_OK) {
		check_fail(m->c, what, a.words);
		return false;
	}
	if (!(a.attrs.flags & SFTP_A_MODE) || !S_ISCHR(a.attrs.mode)) {
		check_fail(m->c, what, "the host's SFTP server shows no device "
				       "for that");
		return false;
	}
	return true;
}

static void
begin(struct check_lanes *m, bool up)
{
	struct lane *l;

	m->up = up;
	m->out = up ? &m->c->up : &m->c->down;
	m->out->tried = true;
	m->growth = (struct xfer_growth){ .stopped = m->growth.stopped,
		.asked = m->growth.asked };
	m->moved = m->sample_moved = m->n_points = 0;
	m->samples = m->queued = 0;
	m->is_late = false;
	m->words[0] = '\0';
	m->begun_ms = m->sampled_ms = clock_ms();
	TAILQ_FOREACH(l, &m->lanes, entry) {
		/* A lane with requests under way is given up, because late
		 * answers would count as new data. */
		l->state = l->in_flight > 0 || sftp_error(l->s) != 0 ?
		    LANE_ENDED : LANE_NEW;
		l->idle = false;
		l->offset = l->moved = l->sample_moved = l->rate = 0;
		l->window = WINDOW_MIN;
	}
}

void
check_move(struct check_lanes *m, bool up)
{
	const char *what = up ? "sending" : "receiving";
	uint64_t cpu_us;

	begin(m, up);
	if (!is_device(m, what))
		return;
	m->begun_ms = m->sampled_ms = clock_ms();
	cpu_us = clock_thread_us();
	(void)!run(m);
	cpu_us = clock_thread_us() - cpu_us;
	conclude(m, cpu_us);
	count_losses(m);
	(void)!drain(m);
	if (!m->out->known && !m->c->stop)
		check_fail(m->c, what, m->words[0] != '\0' ? m->words :
							     "too little "
							     "moved");
}

/* ---- life ---------------------------------------------------------------- */

/* Makes the file that is sent. It is read as a copy reads its source, because
 * that takes about as much processor time as all the rest. */
static int
make_source(int *out)
{
	uint8_t *piece = malloc(SOURCE_PIECE);
	int fd = unnamed_file("hpnssh-check"), r = 0;

	if (piece == NULL || fd < 0) {
		r = piece == NULL ? ERR_NOMEM : ERR_SYSTEM;
		fd_close(&fd);
	}
	for (int at = 0; r == 0 && at < SOURCE_BYTES; at += SOURCE_PIECE) {
		rand_bytes(piece, SOURCE_PIECE);
		r = fd_write_all(fd, piece, SOURCE_PIECE);
	}
	free(piece);
	*out = fd;
	return r;
}

int
check_lanes_new(struct check_lanes **out, struct check *c)
{
	struct check_lanes *m = calloc(1, sizeof *m);
	int r;

	if (m == NULL)
		return ERR_NOMEM;
	if ((r = make_source(&m->source)) != 0) {
		fd_close(&m->source);
		free(m);
		return r;
	}
	m->c = c;
	m->streams = remote_streams(c->remote);
	m->channels = 1;
	TAILQ_INIT(&m->lanes);
	if ((r = add_lane(m, c->sftp)) != 0) {
		fd_close(&m->source);
		free(m);
		return r;
	}
	*out = m;
	return 0;
}

void
check_lanes_free(struct check_lanes *m)
{
	struct lane *l;

	if (m == NULL)
		return;
	while ((l = TAILQ_FIRST(&m->lanes)) != NULL) {
		TAILQ_REMOVE(&m->lanes, l, entry);
		free(l);
	}
	fd_close(&m->source);
	free(m);
}
