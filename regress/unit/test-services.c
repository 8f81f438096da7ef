/* SPDX-License-Identifier: ISC */
/* Channels and requests that clients are offered: rows of a table. The test is
 * the client, and reads replies before there are keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "server/session/services.h"

enum { PACKET_HEAD = 5 }; /* length, length of the padding */

static struct {
	int net[2];
	struct loop *loop;
	struct packet *packet;
	struct channels *channels;
	struct services *services;
	int opened, answered;
} t;

static bool
is_permitted(const struct serve_params *p)
{
	return p->permits->forward != 0;
}

static const struct channel_ops ops = { 0 };

static int
open_toy(const struct service_owners *o, struct channel *c, struct rd *data)
{
	int err = rd_end(data);

	assert_ptr_equal(o->packet, t.packet);
	if (err != 0)
		return err;
	t.opened++;
	err = channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

static int
answer_toy(const struct service_owners *o, struct rd *data, struct buf *reply)
{
	int err = rd_end(data);

	assert_ptr_equal(o->packet, t.packet);
	t.answered++;
	buf_put_u32(reply, 7);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

static const struct service_channel channel_row = { "toy", is_permitted,
	open_toy };
static const struct service_request request_row = { "toy@example",
	is_permitted, answer_toy };

static struct user user = { .name = "u" };
static struct permits permits;
static const struct serve_params params = { .user = &user,
	.permits = &permits };

static int
set_up(void **state)
{
	struct service_owners owners = { .params = &params };

	(void)state;
	memset(&t, 0, sizeof t);
	log_set_level(LOG_LVL_QUIET);
	permits_init(&permits);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t.net), 0);
	t.loop = loop_new();
	t.packet = packet_new(t.net[0], t.net[0], true);
	assert_non_null(t.loop);
	assert_non_null(t.packet);
	assert_int_equal(channels_new(&t.channels, t.packet, t.loop), 0);
	owners.channels = t.channels;
	owners.packet = t.packet;
	assert_int_equal(services_new(&t.services, &owners), 0);
	assert_int_equal(services_add_channel(t.services, &channel_row), 0);
	assert_int_equal(services_add_request(t.services, &request_row), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	channels_free(t.channels);
	services_free(t.services);
	packet_free(t.packet);
	loop_free(t.loop);
	close(t.net[0]);
	close(t.net[1]);
	permits_clear(&permits);
	return 0;
}

/* Type of the reply, and what follows its first field of four bytes. */
static uint8_t
reply_to(struct buf *msg, uint32_t *second)
{
	uint8_t bytes[512];
	struct rd r;
	ssize_t n;
	uint8_t type;

	assert_int_equal(channels_input(t.channels, rd_from_buf(msg)), 0);
	assert_int_equal(packet_flush(t.packet), 0);
	n = recv(t.net[1], bytes, sizeof bytes, MSG_DONTWAIT);
	assert_true(n > PACKET_HEAD);
	r = rd_from(bytes + PACKET_HEAD, (size_t)n - PACKET_HEAD);
	type = rd_u8(&r);
	(void)rd_u32(&r);
	*second = rd_u32(&r);
	buf_clear(msg);
	return type;
}

static uint8_t
open_channel(const char *type, uint32_t *reason)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, type);
	buf_put_u32(&b, 0);
	buf_put_u32(&b, 1000);
	buf_put_u32(&b, 1000);
	return reply_to(&b, reason);
}

static uint8_t
request(const char *name)
{
	struct buf b = { 0 };
	uint32_t ignored;

	buf_put_u8(&b, SSH_MSG_GLOBAL_REQUEST);
	buf_put_cstring(&b, name);
	buf_put_bool(&b, true);
	return reply_to(&b, &ignored);
}

static void
what_is_permitted_is_served(void **state)
{
	uint32_t reason;

	(void)state;
	assert_int_equal(open_channel("toy", &reason),
	    SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
	assert_int_equal(t.opened, 1);
	assert_int_equal(request("toy@example"), SSH_MSG_REQUEST_SUCCESS);
	assert_int_equal(t.answered, 1);
}

/* The handlers do not even see what the login has no permit for. */
static void
what_is_not_permitted_is_refused(void **state)
{
	uint32_t reason;

	(void)state;
	permits.forward = 0;
	assert_int_equal(open_channel("toy", &reason),
	    SSH_MSG_CHANNEL_OPEN_FAILURE);
	assert_int_equal(reason, CHANNEL_OPEN_PROHIBITED);
	assert_int_equal(request("toy@example"), SSH_MSG_REQUEST_FAILURE);
	assert_int_equal(t.opened, 0);
	assert_int_equal(t.answered, 0);
}

static void
what_has_no_row_is_refused(void **state)
{
	uint32_t reason;

	(void)state;
	assert_int_equal(open_channel("x11", &reason),
	    SSH_MSG_CHANNEL_OPEN_FAILURE);
	assert_int_equal(reason, CHANNEL_OPEN_UNKNOWN_TYPE);
	assert_int_equal(request("no-such-request"), SSH_MSG_REQUEST_FAILURE);
}

static void
everybody_has_keepalive(void **state)
{
	(void)state;
	memset(&permits, 0, sizeof permits);
	assert_int_equal(request("keepalive@openssh.com"),
	    SSH_MSG_REQUEST_SUCCESS);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_permitted_is_served),
		TEST(what_is_not_permitted_is_refused),
		TEST(what_has_no_row_is_refused),
		TEST(everybody_has_keepalive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
