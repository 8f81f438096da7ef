/* SPDX-License-Identifier: ISC */
/*
 * Two interfaces, played by sockets that keep messages apart, tied to each
 * other by a channel: packets arrive as they were sent, each by itself, and
 * what does not fit is lost alone.
 */
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "channels-internal.h"
#include "forward/tun.h"
#include "regress/unit/channels-host.h"

enum { TURNS = 6 };

static struct world w;
static struct {
	int wire; /* where the test reads and writes packets */
	struct tun *tun;
	int answered, refused, ended;
} a, b;
static bool accepts;
static uint8_t packet[70000];

static void
on_answered(void *arg, bool ok)
{
	(void)arg;
	a.answered += ok;
	a.refused += !ok;
}

static void
on_ended(void *arg)
{
	++*(int *)arg;
}

static struct tun *
make(int *wire, int *ended, bool ethernet)
{
	struct tun_device d = { .ethernet = ethernet, .name = "test0" };
	const struct tun_params p = { .loop = w.loop,
		.arg = ended,
		.answered = ended == &a.ended ? on_answered : NULL,
		.ended = on_ended };
	struct tun *t;
	int pair[2];

	socket_pair(SOCK_SEQPACKET, pair);
	*wire = pair[0];
	d.fd = pair[1];
	assert_int_equal(tun_new(&t, &d, &p), 0);
	assert_string_equal(tun_name(t), "test0");
	return t;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	uint32_t mode = rd_u32(data), unit = rd_u32(data);
	int r = rd_end(data);

	(void)arg;
	(void)chs;
	if (r != 0 || !accepts)
		return r;
	assert_int_equal(unit, 7);
	b.tun = make(&b.wire, &b.ended, mode == TUN_ETHERNET);
	r = tun_accept(b.tun, c);
	return r != 0 ? r : CHANNEL_SUCCESS;
}

static void
run(void)
{
	assert_int_equal(world_run(&w, TURNS), 0);
}

static void
open_tunnel(bool ethernet)
{
	a.tun = make(&a.wire, &a.ended, ethernet);
	assert_int_equal(tun_open(a.tun, w.a.chs, 7), 0);
	run();
}

