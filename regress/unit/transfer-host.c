/* SPDX-License-Identifier: ISC */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "regress/unit/help.h"
#include "xfer/serve/sftp-serve-internal.h"

enum {
	STUCK = 20000, /* idle turns in a row; at least 100 s */
	INIT_BYTES = 9,
	ALL_ATTRS = 0x0f,
	AT_ONCE = 4 << 20,
	STOPPED_ROOM = 1 << 20,
};
#define OUR_ID 0xfffffff0u /* of a request that no client made */

char host_dir[64];

/* ---- a host in memory --------------------------------------------------- */

unsigned
host_random(struct host *h, unsigned n)
{
	h->seed = h->seed * 1103515245 + 12345;
	return (h->seed >> 16) % n;
}

static void
stream_dies(struct host_stream *l)
{
	sftp_serve_free(l->server);
	l->server = NULL;
	buf_reset(&l->taken);
	buf_reset(&l->chosen);
	buf_reset(&l->wire);
	(void)!sftp_feed_end(l->client, ERR_CLOSED);
}

static struct host_stream *
stream_of(struct host *h, const struct sftp *s)
{
	for (size_t i = 0; i < HOST_STREAMS; i++)
		if (h->streams[i].client == s)
			return &h->streams[i];
	fail_msg("no such stream");
	return NULL;
}

void
host_lose(struct host *h, const struct sftp *s)
{
	stream_dies(stream_of(h, s));
}

static int
host_open(void *arg, enum xfer_stream_kind kind, uint64_t among,
    struct sftp **out)
{
	const struct sftp_serve_opts opts = { .home = host_dir };
	struct host *h = arg;
	struct host_stream *l = stream_of(h, NULL);

	/* A channel is of a connection that takes work. */
	assert_int_equal(among != 0, kind == XFER_STREAM_CHANNEL);
	if (h->opened == 1 && h->second != NULL)
		h->second();
	assert_int_equal(sftp_serve_new(&l->server, &opts), 0);
	if (h->handles != 0)
		l->server->handles_max = h->handles;
	assert_int_equal(sftp_new(&l->client), 0);
	*out = l->client;
	h->opened++;
	h->asked[kind]++;
	if (h->refuse > 0 || (h->opened > 1 && h->refuses[kind])) {
		h->refuse -= h->refuse > 0;
		stream_dies(l);
	}
	return 0;
}

/* What a stopped server was sent stays with it. */
static void
keep_late(struct host *h, struct host_stream *l)
{
	struct host_stream *to = h->late;

	if (!l->stopped || l->server == NULL)
		return;
	while (to->server != NULL)
		to++;
	assert_true(to < h->late + HOST_STREAMS);
	to->server = l->server;
	to->taken = l->taken;
	l->server = NULL;
	buf_init(&l->taken);
}

void
host_do_late(struct host *h)
{
	for (size_t i = 0; i < HOST_STREAMS; i++)
		if (h->streams[i].client != NULL &&
		    sftp_error(h->streams[i].client) != 0)
			keep_late(h, &h->streams[i]);
	for (size_t i = 0; i < HOST_STREAMS; i++) {
		struct host_stream *l = &h->late[i];

		if (l->server == NULL)
			continue;
		while (buf_len(&l->taken) > 0) {
			ssize_t n = sftp_serve_input(l->server,
			    buf_data(&l->taken), buf_len(&l->taken));

			assert_true(n >= 0);
			buf_consume(&l->taken, (size_t)n);
			buf_reset(sftp_serve_output(l->server));
			if (n == 0 && !sftp_serve_blocked(l->server))
				break; /* half of a request */
		}
		sftp_serve_free(l->server);
		buf_clear(&l->taken);
		*l = (struct host_stream){ .server = NULL };
	}
}

static void
host_close(void *arg, struct sftp *s)
{
	struct host *h = arg;
	struct host_stream *l = stream_of(h, s);

	keep_late(h, l);
	sftp_free(l->client);
	sftp_serve_free(l->server);
	buf_clear(&l->taken);
	buf_clear(&l->chosen);
	buf_clear(&l->wire);
	*l = (struct host_stream){ .client = NULL };
}

