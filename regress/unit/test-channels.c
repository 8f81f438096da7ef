/* SPDX-License-Identifier: ISC */
/*
 * Two connection layers over a socketpair in one loop: opening, windows,
 * data both ways, stderr, EOF and CLOSE, requests, and a peer that cheats.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "channels.h"

struct end {
	struct packet *packet;
	struct channels *chs;
	struct channel *ch;
	int opened, refused, eofs, closed, sink_errors, requests;
	uint32_t window, max_packet;
	int fds[4]; /* for the accepting side: source, sink, ext source... */
};

struct world {
	struct loop *loop;
	int sock[2];
	struct end a, b; /* a opens, b accepts */
};

static void
on_opened(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->opened++;
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct end *e = arg;

	(void)c;
	(void)text;
	e->refused = (int)reason;
}

static void
on_eof(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->eofs++;
}

static void
on_closed(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->closed++;
	e->ch = NULL;
}

static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	struct end *e = arg;

	(void)c;
	(void)ext;
	e->sink_errors = error;
}

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	struct end *e = arg;

	(void)c;
	e->requests++;
	if (span_equals(name, "fine"))
		return rd_u32(data) == 42 && rd_end(data) == 0;
	return 0;
}

static const struct channel_ops ops = { .request = on_request,
	.opened = on_opened, .refused = on_refused, .eof = on_eof,
	.closed = on_closed, .sink_failed = on_sink_failed };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	struct end *e = arg;

	(void)chs;
	if (rd_end(data) != 0)
		return CHANNEL_OPEN_PROHIBITED;
	channel_accept(c, &ops, e, e->window, e->max_packet);
	channel_set_fds(c, e->fds[0], e->fds[1], e->fds[2], e->fds[3]);
	e->ch = c;
	return 0;
}

static void
end_init(struct world *w, struct end *e, int fd, bool server)
{
	memset(e, 0, sizeof *e);
	e->packet = packet_new(fd, fd, server);
	assert_non_null(e->packet);
	assert_int_equal(channels_new(&e->chs, e->packet, w->loop), 0);
	assert_int_equal(packet_authenticated(e->packet), 0);
	e->window = CHANNEL_WINDOW_DEFAULT;
	e->max_packet = CHANNEL_PACKET_DEFAULT;
	for (int i = 0; i < 4; i++)
		e->fds[i] = -1;
}

static size_t
count_of(const struct channels *chs)
{
	size_t count = 0;

	for (size_t i = 0; i < chs->n; i++)
		count += chs->v[i] != NULL && chs->v[i]->state != CHANNEL_DEAD;
	return count;
}

static void
world_open(struct world *w)
{
	w->loop = loop_new();
	assert_non_null(w->loop);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, w->sock), 0);
	end_init(w, &w->a, w->sock[0], false);
	end_init(w, &w->b, w->sock[1], true);
	assert_int_equal(channels_on_open(w->b.chs, "session", on_open, &w->b),
	    0);
}

static void
world_close(struct world *w)
{
	channels_free(w->a.chs);
	channels_free(w->b.chs);
	packet_free(w->a.packet);
	packet_free(w->b.packet);
	loop_free(w->loop);
	fd_close(&w->sock[0]);
	fd_close(&w->sock[1]);
}

static int
step(struct end *e)
{
	struct rd payload;
	bool more;
	int err;

	if ((err = packet_fill(e->packet)) < 0 && err != ERR_AGAIN)
		return err;
	while ((err = packet_next(e->packet, &payload)) == 1)
		if ((err = channels_input(e->chs, payload)) != 0)
			return err;
	if (err != 0 || (err = channels_turn(e->chs, &more)) != 0)
		return err;
	err = packet_flush(e->packet);
	return err == ERR_AGAIN ? 0 : err;
}

static int
run(struct world *w, int turns)
{
	int err = 0;

	for (int i = 0; i < turns && err == 0; i++) {
		assert_int_equal(loop_turn(w->loop, 0), 0);
		if ((err = step(&w->a)) == 0)
			err = step(&w->b);
	}
	return err;
}

