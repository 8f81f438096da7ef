/* SPDX-License-Identifier: ISC */
/*
 * Tunnels that a client asks the server for: which interface it gets, what is
 * refused and told, how many there may be. The interfaces are sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "forward/tun.h"
#include "regress/unit/help.h"
#include "regress/unit/services-host.h"
#include "server/session/forward-tunnel.h"
#include "server/session/none-allowed.h"

enum { MOST = 16 };

static const struct service_channel row = { TUN_CHANNEL, NULL,
	forward_tunnel_open };
static bool encrypted, broken;
static int64_t last_unit;
static int opened, far[64];

int
tun_device_open(struct tun_device *out, bool ethernet, int64_t unit)
{
	int pair[2];

	if (broken)
		return ERR_UNSUPPORTED;
	socket_pair(SOCK_SEQPACKET, pair);
	*out = (struct tun_device){ .fd = pair[0], .ethernet = ethernet };
	snprintf(out->name, sizeof out->name, "%s%d", ethernet ? "tap" : "tun",
	    opened);
	far[opened++] = pair[1];
	last_unit = unit;
	return 0;
}

bool
none_exclude(struct kex *k, const struct packet *p, const char *what)
{
	(void)k;
	(void)p;
	assert_string_equal(what, "a tunnel");
	return encrypted;
}

static int
setup(void **state)
{
	encrypted = true;
	broken = false;
	opened = 0;
	assert_int_equal(services_setup(state), 0);
	host.owners.tunnels = forward_tunnels_new(host.w.loop);
	serve_channel(&row);
	return 0;
}

static int
teardown(void **state)
{
	forward_tunnels_free(host.owners.tunnels);
	for (int i = 0; i < opened; i++)
		fd_close(&far[i]);
	return services_teardown(state);
}

static int
ask(uint32_t mode, uint32_t unit)
{
	struct buf b = { 0 };

	buf_put_u32(&b, mode);
	buf_put_u32(&b, unit);
	return client_opens(TUN_CHANNEL, &b);
}

/* What the key names is had where the client leaves it open; nothing else is
 * where it does not. */
static void
test_units(void **state)
{
	static const struct {
		unsigned modes;
		int64_t key;
		uint32_t mode, asked;
		int64_t unit; /* -2: refused */
	} rows[] = {
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 1, TUN_WIRE_ANY,
		    TUN_UNIT_ANY },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 2, 7, 7 },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 1,
		    PERMITS_TUNNEL_MAX, PERMITS_TUNNEL_MAX },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 1,
		    PERMITS_TUNNEL_MAX + 1u, -2 },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 1, UINT32_MAX, -2 },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 0, 7, -2 },
		{ PERMITS_TUNNEL_ALL, PERMITS_TUNNEL_ANY, 3, 7, -2 },
		{ PERMITS_TUNNEL_ALL, 5, 1, TUN_WIRE_ANY, 5 },
		{ PERMITS_TUNNEL_ALL, 5, 1, 5, 5 },
		{ PERMITS_TUNNEL_ALL, 5, 1, 6, -2 },
		{ PERMITS_TUNNEL_ETHERNET, 5, 1, 5, -2 },
		{ 0, PERMITS_TUNNEL_ANY, 2, TUN_WIRE_ANY, -2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int before = opened;
		bool fine = rows[i].unit != -2;

		host.permits.tunnel_modes = rows[i].modes;
		host.permits.tunnel_unit = rows[i].key;
		last_unit = -2;
		assert_int_equal(ask(rows[i].mode, rows[i].asked),
		    fine ? 0 : CHANNEL_OPEN_CONNECT_FAILED);
		assert_int_equal(opened, before + fine);
		assert_int_equal(last_unit, rows[i].unit);
	}
}

/* Nothing is opened on a connection in the clear, and all refusals read the
 * same. */
static void
test_refusals(void **state)
{
	(void)state;
	encrypted = false;
	assert_int_equal(ask(1, 7), CHANNEL_OPEN_CONNECT_FAILED);
	assert_string_equal(host.w.a.refused_text, "open failed");
	assert_int_equal(opened, 0);
	encrypted = true;
	broken = true;
	assert_int_equal(ask(1, 7), CHANNEL_OPEN_CONNECT_FAILED);
	assert_string_equal(host.w.a.refused_text, "open failed");
	assert_non_null(strstr(messages, "cannot open a tunnel's interface"));
	assert_null(forward_tunnels_names(host.owners.tunnels));
	broken = false;
	assert_int_equal(ask(1, 7), 0);
}

/* The place of one that has ended is free again. */
static void
test_most(void **state)
{
	struct channel *last;
	char *names;

	(void)state;
	for (int i = 0; i < MOST; i++)
		assert_int_equal(ask(1 + (uint32_t)i % 2, TUN_WIRE_ANY), 0);
	last = host.w.a.ch;
	assert_int_equal(ask(1, TUN_WIRE_ANY), CHANNEL_OPEN_CONNECT_FAILED);
	assert_int_equal(opened, MOST);
	names = forward_tunnels_names(host.owners.tunnels);
	assert_non_null(strstr(names, "tap3,tun2,tap1,tun0"));
	free(names);
	channel_close(last, false);
	assert_int_equal(world_run(&host.w, 6), 0);
	assert_int_equal(ask(1, TUN_WIRE_ANY), 0);
	assert_int_equal(opened, MOST + 1);
}

static void
test_fields(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_put_u32(&b, 1);
	buf_put_u32(&b, 7);
	buf_put_u8(&b, 0);
	assert_int_equal(client_misspeaks(TUN_CHANNEL, NULL, &b),
	    ERR_TRAILING);
	assert_int_equal(opened, 0);
}

static void
test_short_fields(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_put_u32(&b, 1);
	assert_int_equal(client_misspeaks(TUN_CHANNEL, NULL, &b),
	    ERR_TRUNCATED);
	assert_int_equal(opened, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_units),
		TEST(test_refusals),
		TEST(test_most),
		TEST(test_fields),
		TEST(test_short_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