static void
host_path(void *arg, const struct sftp *s, struct xfer_stream_stats *out)
{
	struct host *h = arg;

	*out = h->path;
	if (out->rtt_us == 0)
		out->rtt_us = 100;
	out->connection = (unsigned)(stream_of(h, s) - h->streams);
}

/* Makes all extensions of VERSION that have this in their names ones that
 * nobody knows. */
static void
hide(uint8_t *p, size_t len, const char *name)
{
	uint8_t *at;

	while ((at = memmem(p, len, name, strlen(name))) != NULL)
		*at = '?';
}

/* What this host does not tell that it can. */
static void
hide_some(const struct host *h, uint8_t *p, size_t len)
{
	if (h->no_digests || h->stock || h->unordered)
		hide(p, len, "check-file");
	if (h->no_limits || h->unordered)
		hide(p, len, "limits@");
	if (h->unordered)
		hide(p, len, "expand-path");
	if (h->old_rename)
		hide(p, len, "posix-rename");
	if (h->no_small) {
		hide(p, len, "put-file");
		hide(p, len, "get-file");
	}
	if (h->no_stat_ns)
		hide(p, len, "stat-ns");
	/* Whatever is our own, also what will be: a client knows our server
	 * by any of them. */
	if (h->stock || h->unordered)
		hide(p, len, "@hpnssh.org");
}

/* Puts a reply on the wire; wrong sums in place of those of block-sums. */
static void
put_reply(const struct host *h, struct buf *wire, struct rd r)
{
	enum { HEAD = 5, SUM = 20, FEW = 50 };
	bool sums = h->lies.sums != 0 && r.p[0] == SFTP_EXTENDED_REPLY &&
	    r.len > FEW * SUM && (r.len - HEAD) % SUM == 0;
	uint8_t more[SUM] = { 0 };
	size_t at;

	if (sums && h->lies.sums == 2)
		r.len--;
	at = buf_len(wire);
	buf_put_u32(wire, (uint32_t)(r.len + (sums && h->lies.sums == 3 ?
		sizeof more : 0)));
	buf_put(wire, r.p, r.len);
	if (sums && h->lies.sums == 3)
		buf_put(wire, more, sizeof more);
	if (sums && h->lies.sums == 1)
		for (size_t i = 0; i < r.len - HEAD; i += 7)
			((uint8_t *)buf_data(wire))[at + 4 + HEAD + i] ^= 0x55;
}

/* Takes the replies that are there; of several, any first. */
static void
collect(struct host *h, struct host_stream *l)
{
	struct buf *out = sftp_serve_output(l->server);
	struct rd r = rd_from_buf(out), replies[64];
	size_t n = 0, pick, at;

	while (n < ARRAY_LEN(replies) && r.len >= 4) {
		replies[n] = rd_sub(&r);
		if (replies[n].len < 5 ||
		    wire_get_u32(replies[n].p + 1) != OUR_ID)
			n++;
	}
	assert_int_equal(rd_err(&r), 0);
	while (n > 0) {
		uint8_t *p;

		pick = replies[0].p[0] != SFTP_VERSION_REPLY && !h->in_order ?
		    host_random(h, (unsigned)n) : 0;
		at = buf_len(&l->wire);
		put_reply(h, &l->wire, replies[pick]);
		p = (uint8_t *)buf_data(&l->wire) + at;
		if (p[4] == SFTP_VERSION_REPLY)
			hide_some(h, p, replies[pick].len);
		if (h->lies.small && p[4] == SFTP_EXTENDED_REPLY &&
		    wire_get_u32(p + 9) == ALL_ATTRS &&
		    host_random(h, 2) == 0)
			p[9 + host_random(h, 4)] ^= 0x81;
		if (p[4] == SFTP_DATA && h->corrupt > 0 && --h->corrupt == 0)
			p[13] ^= 0x20;
		memmove(&replies[pick], &replies[pick + 1],
		    (--n - pick) * sizeof *replies);
	}
	buf_consume(out, buf_len(out) - r.len);
}

