/* SPDX-License-Identifier: ISC */
/*
 * The client's tunnel: when it is asked for, what the user is told where it
 * fails, that it counts as a use from the request to its end. The interface
 * is a socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/str.h"
#include "client/forwards/tunnel.h"
#include "forward/tun.h"
#include "regress/unit/channels-host.h"
#include "regress/unit/help.h"

static struct world w;
static struct client_conf conf;
static struct uses uses;
static struct tunnel *tunnel;
static int wire, device_error, opened, ends, fatal_ends, unused;
static bool accepts;
static int64_t local_unit, remote_unit;
static uint32_t remote_mode;

int
tun_device_open(struct tun_device *out, bool ethernet, int64_t unit)
{
	int pair[2];

	local_unit = unit;
	if (device_error != 0)
		return device_error;
	socket_pair(SOCK_SEQPACKET, pair);
	wire = pair[1];
	*out = (struct tun_device){ .fd = pair[0], .ethernet = ethernet,
		.name = "tun12" };
	opened++;
	return 0;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)arg;
	(void)chs;
	remote_mode = rd_u32(data);
	remote_unit = rd_u32(data);
	assert_int_equal(rd_end(data), 0);
	w.b.ch = c;
	if (!accepts)
		return CHANNEL_FAILURE;
	assert_int_equal(channel_accept(c, &world_ops, &w.b,
	    CHANNEL_WINDOW_DEFAULT, CHANNEL_PACKET_DEFAULT), 0);
	return CHANNEL_SUCCESS;
}

static void
on_done(void *arg, bool fatal)
{
	(void)arg;
	ends++;
	fatal_ends += fatal;
}

static void
on_unused(void *arg)
{
	(void)arg;
	unused++;
}

static int
setup(void **state)
{
	(void)state;
	memset(&conf, 0, sizeof conf);
	conf.forward.tunnel = CLIENT_TUNNEL_POINT_TO_POINT;
	conf.forward.tunnel_local = 3;
	conf.forward.tunnel_remote = 4;
	uses = (struct uses){ .unused = on_unused };
	device_error = opened = ends = fatal_ends = unused = 0;
	wire = -1;
	accepts = true;
	tunnel = NULL;
	local_unit = remote_unit = -2;
	world_open(&w);
	assert_int_equal(channels_on_open(w.b.chs, TUN_CHANNEL, on_open,
	    NULL), 0);
	messages_keep();
	messages_forget();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	tunnel_free(tunnel);
	world_close(&w);
	fd_close(&wire);
	free(conf.load.tunnel_name);
	return 0;
}

static void
begin(bool distrusted)
{
	const struct tunnel_params p = { .conf = &conf,
		.loop = w.loop,
		.channels = w.a.chs,
		.uses = &uses,
		.distrusted = distrusted,
		.done = on_done };

	tunnel_new(&tunnel, &p);
}

static void
test_stands(void **state)
{
	(void)state;
	assert_true(tunnel_is_wanted(&conf));
	begin(false);
	assert_string_equal(conf.load.tunnel_name, "tun12");
	assert_int_equal(uses.count[USE_TUNNEL], 1);
	assert_int_equal(ends, 0);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(ends, 1);
	assert_int_equal(fatal_ends, 0);
	assert_int_equal(local_unit, 3);
	assert_int_equal(remote_unit, 4);
	assert_int_equal(remote_mode, TUN_POINT_TO_POINT);
	/* The server ends it. */
	channel_close(w.b.ch, false);
	assert_int_equal(world_run(&w, 6), 0);
	assert_int_equal(uses.count[USE_TUNNEL], 0);
	assert_int_equal(unused, 1);
	assert_int_equal(ends, 1);
}

static void
test_any_unit(void **state)
{
	(void)state;
	conf.forward.tunnel = CLIENT_TUNNEL_ETHERNET;
	conf.forward.tunnel_local = CLIENT_TUNNEL_ANY;
	conf.forward.tunnel_remote = CLIENT_TUNNEL_ANY;
	begin(false);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(local_unit, TUN_UNIT_ANY);
	assert_int_equal(remote_unit, TUN_WIRE_ANY);
	assert_int_equal(remote_mode, TUN_ETHERNET);
}

static void
test_not_wanted(void **state)
{
	(void)state;
	conf.forward.tunnel = CLIENT_TUNNEL_NO;
	assert_false(tunnel_is_wanted(&conf));
}

/* Nothing is opened for a server that is not the known one, nor asked of
 * it. */
static void
test_distrusted(void **state)
{
	(void)state;
	begin(true);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(opened, 0);
	assert_int_equal(remote_unit, -2);
	assert_int_equal(ends, 1);
	assert_int_equal(fatal_ends, 0);
	assert_false(uses_any(&uses));
	assert_non_null(strstr(messages, "Tunnel forwarding is disabled to "
	    "avoid man-in-the-middle attacks."));
}

/* The server is not asked for its half of what cannot be. */
static void
test_no_device(void **state)
{
	(void)state;
	device_error = ERR_UNSUPPORTED;
	conf.forward.exit_on_failure = 1;
	begin(false);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(remote_unit, -2);
	assert_null(conf.load.tunnel_name);
	assert_int_equal(ends, 1);
	assert_int_equal(fatal_ends, 1);
	assert_false(uses_any(&uses));
	assert_non_null(strstr(messages, "Tunnel device open failed: "));
	assert_non_null(strstr(messages,
	    "Could not request tunnel forwarding."));
}

static void
test_refused(void **state)
{
	(void)state;
	accepts = false;
	for (int strict = 0; strict < 2; strict++) {
		conf.forward.exit_on_failure = strict;
		ends = fatal_ends = unused = 0;
		begin(false);
		assert_int_equal(uses.count[USE_TUNNEL], 1);
		assert_int_equal(world_run(&w, 4), 0);
		assert_int_equal(ends, 1);
		assert_int_equal(fatal_ends, strict);
		assert_int_equal(uses.count[USE_TUNNEL], 0);
		assert_int_equal(unused, 1);
		assert_non_null(strstr(messages,
		    "Tunnel forwarding failed"));
		messages_forget();
		tunnel_free(tunnel);
		tunnel = NULL;
		fd_close(&wire);
	}
}

/* It is freed while the answer is on its way, which is then heard by
 * nobody. */
static void
test_left(void **state)
{
	(void)state;
	begin(false);
	tunnel_free(tunnel);
	tunnel = NULL;
	assert_int_equal(world_run(&w, 6), 0);
	assert_int_equal(ends, 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stands),
		TEST(test_any_unit),
		TEST(test_not_wanted),
		TEST(test_distrusted),
		TEST(test_no_device),
		TEST(test_refused),
		TEST(test_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