static void
open_session(struct world *w)
{
	assert_int_equal(channel_open(&w->a.ch, w->a.chs, "session", NULL,
			     &ops, &w->a, w->a.window, w->a.max_packet),
	    0);
}

static void
test_open_and_refuse(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	open_session(&w);
	assert_int_equal(channel_open(&c, w.a.chs, "nonsense", NULL, &ops,
			     &w.a, 1000, 1000),
	    0);
	assert_int_equal(run(&w, 5), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_UNKNOWN_TYPE);
	assert_int_equal(count_of(w.a.chs), 1);
	assert_int_equal(count_of(w.b.chs), 1);
	world_close(&w);
}

/* A file of `size` bytes goes from a's source to b's sink, whole. */
static void
check_transfer(size_t size, uint32_t window, uint32_t max_packet)
{
	char in_path[] = "/tmp/hpn-chan-in-XXXXXX";
	char out_path[] = "/tmp/hpn-chan-out-XXXXXX";
	int in = mkstemp(in_path), out = mkstemp(out_path);
	uint8_t *data = malloc(size + 1), *back = malloc(size + 1);
	struct world w;

	unlink(in_path);
	unlink(out_path);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 31 + (i >> 11));
	assert_int_equal(fd_write_all(in, data, size), 0);
	assert_int_equal(lseek(in, 0, SEEK_SET), 0);
	world_open(&w);
	w.b.window = window;
	w.b.max_packet = max_packet;
	w.b.fds[1] = out;
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	channel_set_fds(w.a.ch, in, -1, -1, -1);
	for (int i = 0; i < 20000 && w.b.eofs == 0; i++)
		assert_int_equal(run(&w, 1), 0);
	assert_int_equal(w.b.eofs, 1);
	assert_int_equal(lseek(out, 0, SEEK_END), (off_t)size);
	assert_int_equal(pread(out, back, size + 1, 0), (ssize_t)size);
	assert_memory_equal(data, back, size);
	channel_close(w.a.ch, true);
	channel_close(w.b.ch, false);
	assert_int_equal(run(&w, 5), 0);
	assert_int_equal(w.a.closed, 1);
	assert_int_equal(w.b.closed, 1);
	assert_int_equal(count_of(w.a.chs), 0);
	world_close(&w);
	close(in);
	close(out);
	free(data);
	free(back);
}

static void
test_transfers(void **state)
{
	(void)state;
	check_transfer(0, 2097152, 32768);
	check_transfer(1, 2097152, 32768);
	check_transfer(5000000, 2097152, 32768);
	check_transfer(300000, 1000, 700);
	check_transfer(3000000, 100000, 262144);
}

static void
test_stopped_sink_loses_nothing(void **state)
{
	uint8_t chunk[8192], *all;
	size_t got = 0, want = 6000000;
	int pipefd[2], in[2];
	struct world w;
	ssize_t n;
	size_t sent = 0;

	(void)state;
	all = malloc(want);
	for (size_t i = 0; i < want; i++)
		all[i] = (uint8_t)(i >> 3);
	assert_int_equal(pipe2(pipefd, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_NONBLOCK | O_CLOEXEC), 0);
	world_open(&w);
	w.b.fds[1] = pipefd[1];
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	channel_set_fds(w.a.ch, in[0], -1, -1, -1);
	/* Nobody reads: what flows is bounded by the window. */
	for (int i = 0; i < 500; i++) {
		while (sent < want &&
		    (n = write(in[1], all + sent, want - sent)) > 0)
			sent += (size_t)n;
		assert_int_equal(run(&w, 1), 0);
	}
	assert_true(sent < 3 * 1024 * 1024);
	/* Now somebody does: all arrives, in order. */
	for (int i = 0; i < 100000 && got < want; i++) {
		while (sent < want &&
		    (n = write(in[1], all + sent, want - sent)) > 0)
			sent += (size_t)n;
		assert_int_equal(run(&w, 1), 0);
		while ((n = read(pipefd[0], chunk, sizeof chunk)) > 0) {
			assert_memory_equal(chunk, all + got, (size_t)n);
			got += (size_t)n;
		}
	}
	assert_int_equal(got, want);
	world_close(&w);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(pipefd[i]);
	}
	free(all);
}