/* Behind INIT somebody else opens a file, and keeps it. */
static void
take_first_handle(struct host_stream *l)
{
	struct buf b = { 0 };
	size_t mark = buf_open_string(&b);

	buf_put_u8(&b, SFTP_OPEN);
	buf_put_u32(&b, OUR_ID);
	/* A guess at the handle may change it. */
	buf_put_cstring(&b, "somebodys");
	buf_put_u32(&b, SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	sftp_put_attrs(&b, NULL);
	buf_close_string(&b, mark);
	assert_int_equal(sftp_serve_input(l->server, buf_data(&l->taken),
			     INIT_BYTES), INIT_BYTES);
	buf_consume(&l->taken, INIT_BYTES);
	assert_int_equal(sftp_serve_input(l->server, buf_data(&b),
			     buf_len(&b)), buf_len(&b));
	assert_int_equal(unlink("somebodys"), 0);
	buf_clear(&b);
	l->begun = true;
}

static void
all_die(struct host *h)
{
	for (size_t i = 0; i < HOST_STREAMS; i++)
		if (h->streams[i].server != NULL)
			stream_dies(&h->streams[i]);
}

static bool
has_handle(const struct rd *message)
{
	struct rd r = *message;
	uint8_t type = rd_u8(&r);

	(void)rd_u32(&r);
	return type == SFTP_READ || type == SFTP_WRITE || type == SFTP_FSTAT ||
	    type == SFTP_FSETSTAT || type == SFTP_READDIR ||
	    (type == SFTP_EXTENDED &&
		span_equals(rd_string(&r), "fsync@openssh.com"));
}

/* Takes a request out of those that have come: any that has a handle, or the
 * first of the others. */
static void
choose(struct host *h, struct host_stream *l)
{
	struct rd r = rd_from_buf(&l->taken), m;
	struct buf rest = { 0 };
	size_t from[64], to[64], n = 0, i;
	bool others = false;

	while (n < ARRAY_LEN(to) && r.len >= 4 &&
	    wire_get_u32(r.p) <= r.len - 4) {
		from[n] = buf_len(&l->taken) - r.len;
		m = rd_sub(&r);
		to[n] = buf_len(&l->taken) - r.len;
		if (m.p[0] == SFTP_CLOSE) {
			n += n == 0;
			break;
		}
		n += has_handle(&m) || !others;
		others |= !has_handle(&m);
	}
	if (n == 0)
		return;
	i = host_random(h, (unsigned)n);
	buf_put(&l->chosen, buf_data(&l->taken) + from[i], to[i] - from[i]);
	buf_put(&rest, buf_data(&l->taken), from[i]);
	buf_put(&rest, buf_data(&l->taken) + to[i],
	    buf_len(&l->taken) - to[i]);
	buf_clear(&l->taken);
	l->taken = rest;
}

/* What the server takes of the requests. */
static size_t
serve(struct host *h, struct host_stream *l)
{
	struct buf *in = h->unordered ? &l->chosen : &l->taken;
	size_t all = 0;
	ssize_t used;

	do {
		if (h->unordered && buf_len(in) == 0)
			choose(h, l);
		used = sftp_serve_blocked(l->server) ? 0 :
		    sftp_serve_input(l->server, buf_data(in), buf_len(in));
		assert_true(used >= 0);
		buf_consume(in, (size_t)used);
		all += (size_t)used;
	} while (h->unordered && used > 0);
	return all;
}

/* True: all streams have ended. */
static bool
is_gap_over(struct host *h, size_t n)
{
	h->moved += n;
	if (h->gap == 0)
		return false;
	if (h->gap_left > n) {
		h->gap_left -= n;
		return false;
	}
	h->gap_left = h->gap / 2 + h->gap / 64 * host_random(h, 64);
	all_die(h);
	return true;
}

/* Moves a random part of what there is; false if there was nothing. */
static bool
stream_moves(struct host *h, struct host_stream *l)
{
	size_t n = 1 + host_random(h, 300000);
	size_t used = 0;

	if (h->shrink != NULL && sftp_output_len(l->client) > 500000) {
		assert_int_equal(truncate(h->shrink, 900000), 0);
		h->shrink = NULL;
	}
	if (l->stopped)
		n = MIN(n, STOPPED_ROOM - buf_len(&l->taken));
	n = sftp_take(l->client, buf_reserve(&l->taken, n), n);
	buf_commit(&l->taken, n);
	if (l->stopped)
		return n > 0;
	if (is_gap_over(h, n))
		return true;
	if (h->cut_at > 0 && (h->cut_at -= MIN(n, h->cut_at)) == 0) {
		all_die(h);
		return true;
	}
	if (h->odd_handles && !l->begun && buf_len(&l->taken) >= INIT_BYTES)
		take_first_handle(l);
	if (l->begun || !h->odd_handles)
		used = serve(h, l);
	if (buf_len(&l->wire) == 0)
		collect(h, l);
	n = 1 + host_random(h, 300000);
	n = MIN(n, buf_len(&l->wire));
	assert_int_equal(sftp_feed(l->client, buf_data(&l->wire), n), 0);
	buf_consume(&l->wire, n);
	if (is_gap_over(h, n))
		return true;
	assert_true(sftp_serve_input(l->server, (const uint8_t *)"", 0) == 0);
	return used > 0 || n > 0;
}

/* All that the client has sent is answered at once. */
static bool
stream_answers(struct host *h, struct host_stream *l)
{
	ssize_t used;

	buf_commit(&l->taken, sftp_take(l->client,
	    buf_reserve(&l->taken, AT_ONCE), AT_ONCE));
	do {
		used = sftp_serve_input(l->server, buf_data(&l->taken),
		    buf_len(&l->taken));
		assert_true(used >= 0);
		buf_consume(&l->taken, (size_t)used);
		collect(h, l);
	} while (used > 0 || buf_len(sftp_serve_output(l->server)) > 0);
	used = (ssize_t)buf_len(&l->wire);
	assert_int_equal(sftp_feed(l->client, buf_data(&l->wire),
	    buf_len(&l->wire)), 0);
	buf_reset(&l->wire);
	return used > 0;
}

/* The time of a run is counted in turns, a millisecond each, however slow this
 * machine is; a turn without a stream takes as long as it may. */
static uint64_t turns_ms = 1000000;

static uint64_t
host_clock_ms(void)
{
	return turns_ms;
}

static int
host_turn(void *arg, int timeout_ms)
{
	struct host *h = arg;
	bool moved = false;

	if (h->fatal > 0 && --h->fatal == 0)
		return ERR_CANCELLED;
	if (h->steady && timeout_ms == 0 && h->run != NULL)
		return 0; /* there is more to be sent before */
	h->turns++;
	turns_ms += h->run != NULL && h->run->stream_count == 0 &&
		timeout_ms > 1 ? (uint64_t)timeout_ms : 1;
	if (h->watch != NULL && h->run != NULL)
		h->watch(h, h->run);
	for (size_t i = 0; i < HOST_STREAMS; i++) {
		struct host_stream *l = &h->streams[i];

		if (l->server == NULL || sftp_error(l->client) != 0)
			continue;
		if (h->handles_later != 0 && sftp_is_ready(l->client))
			l->server->handles_max = h->handles_later;
		if (h->deadly > 0 && host_random(h, h->deadly) == 0)
			stream_dies(l);
		else if (h->uneven && host_random(h, 1 + 8 * (i % 3)) != 0)
			moved = true; /* later */
		else if (h->steady)
			moved |= stream_answers(h, l);
		else
			moved |= stream_moves(h, l);
	}
	h->idle = moved || timeout_ms == 0 ? 0 : h->idle + 1;
	if (h->idle > 50)
		usleep(h->idle > 1000 ? 5000 : 200);
	if (h->idle > STUCK)
		fail_msg("everybody waits");
	return 0;
}

static const struct xfer_streams_ops host_ops = { host_open, host_close,
	host_path, host_turn };

/* ---- files -------------------------------------------------------------- */

void
host_make_file(const char *name, size_t len, unsigned seed)
{
	fill_file(name, len, seed);
}

bool
host_same(const char *one, const char *two)
{
	return same_files(one, two);
}

struct strlist host_reports;

static void
report(void *arg, const char *tried, const char *path, const char *text)
{
	char line[4096];

	(void)arg;
	snprintf(line, sizeof line, "%s%s%s: %s", tried ? tried : "",
	    tried ? " " : "", path, text);
	assert_int_equal(strlist_add(&host_reports, line), 0);
}

bool
host_reported(const char *line)
{
	bool found = strlist_has(&host_reports, line);

	for (size_t i = 0; !found && i < host_reports.n; i++)
		print_message("reported: %s\n", host_reports.v[i]);
	strlist_clear(&host_reports);
	return found;
}

/* A transfer whose first stream is *first. */
static struct xfer *
run_begin(struct host *h, struct xfer_opts opts, struct sftp **first)
{
	const struct xfer_streams streams = { &host_ops, h };
	struct xfer *x;

	if (opts.report == NULL)
		opts.report = report;
	opts.clock_ms = host_clock_ms;
	h->idle = 0;
	h->gap_left = h->gap;
	assert_int_equal(host_open(h, XFER_STREAM_CONNECTION, 0, first), 0);
	assert_int_equal(xfer_new(&x, &streams, *first, &opts), 0);
	return x;
}

static int
run_end(struct host *h, struct xfer *x, struct sftp *first)
{
	int r;

	while (h->greeted && !sftp_is_ready(first))
		(void)host_turn(h, 0);
	h->run = x;
	r = xfer_run(x);
	if (r == 0 && xfer_failures(x) > 0)
		r = -1;
	/* Small files close what they guess. */
	for (size_t i = 0; i < HOST_STREAMS && !h->no_small; i++)
		if (h->streams[i].begun && h->streams[i].server != NULL)
			assert_int_equal(h->streams[i].server->handles[0].kind,
			    SERVE_FILE);
	for (size_t i = 0; i < HOST_STREAMS; i++)
		if (h->streams[i].client != NULL)
			(void)!sftp_feed_end(h->streams[i].client, ERR_CLOSED);
	xfer_free(x);
	h->run = NULL;
	host_close(h, first);
	for (size_t i = 0; i < HOST_STREAMS; i++)
		assert_null(h->streams[i].client);
	return r;
}

int
host_copy(struct host *h, bool up, const char *from, const char *to,
    struct xfer_opts opts)
{
	struct sftp_attrs attrs;
	struct sftp *first;
	struct xfer *x = run_begin(h, opts, &first);
	struct stat st;

	assert_int_equal(stat(from, &st), 0);
	sftp_attrs_from_stat(&attrs, &st);
	if (h->lies.size != 0)
		attrs.size = h->lies.size;
	if (up && h->is_new)
		assert_int_equal(xfer_put_new(x, from, to), 0);
	else
		assert_int_equal(up ? xfer_put(x, from, to) :
				      xfer_get(x, from, &attrs, to), 0);
	if (h->added != NULL)
		h->added();
	return run_end(h, x, first);
}

int
host_follow(struct host *h, bool up, const struct xfer_orders *orders,
    struct xfer_opts opts)
{
	struct sftp *first;
	struct xfer *x = run_begin(h, opts, &first);

	assert_int_equal(xfer_follow(x, up, orders), 0);
	return run_end(h, x, first);
}

/* ---- life --------------------------------------------------------------- */

/* In memory where the system has a place for that: the trees are tens of
 * thousands of files, which a disk that others use takes minutes for. */
static bool
make_place(const char *place)
{
	char template[64], *real;

	snprintf(template, sizeof template, "%s/transfer-XXXXXX", place);
	if (mkdtemp(template) == NULL || chdir(template) != 0)
		return false;
	real = realpath(template, NULL);
	strlcpy(host_dir, real, sizeof host_dir);
	free(real);
	return true;
}

int
host_setup(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	umask(022);
	return make_place("/dev/shm") || make_place("/tmp") ? 0 : 1;
}

int
host_teardown(void **state)
{
	(void)state;
	return chdir("/") != 0 || rmdir(host_dir) != 0;
}
