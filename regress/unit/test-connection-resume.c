/* SPDX-License-Identifier: ISC */
/*
 * Two connections in one event loop send bulk both ways on a channel, with new
 * keys now and then, while their socket is reset again and again: each time
 * they are suspended, agree on keys over another socket, and go on. No byte is
 * lost or comes twice; a suspended connection leaves the processor alone.
 */
#include "regress/unit/help.h"
#include "regress/unit/trusting-kex.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels.h"
#include "connection-resume.h"
#include "kex.h"
#include "packet-keep.h"

enum {
	TOTAL = 20 * 1000 * 1000, /* bytes each way */
	KEEP = 32 * 1024 * 1024,
	FLOOD_MESSAGE = 32 * 1024,
	CUTS = 12,
	TICK_MS = 1,
	LIMIT_MS = 60 * 1000, /* without a byte: nobody may sleep for good */
};

struct world;

struct end {
	struct world *w;
	bool server;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels;
	struct connection *connection;
	size_t sent, received;
	bool suspended, closed;
	int ended_by; /* 0: it has not ended */
};

struct world {
	struct loop *loop;
	struct end end[2]; /* client, server */
	int fd[2];
	size_t next_cut; /* bytes that the client has then received */
	unsigned cuts, most_cuts;
	uint64_t rest_ms; /* of a suspended connection, before it goes on */
	uint64_t resume_ms;
	unsigned turns; /* of the loop, in the last rest */
	bool threads;
	size_t flood; /* bytes that each end has to say when it is suspended */
	size_t moved; /* bytes that had arrived when that was looked at last */
};

/* ---- key exchanges ----------------------------------------------------- */

static void
on_other_keys(void *arg, bool first)
{
	(void)arg;
	(void)first;
}

static void
begin_kex(struct end *e, struct packet *p, struct kex **k,
    void (*done)(void *arg, bool first))
{
	const struct kex_hooks hooks = { .arg = e,
		.check_hostkey = trusting_check,
		.hostkey_blob = trusting_blob,
		.sign = trusting_sign,
		.verify = trusting_verify,
		.done = done };
	const struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-gcm@openssh.com", "umac-64-etm@openssh.com", "none" };

	assert_int_equal(kex_new(k, p, &hooks, &mine, e->server ? "s" : "c",
			     e->server ? "c" : "s"), 0);
	assert_int_equal(kex_start(*k), 0);
}

/* ---- the bytes ---------------------------------------------------------- */

static uint8_t
byte_at(size_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static ssize_t
read_bytes(void *arg, uint8_t *p, size_t max)
{
	struct end *e = arg;
	size_t len = MIN(max, (size_t)TOTAL - e->sent);

	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(e->sent + i);
	e->sent += len;
	return (ssize_t)len;
}

static ssize_t
write_bytes(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct end *e = arg;

	assert_int_equal(ext, 0);
	for (size_t i = 0; i < len; i++)
		if (p[i] != byte_at(e->received + i))
			fail_msg("byte %zu is another one", e->received + i);
	e->received += len;
	return (ssize_t)len;
}

static const struct channel_io bytes = { .read = read_bytes,
	.write = write_bytes };

static void
on_eof(void *arg, struct channel *c)
{
	(void)arg;
	channel_close(c, true);
}

static void
on_closed(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->closed = true;
	if (e->w->end[0].closed && e->w->end[1].closed)
		loop_stop(e->w->loop);
}

static void
on_opened(void *arg, struct channel *c)
{
	channel_set_io(c, &bytes, arg);
}

static const struct channel_ops ops = { .opened = on_opened, .eof = on_eof,
	.closed = on_closed };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)chs;
	(void)data;
	if (channel_accept(c, &ops, arg, CHANNEL_WINDOW_DEFAULT,
		CHANNEL_PACKET_DEFAULT) != 0)
		return ERR_NOMEM;
	channel_set_io(c, &bytes, arg);
	return CHANNEL_SUCCESS;
}

/* ---- the ends ----------------------------------------------------------- */

static void
on_keys(void *arg, bool first)
{
	struct end *e = arg;
	struct channel *c;

	if (!first)
		return;
	assert_int_equal(packet_authenticated(e->packet), 0);
	assert_int_equal(packet_keep_begin(e->packet, KEEP), 0);
	packet_keep_count(e->packet);
	connection_set_channels(e->connection, e->channels);
	if (e->w->threads)
		(void)packet_threads_start(e->packet, 2);
	if (!e->server)
		assert_int_equal(channel_open(&c, e->channels, "bytes", NULL,
				     &ops, e, CHANNEL_WINDOW_DEFAULT,
				     CHANNEL_PACKET_DEFAULT), 0);
}