static int
set_up(void **state)
{
	(void)state;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	b.wire = -1;
	accepts = true;
	log_set_level(LOG_LVL_QUIET);
	world_open(&w);
	assert_int_equal(channels_on_open(w.b.chs, TUN_CHANNEL, on_open,
	    NULL), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	tun_free(a.tun);
	tun_free(b.tun);
	close(a.wire);
	close(b.wire);
	world_close(&w);
	return 0;
}

/* A packet of an IP version, of so many bytes, that can be recognized. */
static void
send_packet(int fd, int version, size_t len, uint8_t mark)
{
	memset(packet, mark, len);
	packet[0] = (uint8_t)(version << 4);
	assert_int_equal(send(fd, packet, len, 0), len);
}

static void
expect_packet(int fd, int version, size_t len, uint8_t mark)
{
	assert_int_equal(recv(fd, packet, sizeof packet, 0), len);
	assert_int_equal(packet[0], version << 4);
	for (size_t i = 1; i < len; i++)
		assert_int_equal(packet[i], mark);
}

static void
expect_none(int fd)
{
	assert_int_equal(recv(fd, packet, sizeof packet, 0), -1);
}

static void
packets_stay_apart(void **state)
{
	static const size_t sizes[] = { 1, 20, 1500, 2, 9000, 40, 30000 };

	(void)state;
	open_tunnel(false);
	assert_int_equal(a.answered, 1);
	for (size_t i = 0; i < 7; i++) {
		send_packet(a.wire, i % 2 == 0 ? 4 : 6, sizes[i],
		    (uint8_t)(i + 1));
		send_packet(b.wire, 4, sizes[i], (uint8_t)(i + 100));
	}
	run();
	for (size_t i = 0; i < 7; i++) {
		expect_packet(b.wire, i % 2 == 0 ? 4 : 6, sizes[i],
		    (uint8_t)(i + 1));
		expect_packet(a.wire, 4, sizes[i], (uint8_t)(i + 100));
	}
	expect_none(a.wire);
	expect_none(b.wire);
}

static void
frames_are_what_they_are(void **state)
{
	(void)state;
	open_tunnel(true);
	send_packet(a.wire, 0, 60, 9);
	send_packet(a.wire, 15, 14, 8);
	run();
	expect_packet(b.wire, 0, 60, 9);
	expect_packet(b.wire, 15, 14, 8);
}

/* Neither the next ones nor the connection have anything to do with it. */
static void
what_does_not_fit_is_lost(void **state)
{
	(void)state;
	open_tunnel(false);
	w.a.ch = NULL;
	send_packet(a.wire, 5, 100, 1);	   /* no such version */
	send_packet(a.wire, 4, 66000, 2); /* more than a packet has */
	send_packet(a.wire, 4, 100, 3);
	run();
	expect_packet(b.wire, 4, 100, 3);
	expect_none(b.wire);
}

static struct channel *
channel_of(struct channels *chs)
{
	for (size_t i = 0; i < chs->n; i++)
		if (chs->v[i] != NULL)
			return chs->v[i];
	return NULL;
}

static void
the_peers_limits(void **state)
{
	struct channel *c;

	(void)state;
	open_tunnel(false);
	c = channel_of(w.a.chs);
	c->peer_max_packet = 104;
	send_packet(a.wire, 4, 101, 1);
	send_packet(a.wire, 4, 100, 2);
	run();
	expect_packet(b.wire, 4, 100, 2);
	expect_none(b.wire);
	c->peer_max_packet = CHANNEL_PACKET_DEFAULT;
	/* The last part of a window is not used: packets wait. */
	c->peer_window = 100 * 1000;
	send_packet(a.wire, 4, 50, 3);
	run();
	expect_none(b.wire);
	assert_true(channel_widen(c, 1000 * 1000));
	channel_touch(c);
	run();
	expect_packet(b.wire, 4, 50, 3);
	/* Some peers give back more than was used, which is no error here. */
	assert_true(channel_widen(c, UINT32_MAX));
	assert_int_equal(c->peer_window, UINT32_MAX);
}

/* Data that is not ours: too short for its family, or nothing at all. */
static void
hostile_packets(void **state)
{
	struct channel *c;
	struct buf m;

	(void)state;
	open_tunnel(false);
	c = channel_of(w.a.chs);
	for (size_t len = 0; len <= 5; len++) {
		channel_msg(c, &m, SSH_MSG_CHANNEL_DATA);
		buf_put_string(&m, "\0\0\0\2E", len);
		assert_int_equal(channels_send(w.a.chs, &m), 0);
	}
	run();
	assert_int_equal(recv(b.wire, packet, sizeof packet, 0), 1);
	expect_none(b.wire);
}

/* The other interface takes nothing now: nothing is kept for it. */
static void
nobody_takes_them(void **state)
{
	struct channel *c;
	int got = 0;

	(void)state;
	open_tunnel(false);
	for (int i = 0; i < 2000; i++) {
		send_packet(a.wire, 4, 1000, (uint8_t)i);
		assert_int_equal(world_run(&w, 1), 0);
	}
	run();
	c = channel_of(w.b.chs);
	assert_int_equal(c->sink[0].queue.len, 0);
	while (recv(b.wire, packet, sizeof packet, 0) == 1000)
		got++;
	assert_in_range(got, 1, 1999);
	send_packet(a.wire, 4, 100, 77);
	run();
	expect_packet(b.wire, 4, 100, 77);
}

static void
it_ends_on_both_sides(void **state)
{
	(void)state;
	open_tunnel(false);
	close(a.wire); /* the interface is removed */
	a.wire = -1;
	run();
	assert_int_equal(a.ended, 1);
	assert_int_equal(b.ended, 1);
	assert_int_equal(channels_alive(w.a.chs), 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
	assert_int_equal(recv(b.wire, packet, sizeof packet, 0), 0);
}

static void
one_is_freed(void **state)
{
	(void)state;
	open_tunnel(false);
	tun_free(b.tun);
	b.tun = NULL;
	run();
	assert_int_equal(a.ended, 1);
	assert_int_equal(channels_alive(w.b.chs), 0);
}

static void
a_refusal(void **state)
{
	(void)state;
	accepts = false;
	open_tunnel(false);
	assert_int_equal(a.refused, 1);
	assert_int_equal(a.answered + a.ended, 0);
	assert_int_equal(recv(a.wire, packet, sizeof packet, 0), 0);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(packets_stay_apart),
		TEST(frames_are_what_they_are),
		TEST(what_does_not_fit_is_lost),
		TEST(the_peers_limits),
		TEST(hostile_packets),
		TEST(nobody_takes_them),
		TEST(it_ends_on_both_sides),
		TEST(one_is_freed),
		TEST(a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