static void
test_broken_sink(void **state)
{
	int pipefd[2];
	struct world w;

	(void)state;
	assert_int_equal(pipe2(pipefd, O_NONBLOCK | O_CLOEXEC), 0);
	close(pipefd[0]);
	world_open(&w);
	w.b.fds[1] = pipefd[1];
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	assert_int_equal(channel_send_data(w.a.ch, 0, "hello", 5), 0);
	assert_int_equal(run(&w, 5), 0);
	assert_int_equal(w.b.sink_errors, EPIPE);
	/* The channel lives on; more data is thrown away. */
	assert_int_equal(channel_send_data(w.a.ch, 0, "hello", 5), 0);
	assert_int_equal(run(&w, 5), 0);
	world_close(&w);
	close(pipefd[1]);
}

static void
test_stderr_is_apart(void **state)
{
	int out[2], err[2], sink[2], ext[2];
	struct world w;
	char text[16];

	(void)state;
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	assert_int_equal(pipe2(err, O_NONBLOCK), 0);
	assert_int_equal(pipe2(sink, O_NONBLOCK), 0);
	assert_int_equal(pipe2(ext, O_NONBLOCK), 0);
	world_open(&w);
	w.b.fds[0] = out[0];
	w.b.fds[2] = err[0];
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	channel_set_fds(w.a.ch, -1, sink[1], -1, ext[1]);
	assert_int_equal(write(out[1], "out", 3), 3);
	assert_int_equal(write(err[1], "error", 5), 5);
	close(out[1]);
	assert_int_equal(run(&w, 5), 0);
	assert_int_equal(read(sink[0], text, sizeof text), 3);
	assert_int_equal(read(ext[0], text, sizeof text), 5);
	/* EOF only after both ended. */
	assert_int_equal(w.a.eofs, 0);
	close(err[1]);
	assert_int_equal(run(&w, 5), 0);
	assert_int_equal(w.a.eofs, 1);
	world_close(&w);
	close(out[0]);
	close(err[0]);
	for (int i = 0; i < 2; i++) {
		close(sink[i]);
		close(ext[i]);
	}
}

/* What is to be said before CLOSE is said before it. */
static void
test_close_is_held(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	channel_hold_close(w.b.ch, true);
	channel_close(w.a.ch, false);
	assert_int_equal(run(&w, 4), 0);
	assert_int_equal(w.a.closed, 0);
	assert_int_equal(channel_request(w.b.ch, "status", NULL, NULL, NULL),
	    0);
	channel_hold_close(w.b.ch, false);
	assert_int_equal(run(&w, 4), 0);
	assert_int_equal(w.a.requests, 1);
	assert_int_equal(w.a.closed, 1);
	assert_int_equal(w.b.closed, 1);
	world_close(&w);
}

/* A far end that somebody keeps open does not keep the channel open. */
static void
test_close_takes_what_is_there(void **state)
{
	int out[2], sink[2];
	struct world w;
	char text[16];

	(void)state;
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	assert_int_equal(pipe2(sink, O_NONBLOCK), 0);
	world_open(&w);
	w.b.fds[0] = out[0];
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	channel_set_fds(w.a.ch, -1, sink[1], -1, -1);
	assert_int_equal(write(out[1], "last", 4), 4);
	channel_close(w.b.ch, true);
	assert_int_equal(run(&w, 6), 0);
	assert_int_equal(read(sink[0], text, sizeof text), 4);
	assert_int_equal(w.a.closed, 1);
	assert_int_equal(w.b.closed, 1);
	world_close(&w);
	for (int i = 0; i < 2; i++) {
		close(out[i]);
		close(sink[i]);
	}
}