static int
no_auth(void *arg, uint8_t type, struct rd payload)
{
	(void)arg;
	(void)type;
	(void)payload;
	return ERR_PROTOCOL;
}

static bool
on_lost(void *arg, int err)
{
	struct end *e = arg;

	assert_true(err == ERR_CLOSED || err == ERR_SYSTEM);
	assert_false(e->suspended);
	e->suspended = true;
	return true;
}

static void
on_ended(void *arg, int err)
{
	struct end *e = arg;

	e->ended_by = err;
	loop_stop(e->w->loop);
}

static void
end_open(struct world *w, int i)
{
	struct end *e = &w->end[i];
	const struct connection_hooks hooks = { .arg = e,
		.auth = no_auth,
		.lost = on_lost,
		.ended = on_ended };

	e->w = w;
	e->server = i == 1;
	e->packet = packet_new(w->fd[i], w->fd[i], e->server);
	assert_non_null(e->packet);
	begin_kex(e, e->packet, &e->kex, on_keys);
	assert_int_equal(channels_new(&e->channels, e->packet, w->loop), 0);
	assert_int_equal(channels_on_open(e->channels, "bytes", on_open, e),
	    0);
	assert_int_equal(connection_new(&e->connection, w->loop, e->packet,
			     e->kex, &hooks), 0);
	packet_set_rekey_limit(e->packet, 3 * 1000 * 1000, 0);
}

static void
end_close(struct end *e)
{
	connection_free(e->connection);
	channels_free(e->channels);
	kex_free(e->kex);
	packet_free(e->packet);
}

/* ---- another transport -------------------------------------------------- */

/* One end's part of an exchange over a new socket; true: it is done. */
static bool
exchange(struct packet *p, struct kex *k)
{
	struct rd payload;
	int r = packet_flush(p);

	assert_true(r == 0 || r == ERR_AGAIN);
	r = packet_fill(p);
	assert_true(r > 0 || r == ERR_AGAIN);
	while ((r = packet_next(p, &payload)) == 1)
		assert_int_equal(kex_input(k, payload), 0);
	assert_int_equal(r, 0);
	return kex_first_done(k) && !kex_running(k) &&
	    packet_tx_pending(p) == 0;
}

/* What is on its way is lost. */
static void
reset_sockets(struct world *w)
{
	const struct linger at_once = { .l_onoff = 1 };

	for (int i = 0; i < 2; i++) {
		(void)setsockopt(w->fd[i], SOL_SOCKET, SO_LINGER, &at_once,
		    sizeof at_once);
		fd_close(&w->fd[i]);
	}
}

static void
go_on(struct world *w)
{
	struct packet *p[2];
	struct kex *k[2];
	uint64_t received[2];
	bool done[2] = { false };

	reset_sockets(w);
	tcp_pair(w->fd);
	for (int i = 0; i < 2; i++) {
		p[i] = packet_new(w->fd[i], w->fd[i], i == 1);
		assert_non_null(p[i]);
		begin_kex(&w->end[i], p[i], &k[i], on_other_keys);
		received[i] = packet_received(w->end[i].packet);
	}
	while (!done[0] || !done[1])
		for (int i = 0; i < 2; i++)
			done[i] = exchange(p[i], k[i]);
	for (int i = 0; i < 2; i++) {
		struct end *e = &w->end[i];

		assert_int_equal(packet_authenticated(p[i]), 0);
		assert_int_equal(connection_resume(e->connection, p[i], k[i],
				     received[!i]), 0);
		e->suspended = false;
		kex_free(k[i]);
		packet_free(p[i]);
		if (w->threads)
			(void)packet_threads_start(e->packet, 2);
	}
	assert_memory_equal(kex_session_id(w->end[0].kex).p,
	    kex_session_id(w->end[1].kex).p,
	    kex_session_id(w->end[1].kex).len);
}

static void
suspend(struct end *e)
{
	if (!e->suspended)
		connection_suspend(e->connection);
	e->suspended = true;
}

/* Messages that are no bulk, and so wait for no limit. */
static void
flood(struct end *e)
{
	static const uint8_t zeros[FLOOD_MESSAGE];
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_GLOBAL_REQUEST);
	buf_put_cstring(&b, "unknown");
	buf_put_bool(&b, false);
	buf_put(&b, zeros, sizeof zeros);
	for (size_t n = 0; n < e->w->flood; n += sizeof zeros)
		assert_int_equal(packet_put(e->packet, &b), 0);
	buf_clear(&b);
}

/* By turns: both are told, or one end's socket fails, which the other end finds
 * out by itself, or is told. */
