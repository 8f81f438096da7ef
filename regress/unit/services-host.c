/* SPDX-License-Identifier: ISC */
#include "regress/unit/services-host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/clock.h"
#include "forward/forwarded.h"
#include "regress/unit/help.h"

enum { WAIT_MS = 60 * 1000 };

struct services_host host;
static struct peer peer = { .address = "192.0.2.7", .port = 1234 };
static struct user user = { .name = "somebody", .valid = true };
static struct serve_params params;

static const struct channel_ops held_ops = { 0 };

/* What the server opens is accepted, and tied to nothing. */
static int
on_call(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)arg;
	(void)chs;
	(void)data;
	assert_true(host.called < HELD_BY_CLIENT_MAX);
	host.held[host.called++] = c;
	if (host.holds) {
		channel_defer(c, &held_ops, NULL);
		return CHANNEL_LATER;
	}
	return channel_accept(c, &world_ops, &host.w.a, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT) == 0 ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

int
services_setup(void **state)
{
	struct forwarded_params list = { .family = AF_UNSPEC };

	(void)state;
	memset(&host, 0, sizeof host);
	permits_init(&host.permits);
	host.conf.forward.bind_mask = 0177;
	world_open(&host.w);
	list.loop = host.w.loop;
	list.channels = host.w.b.chs;
	params = (struct serve_params){ .conf = &host.conf,
		.user = &user,
		.permits = &host.permits,
		.peer = &peer };
	host.owners = (struct service_owners){ .params = &params,
		.channels = host.w.b.chs,
		.packet = host.w.b.packet };
	assert_int_equal(forwarded_list_new(&host.owners.forwarded, &list), 0);
	assert_int_equal(channels_on_open(host.w.a.chs, "forwarded-tcpip",
	    on_call, NULL), 0);
	assert_int_equal(channels_on_open(host.w.a.chs,
	    "forwarded-streamlocal@openssh.com", on_call, NULL), 0);
	messages_keep();
	messages_forget();
	return 0;
}

int
services_teardown(void **state)
{
	(void)state;
	forwarded_list_free(host.owners.forwarded);
	world_close(&host.w);
	permits_clear(&host.permits);
	return 0;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	const struct service_channel *row = arg;

	(void)chs;
	return row->open(&host.owners, c, data);
}

void
serve_channel(const struct service_channel *row)
{
	assert_int_equal(channels_on_open(host.w.b.chs, row->type, on_open,
	    (void *)(uintptr_t)row), 0);
}

static int
on_request(void *arg, struct rd *data, struct buf *reply)
{
	const struct service_request *row = arg;

	return row->answer(&host.owners, data, reply);
}

void
serve_request(const struct service_request *row)
{
	assert_int_equal(channels_on_global(host.w.b.chs, row->name,
	    on_request, (void *)(uintptr_t)row), 0);
}

int
client_opens(const char *type, struct buf *extra)
{
	struct end *e = &host.w.a;
	uint64_t end = clock_ms() + WAIT_MS;
	int before = e->opened;

	e->refused = 0;
	assert_int_equal(channel_open(&e->ch, e->chs, type, extra, &world_ops,
	    e, CHANNEL_WINDOW_DEFAULT, CHANNEL_PACKET_DEFAULT), 0);
	buf_clear(extra);
	while (e->opened == before && e->refused == 0 && clock_ms() < end)
		assert_int_equal(world_run(&host.w, 1), 0);
	assert_true(e->refused != 0 || e->opened == before + 1);
	return e->refused;
}

struct answer {
	bool come, ok;
	struct buf *data;
};

static void
on_reply(void *arg, bool ok, struct rd data)
{
	struct answer *a = arg;
	struct span rest = rd_rest(&data);

	a->come = true;
	a->ok = ok;
	if (a->data != NULL)
		buf_put(a->data, rest.p, rest.len);
}

bool
client_asks(const char *name, struct buf *data, struct buf *reply)
{
	struct answer a = { .data = reply };
	uint64_t end = clock_ms() + WAIT_MS;

	assert_int_equal(channels_global_request(host.w.a.chs, name, data,
	    on_reply, &a), 0);
	buf_clear(data);
	while (!a.come && clock_ms() < end)
		assert_int_equal(world_run(&host.w, 1), 0);
	assert_true(a.come);
	return a.ok;
}

int
client_misspeaks(const char *open_type, const char *request,
    struct buf *fields)
{
	struct end *e = &host.w.a;

	if (open_type != NULL)
		assert_int_equal(channel_open(&e->ch, e->chs, open_type,
		    fields, &world_ops, e, CHANNEL_WINDOW_DEFAULT,
		    CHANNEL_PACKET_DEFAULT), 0);
	else
		assert_int_equal(channels_global_request(e->chs, request,
		    fields, NULL, NULL), 0);
	buf_clear(fields);
	return world_run(&host.w, 4);
}