/* b's sink has taken what it can, and more waits for it. */
static void
fill_sink(struct world *w, int sink[2])
{
	static const uint8_t data[256 * 1024];

	assert_int_equal(pipe2(sink, O_NONBLOCK), 0);
	assert_int_equal(run(w, 2), 0);
	channel_set_fds(w->b.ch, -1, sink[1], -1, -1);
	for (size_t i = 0; i < sizeof data; i += 32 * 1024) {
		assert_int_equal(channel_send_data(w->a.ch, 0, data + i,
				     32 * 1024),
		    0);
		assert_int_equal(run(w, 4), 0);
	}
	assert_true(w->b.ch->sink[0].queue.len > 0);
}

/* What waits for a sink goes with it: nobody will take it any more, and the
 * channel would wait for that for ever. */
static void
test_sink_is_taken_away(void **state)
{
	int sink[2];
	struct world w;

	(void)state;
	for (int leave = 0; leave < 2; leave++) {
		world_open(&w);
		open_session(&w);
		fill_sink(&w, sink);
		channel_hold_close(w.b.ch, true);
		channel_close(w.a.ch, false);
		assert_int_equal(run(&w, 6), 0);
		assert_int_equal(w.b.closed, 0);
		channel_hold_close(w.b.ch, false);
		if (leave)
			channel_leave(w.b.ch);
		else
			channel_set_fds(w.b.ch, -1, -1, -1, -1);
		assert_int_equal(run(&w, 6), 0);
		assert_int_equal(w.b.closed, leave ? 0 : 1);
		assert_int_equal(count_of(w.b.chs), 0);
		world_close(&w);
		close(sink[0]);
		close(sink[1]);
	}
}

/* A change of the descriptor keeps what waits. */
static void
test_sink_is_replaced(void **state)
{
	int sink[2], other[2];
	char text[4096];
	struct world w;
	size_t kept;

	(void)state;
	world_open(&w);
	open_session(&w);
	fill_sink(&w, sink);
	kept = w.b.ch->sink[0].queue.len;
	assert_int_equal(pipe2(other, O_NONBLOCK), 0);
	channel_set_fds(w.b.ch, -1, other[1], -1, -1);
	while (kept > 0) {
		ssize_t n;

		assert_int_equal(run(&w, 2), 0);
		n = read(other[0], text, sizeof text);
		assert_true(n > 0 && (size_t)n <= kept);
		kept -= (size_t)n;
	}
	world_close(&w);
	for (int i = 0; i < 2; i++) {
		close(sink[i]);
		close(other[i]);
	}
}

static void
note_reply(void *arg, bool ok, struct rd data)
{
	int *seen = arg;

	(void)data;
	*seen = *seen * 10 + (ok ? 1 : 2);
}

/* OPEN and requests leave before the peer has said anything. */
static void
test_open_on_a_guess(void **state)
{
	static const uint32_t guesses[] = { 0, 5 };
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		int seen = 0;

		world_open(&w);
		open_session(&w);
		channel_open_optimistically(w.a.ch, guesses[i]);
		assert_int_equal(w.a.opened, 1);
		assert_int_equal(channel_request(w.a.ch, "other", NULL,
				     note_reply, &seen),
		    0);
		if (guesses[i] == 0) {
			assert_int_equal(run(&w, 4), 0);
			assert_int_equal(seen, 2);
			assert_int_equal(w.a.opened, 1);
			assert_int_equal(w.b.requests, 1);
		} else {
			assert_int_equal(run(&w, 4), ERR_PROTOCOL);
		}
		world_close(&w);
	}
}

static void
test_refused_on_a_guess(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	assert_int_equal(channel_open(&c, w.a.chs, "nonsense", NULL, &ops,
			     &w.a, 1000, 1000),
	    0);
	channel_open_optimistically(c, 0);
	assert_int_equal(run(&w, 4), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_UNKNOWN_TYPE);
	assert_int_equal(count_of(w.a.chs), 0);
	world_close(&w);
}