static void
cut(struct world *w)
{
	w->next_cut = w->end[0].received + TOTAL / CUTS / 2;
	w->resume_ms = clock_ms() + w->rest_ms;
	w->turns = 0;
	if (w->cuts % 2 == 0) {
		suspend(&w->end[0]);
		suspend(&w->end[1]);
		flood(&w->end[0]);
		flood(&w->end[1]);
	} else {
		(void)shutdown(w->fd[w->cuts / 2 % 2], SHUT_RDWR);
	}
	w->cuts++;
}

/* With a flood: what is postponed in an exchange has a limit of its own. */
static bool
exchanges_keys(const struct world *w)
{
	return w->flood > 0 && (kex_running(w->end[0].kex) ||
	    kex_running(w->end[1].kex));
}

static void
on_tick(void *arg)
{
	struct world *w = arg;

	assert_non_null(loop_after(w->loop, TICK_MS, on_tick, w));
	if (w->end[0].suspended && w->end[1].suspended) {
		if (clock_ms() < w->resume_ms)
			return;
		go_on(w);
	} else if (w->end[0].suspended || w->end[1].suspended) {
		suspend(&w->end[0]);
		suspend(&w->end[1]);
	} else if (w->cuts < w->most_cuts &&
	    w->end[0].received >= w->next_cut && !exchanges_keys(w)) {
		cut(w);
	}
}

static void
on_stalled(void *arg)
{
	struct world *w = arg;
	size_t moved = w->end[0].received + w->end[1].received;

	if (moved > w->moved) {
		w->moved = moved;
		assert_non_null(loop_after(w->loop, LIMIT_MS, on_stalled, w));
		return;
	}
	fail_msg("after %u cuts: client %zu %zu, server %zu %zu", w->cuts,
	    w->end[0].sent, w->end[0].received, w->end[1].sent,
	    w->end[1].received);
}

static bool
on_turn(void *arg)
{
	struct world *w = arg;

	w->turns += w->end[0].suspended && w->end[1].suspended;
	return false;
}

static void
world_open(struct world *w)
{
	w->loop = loop_new();
	assert_non_null(w->loop);
	if (w->next_cut == 0)
		w->next_cut = 1; /* not before there are keys */
	tcp_pair(w->fd);
	end_open(w, 0);
	end_open(w, 1);
	assert_int_equal(loop_on_turn(w->loop, on_turn, w), 0);
	assert_non_null(loop_after(w->loop, TICK_MS, on_tick, w));
	assert_non_null(loop_after(w->loop, LIMIT_MS, on_stalled, w));
}

static void
world_close(struct world *w)
{
	end_close(&w->end[0]);
	end_close(&w->end[1]);
	loop_free(w->loop);
	fd_close(&w->fd[0]);
	fd_close(&w->fd[1]);
}

static void
play(struct world *w)
{
	world_open(w);
	assert_int_equal(loop_run(w->loop), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w->end[i].ended_by, 0);
		assert_int_equal(w->end[i].sent, TOTAL);
		assert_int_equal(w->end[i].received, TOTAL);
	}
	assert_true(w->cuts >= w->most_cuts);
	world_close(w);
}

static void
test_cuts(void **state)
{
	struct world w = { .most_cuts = CUTS };

	(void)state;
	play(&w);
}

static void
test_cuts_with_threads(void **state)
{
	struct world w = { .most_cuts = CUTS, .threads = true };

	(void)state;
	play(&w);
}

static void
test_rest(void **state)
{
	struct world w = { .most_cuts = 1, .rest_ms = 600,
		.next_cut = TOTAL / 3 };

	(void)state;
	play(&w);
	/* One a tick; a loop that does not wait has ten thousands. */
	assert_true(w.turns < 2 * 600 / TICK_MS);
}

/* Both have much to say again: neither may wait for the other to read first. */
static void
test_much_again(void **state)
{
	struct world w = { .most_cuts = 3, .flood = 24 * 1024 * 1024 };

	(void)state;
	play(&w);
}

/* Who waits no longer ends a suspended connection as one that broke. */
static void
test_give_up(void **state)
{
	struct world w = { .most_cuts = 1, .rest_ms = LIMIT_MS };

	(void)state;
	world_open(&w);
	for (int i = 0; i < 1000 && w.cuts == 0; i++)
		assert_int_equal(loop_turn(w.loop, 100), 0);
	connection_give_up(w.end[0].connection, ERR_CLOSED);
	assert_int_equal(w.end[0].ended_by, ERR_CLOSED);
	assert_int_equal(w.end[1].ended_by, 0);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_cuts_with_threads),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_much_again),
		cmocka_unit_test(test_give_up),
	};

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
