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
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "compat/sock.h"
#include "regress/unit/channels-host.h"
#include "regress/unit/window-sum.h"

static void
test_open_and_refuse(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	world_open_session(&w);
	assert_int_equal(channel_open(&c, w.a.chs, "nonsense", NULL, &world_ops,
			     &w.a, 1000, 1000),
	    0);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_UNKNOWN_TYPE);
	assert_int_equal(channels_alive(w.a.chs), 1);
	assert_int_equal(channels_alive(w.b.chs), 1);
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
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	channel_set_fds(w.a.ch, in, -1, -1, -1);
	for (int i = 0; i < 20000 && w.b.eofs == 0; i++)
		assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(w.b.eofs, 1);
	assert_int_equal(lseek(out, 0, SEEK_END), (off_t)size);
	assert_int_equal(pread(out, back, size + 1, 0), (ssize_t)size);
	assert_memory_equal(data, back, size);
	channel_close(w.a.ch, true);
	channel_close(w.b.ch, false);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(w.a.closed, 1);
	assert_int_equal(w.b.closed, 1);
	assert_int_equal(channels_alive(w.a.chs), 0);
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
	assert_int_equal(sock_pipe(pipefd, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(in, SOCK_AT_ONCE), 0);
	world_open(&w);
	w.b.fds[1] = pipefd[1];
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	channel_set_fds(w.a.ch, in[0], -1, -1, -1);
	/* Nobody reads: what flows is bounded by the window. */
	for (int i = 0; i < 500; i++) {
		while (sent < want &&
		    (n = write(in[1], all + sent, want - sent)) > 0)
			sent += (size_t)n;
		assert_int_equal(world_run(&w, 1), 0);
	}
	assert_true(sent < 3 * 1024 * 1024);
	/* Now somebody does: all arrives, in order. */
	for (int i = 0; i < 100000 && got < want; i++) {
		while (sent < want &&
		    (n = write(in[1], all + sent, want - sent)) > 0)
			sent += (size_t)n;
		assert_int_equal(world_run(&w, 1), 0);
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
	assert_int_equal(sock_pipe(pipefd, SOCK_AT_ONCE), 0);
	close(pipefd[0]);
	world_open(&w);
	w.b.fds[1] = pipefd[1];
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	assert_int_equal(channel_send_data(w.a.ch, 0, "hello", 5), 0);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(w.b.sink_errors, EPIPE);
	/* The channel lives on; more data is thrown away. */
	assert_int_equal(channel_send_data(w.a.ch, 0, "hello", 5), 0);
	assert_int_equal(world_run(&w, 5), 0);
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
	assert_int_equal(sock_pipe(out, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(err, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(sink, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(ext, SOCK_AT_ONCE), 0);
	world_open(&w);
	w.b.fds[0] = out[0];
	w.b.fds[2] = err[0];
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	channel_set_fds(w.a.ch, -1, sink[1], -1, ext[1]);
	assert_int_equal(write(out[1], "out", 3), 3);
	assert_int_equal(write(err[1], "error", 5), 5);
	close(out[1]);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(read(sink[0], text, sizeof text), 3);
	assert_int_equal(read(ext[0], text, sizeof text), 5);
	/* EOF only after both ended. */
	assert_int_equal(w.a.eofs, 0);
	close(err[1]);
	assert_int_equal(world_run(&w, 5), 0);
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
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	channel_hold_close(w.b.ch, true);
	channel_close(w.a.ch, false);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(w.a.closed, 0);
	assert_int_equal(channel_request(w.b.ch, "status", NULL, NULL, NULL),
	    0);
	channel_hold_close(w.b.ch, false);
	assert_int_equal(world_run(&w, 4), 0);
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
	assert_int_equal(sock_pipe(out, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(sink, SOCK_AT_ONCE), 0);
	world_open(&w);
	w.b.fds[0] = out[0];
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	channel_set_fds(w.a.ch, -1, sink[1], -1, -1);
	assert_int_equal(write(out[1], "last", 4), 4);
	channel_close(w.b.ch, true);
	assert_int_equal(world_run(&w, 6), 0);
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

	assert_int_equal(sock_pipe(sink, SOCK_AT_ONCE), 0);
	assert_int_equal(world_run(w, 2), 0);
	channel_set_fds(w->b.ch, -1, sink[1], -1, -1);
	for (size_t i = 0; i < sizeof data; i += 32 * 1024) {
		assert_int_equal(channel_send_data(w->a.ch, 0, data + i,
				     32 * 1024),
		    0);
		assert_int_equal(world_run(w, 4), 0);
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
		world_open_session(&w);
		fill_sink(&w, sink);
		channel_hold_close(w.b.ch, true);
		channel_close(w.a.ch, false);
		assert_int_equal(world_run(&w, 6), 0);
		assert_int_equal(w.b.closed, 0);
		channel_hold_close(w.b.ch, false);
		if (leave)
			channel_leave(w.b.ch);
		else
			channel_set_fds(w.b.ch, -1, -1, -1, -1);
		assert_int_equal(world_run(&w, 6), 0);
		assert_int_equal(w.b.closed, leave ? 0 : 1);
		assert_int_equal(channels_alive(w.b.chs), 0);
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
	world_open_session(&w);
	fill_sink(&w, sink);
	kept = w.b.ch->sink[0].queue.len;
	assert_int_equal(sock_pipe(other, SOCK_AT_ONCE), 0);
	channel_set_fds(w.b.ch, -1, other[1], -1, -1);
	while (kept > 0) {
		ssize_t n;

		assert_int_equal(world_run(&w, 2), 0);
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
test_open_optimistically(void **state)
{
	static const uint32_t guesses[] = { 0, 5 };
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		int seen = 0;

		world_open(&w);
		world_open_session(&w);
		channel_open_optimistically(w.a.ch, guesses[i]);
		assert_int_equal(w.a.opened, 1);
		assert_int_equal(channel_request(w.a.ch, "other", NULL,
				     note_reply, &seen),
		    0);
		if (guesses[i] == 0) {
			assert_int_equal(world_run(&w, 4), 0);
			assert_int_equal(seen, 2);
			assert_int_equal(w.a.opened, 1);
			assert_int_equal(w.b.requests, 1);
		} else {
			assert_int_equal(world_run(&w, 4), ERR_PROTOCOL);
		}
		world_close(&w);
	}
}

static void
test_optimistic_is_refused(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	assert_int_equal(channel_open(&c, w.a.chs, "nonsense", NULL, &world_ops,
			     &w.a, 1000, 1000),
	    0);
	channel_open_optimistically(c, 0);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_UNKNOWN_TYPE);
	assert_int_equal(channels_alive(w.a.chs), 0);
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
	world_open_session(&w);
	assert_int_equal(world_run(&w, 3), 0);
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
	assert_int_equal(world_run(&w, 4), 0);
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
		world_open_session(&w);
		assert_int_equal(world_run(&w, 3), 0);
		buf_init(&b);
		buf_put_u8(&b, cases[i].type);
		buf_put_u32(&b, cases[i].channel);
		buf_put(&b, cases[i].body, cases[i].len);
		assert_int_equal(packet_put(w.a.packet, &b), 0);
		buf_clear(&b);
		assert_true(world_run(&w, 3) < 0);
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
				     &world_ops, &w.a, 1000, 1000),
		    0);
	assert_int_equal(channel_open(&c, w.a.chs, "session", NULL, &world_ops,
			     &w.a, 1000, 1000),
	    ERR_LIMIT);
	assert_int_equal(world_run(&w, 10), 0);
	assert_int_equal(w.a.opened, CHANNELS_MAX);
	world_close(&w);
}

enum windows { FIXED, DYNAMIC, MEASURED };

/* The window that b offers after it took some data. */
static uint32_t
window_after_data(enum windows how)
{
	struct world w;
	int in[2], null = open("/dev/null", O_WRONLY);
	uint8_t chunk[16384] = { 0 };
	uint32_t window;

	assert_int_equal(sock_pipe(in, SOCK_AT_ONCE), 0);
	world_open(&w);
	channels_set_dynamic(w.b.chs, how != FIXED);
	w.b.window = 65536;
	w.b.fds[1] = null;
	world_open_session(&w);
	assert_int_equal(world_run(&w, 2), 0);
	if (how == MEASURED) {
		assert_int_equal(channels_measure_path(w.b.chs), 0);
		assert_int_equal(world_run(&w, 20), 0);
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
			w.b.chs->sampled_ms = clock_ms();
		}
		(void)!write(in[1], chunk, sizeof chunk);
		assert_int_equal(world_run(&w, 1), 0);
	}
	window = w.b.chs->v[0]->window.max;
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

/* However many there are, and whatever one of them has grown to. */
static void
test_budget(void **state)
{
	enum { WANT = CHANNEL_WINDOW_DEFAULT };
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(channel_open(&c, w.a.chs, "session", NULL,
				     &world_ops, &w.a, WANT, 32768), 0);
		if (i < CHANNELS_FEW)
			assert_int_equal(c->window.max, WANT);
	}
	assert_in_range(w.a.chs->offered, CHANNELS_BUDGET / 4,
	    window_sum_max(200));
	world_close(&w);
	/* Who sticks to stock's window sticks to it. */
	world_open(&w);
	channels_set_dynamic(w.a.chs, false);
	assert_int_equal(channel_open(&c, w.a.chs, "session", NULL, &world_ops,
			     &w.a, 100 << 20, 32768), 0);
	assert_int_equal(c->window.max, 100 << 20);
	world_close(&w);
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
		cmocka_unit_test(test_open_optimistically),
		cmocka_unit_test(test_optimistic_is_refused),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_too_many_channels),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_fixed_window),
		cmocka_unit_test(test_measured_window),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-channels", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