static void
test_requests(void **state)
{
	struct world w;
	struct buf b;
	int seen = 0;

	(void)state;
	world_open(&w);
	open_session(&w);
	assert_int_equal(run(&w, 3), 0);
	buf_init(&b);
	buf_put_u32(&b, 42);
	assert_int_equal(channel_request(w.a.ch, "fine", &b, note_reply,
			     &seen),
	    0);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, note_reply,
			     &seen),
	    0);
	assert_int_equal(channels_global_request(w.a.chs, "unknown", NULL,
			     note_reply, &seen),
	    0);
	assert_int_equal(channel_request(w.a.ch, "quiet", NULL, NULL, NULL),
	    0);
	assert_int_equal(run(&w, 4), 0);
	assert_int_equal(seen, 122);
	assert_int_equal(w.b.requests, 3);
	buf_clear(&b);
	world_close(&w);
}

static void
test_cheats(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t channel;
		const char *body;
		size_t len;
	} cases[] = {
		/* data for no channel, over the window, adjust past 2^32 */
		{ SSH_MSG_CHANNEL_DATA, 7, "\0\0\0\1x", 5 },
		{ SSH_MSG_CHANNEL_DATA, 0, "\0\0\0\13" "hello world", 15 },
		{ SSH_MSG_CHANNEL_WINDOW_ADJUST, 0, "\xff\xff\xff\xff", 4 },
		{ SSH_MSG_CHANNEL_OPEN_CONFIRMATION, 0,
		    "\0\0\0\0\0\0\0\0\0\0\0\0", 12 },
		{ SSH_MSG_CHANNEL_SUCCESS, 0, "", 0 },
		{ SSH_MSG_CHANNEL_EOF, 0, "x", 1 },
		{ SSH_MSG_CHANNEL_REQUEST, 0, "\0\0\0\xff", 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		struct buf b;

		world_open(&w);
		w.b.window = 10;
		open_session(&w);
		assert_int_equal(run(&w, 3), 0);
		buf_init(&b);
		buf_put_u8(&b, cases[i].type);
		buf_put_u32(&b, cases[i].channel);
		buf_put(&b, cases[i].body, cases[i].len);
		assert_int_equal(packet_put(w.a.packet, &b), 0);
		buf_clear(&b);
		assert_true(run(&w, 3) < 0);
		world_close(&w);
	}
}

static void
test_too_many_channels(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	for (int i = 0; i < CHANNELS_MAX; i++)
		assert_int_equal(channel_open(&c, w.a.chs, "session", NULL,
				     &ops, &w.a, 1000, 1000),
		    0);
	assert_int_equal(channel_open(&c, w.a.chs, "session", NULL, &ops, &w.a,
			     1000, 1000),
	    ERR_LIMIT);
	assert_int_equal(run(&w, 10), 0);
	assert_int_equal(w.a.opened, CHANNELS_MAX);
	world_close(&w);
}

static void
test_window_next(void **state)
{
	enum { MIB = 1 << 20 };
	static const struct {
		uint32_t now;
		uint64_t per_rtt, before;
		uint32_t rcvbuf, limit, want;
		bool exact;
	} cases[] = {
		/* 2 MiB a round trip: it is the window that holds */
		{ 2 * MIB, 2 * MIB, 0, 6 * MIB, 64 * MIB, 6 * MIB, false },
		/* half of it is the border */
		{ 2 * MIB, 1 * MIB, 0, 6 * MIB, 64 * MIB, 6 * MIB, false },
		{ 2 * MIB, MIB - 10, 0, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* 1 GB/s on loopback needs no more */
		{ 2 * MIB, 50000, 50000, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* the limit; never smaller; no TCP */
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 15 * MIB, 15 * MIB, false },
		{ 2 * MIB, 2 * MIB, 0, 131072, 64 * MIB, 2 * MIB, false },
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 0, 2 * MIB, false },
		{ 2 * MIB, 0, 0, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* exact: twice what got through, and not for half of it */
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 64 * MIB, 4 * MIB, true },
		{ 8 * MIB, 8 * MIB, 0, 60 * MIB, 12 * MIB, 12 * MIB, true },
		{ 2 * MIB, 1 * MIB, 0, 6 * MIB, 64 * MIB, 2 * MIB, true },
		{ 2 * MIB, 0, 0, 6 * MIB, 64 * MIB, 2 * MIB, true },
		/* slow start: ahead of it, but of a leap no more */
		{ 2 * MIB, 1 * MIB, MIB / 2, 60 * MIB, 64 * MIB, 4 * MIB,
		    true },
		{ 2 * MIB, 2 * MIB, 1, 60 * MIB, 64 * MIB, 8 * MIB, true },
		/* what the sender's buffer takes in its stride */
		{ 2 * MIB, 8 * MIB, 4 * MIB, 60 * MIB, 64 * MIB, 16 * MIB,
		    true },
		{ 30 * MIB, 30 * MIB, 0, 60 * MIB, 64 * MIB, 38 * MIB, true },
		/* at an even pace, or when it becomes less, as before */
		{ 4 * MIB, 4 * MIB, 4 * MIB, 60 * MIB, 64 * MIB, 8 * MIB,
		    true },
		{ 4 * MIB, 4 * MIB, 9 * MIB, 60 * MIB, 64 * MIB, 8 * MIB,
		    true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(channel_window_next(cases[i].now,
				     cases[i].per_rtt, cases[i].before,
				     cases[i].rcvbuf, cases[i].limit,
				     cases[i].exact),
		    cases[i].want);
}

enum windows { FIXED, DYNAMIC, MEASURED };

/* The window that b offers after it took some data. */
static uint32_t
window_after_data(enum windows how)
{
	struct world w;
	struct buf text = { 0 };
	int in[2], null = open("/dev/null", O_WRONLY);
	uint8_t chunk[16384] = { 0 };
	char *s, *of;
	uint32_t window;

	assert_int_equal(pipe2(in, O_NONBLOCK | O_CLOEXEC), 0);
	world_open(&w);
	channels_set_dynamic(w.b.chs, how != FIXED);
	w.b.window = 65536;
	w.b.fds[1] = null;
	open_session(&w);
	assert_int_equal(run(&w, 2), 0);
	if (how == MEASURED) {
		assert_int_equal(channels_measure_path(w.b.chs), 0);
		assert_int_equal(run(&w, 20), 0);
		assert_int_equal(w.b.chs->answers, 3);
		assert_in_range(w.b.chs->answer_us, 1, 5000000);
		w.b.chs->answer_us = 1000;
	}
	channel_set_fds(w.a.ch, in[0], -1, -1, -1);
	for (int i = 0; i < 2000; i++) {
		/* What the kernel would say of a path of 1 ms. */
		if (how != MEASURED) {
			w.b.chs->rtt_us = 1000;
			w.b.chs->rcvbuf = 1 << 20;
			w.b.chs->sampled_ms = loop_now_ms();
		}
		(void)!write(in[1], chunk, sizeof chunk);
		assert_int_equal(run(&w, 1), 0);
	}
	channels_describe(w.b.chs, &text);
	s = buf_dup_string(&text);
	of = strstr(s, " of ");
	assert_non_null(of);
	window = (uint32_t)strtoul(of + 4, NULL, 10);
	free(s);
	buf_clear(&text);
	world_close(&w);
	close(null);
	close(in[0]);
	close(in[1]);
	return window;
}

static void
test_fixed_window(void **state)
{
	(void)state;
	assert_int_equal(window_after_data(FIXED), 65536);
	assert_true(window_after_data(DYNAMIC) > 65536);
}

/* On a descriptor of which the kernel knows no path, as behind a proxy. */
static void
test_measured_window(void **state)
{
	(void)state;
	assert_true(window_after_data(MEASURED) > 65536);
}

static void
test_window_rested(void **state)
{
	static const struct {
		uint32_t now;
		uint64_t idle_ms;
		uint32_t want;
	} cases[] = {
		{ 15728640, 0, 15728640 },
		{ 15728640, 9999, 15728640 },
		{ 15728640, 10000, 7864320 },
		{ 15728640, 25000, 3932160 },
		{ 15728640, 30000, 2097152 },
		{ 15728640, UINT64_MAX, 2097152 },
		{ 2097152, UINT64_MAX, 2097152 },
		{ 1000, UINT64_MAX, 1000 },
		{ 0, 60000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(channel_window_rested(cases[i].now,
				     cases[i].idle_ms),
		    cases[i].want);
}

/* However many there are, and whatever one of them has grown to. */
static void
test_budget(void **state)
{
	enum { WANT = CHANNEL_WINDOW_DEFAULT };
	struct channel *c;
	struct world w;

	(void)state;
	assert_int_equal(channel_window_first(WANT, 0), WANT);
	assert_int_equal(channel_window_first(1000, 0), 1000);
	assert_int_equal(channel_window_first(WANT, CHANNELS_GROW_LIMIT),
	    WANT);
	assert_int_equal(channel_window_first(WANT, CHANNELS_BUDGET),
	    CHANNEL_PACKET_DEFAULT);
	assert_int_equal(channel_window_first(WANT, UINT64_MAX),
	    CHANNEL_PACKET_DEFAULT);
	world_open(&w);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(channel_open(&c, w.a.chs, "session", NULL,
				     &ops, &w.a, WANT, 32768), 0);
		if (i < 30)
			assert_int_equal(c->window_max, WANT);
	}
	assert_in_range(channels_offered(w.a.chs), CHANNELS_BUDGET / 2,
	    CHANNELS_BUDGET + 200 * CHANNEL_PACKET_DEFAULT);
	/* Who sticks to stock's window sticks to it. */
	channels_set_dynamic(w.a.chs, false);
	assert_int_equal(channel_open(&c, w.a.chs, "session", NULL, &ops,
			     &w.a, WANT, 32768), 0);
	assert_int_equal(c->window_max, WANT);
	world_close(&w);
}

static void
test_queue(void **state)
{
	static uint8_t text[70000];
	struct queue q = { 0 };
	size_t put = 0, got = 0, most = 0;
	struct span front;

	(void)state;
	for (unsigned i = 1; got < 8000000; i++) {
		size_t len = (i * 7919u) % sizeof text;

		/* More comes than goes, then the other way round. */
		if (put < 8000000) {
			for (size_t k = 0; k < len; k++)
				text[k] = (uint8_t)((put + k) % 251);
			assert_int_equal(queue_put(&q,
					     (struct span){ text, len }), 0);
			put += len;
		}
		front = queue_front(&q);
		front.len = MIN(front.len, (i * 104729u) % 40000);
		for (size_t k = 0; k < front.len; k++)
			if (front.p[k] != (got + k) % 251)
				fail_msg("wrong byte %zu", got + k);
		queue_consume(&q, front.len);
		got += front.len;
		most = MAX(most, q.len);
		assert_int_equal(q.len, put - got);
	}
	assert_true(most > 1000000);
	queue_clear(&q);
	assert_int_equal(queue_front(&q).len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_and_refuse),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_stopped_sink_loses_nothing),
		cmocka_unit_test(test_broken_sink),
		cmocka_unit_test(test_stderr_is_apart),
		cmocka_unit_test(test_close_is_held),
		cmocka_unit_test(test_close_takes_what_is_there),
		cmocka_unit_test(test_sink_is_taken_away),
		cmocka_unit_test(test_sink_is_replaced),
		cmocka_unit_test(test_open_on_a_guess),
		cmocka_unit_test(test_refused_on_a_guess),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_too_many_channels),
		cmocka_unit_test(test_window_next),
		cmocka_unit_test(test_window_rested),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_fixed_window),
		cmocka_unit_test(test_measured_window),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-channels", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
