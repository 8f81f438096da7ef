/* SPDX-License-Identifier: ISC */
/*
 * Channels of others on our connection, against the channels of a server, which
 * ends the connection at the first message that is not allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "client/mux/mux-foreign.h"
#include "packet.h"
#include "regress/unit/dice.h"
#include "regress/unit/foreign-host.h"

enum {
	NUMBER = 5000, /* of the owner's first channel */
	STEPS = 6000,  /* of a story */
};

/* ---- numbers, and the life of a channel --------------------------------- */

static void
test_life_of_a_channel(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);
	struct rd r;

	(void)state;
	assert_int_equal(channels_count(w.near), 2);
	assert_int_equal(say_request(w.owner, id, "exec", true), 0);
	expect_only(SSH_MSG_CHANNEL_SUCCESS, NUMBER);
	assert_int_equal(say_request(w.owner, id, "weather", true), 0);
	expect_only(SSH_MSG_CHANNEL_FAILURE, NUMBER);
	assert_int_equal(channel_send_data(w.far_channel[1], 0, "abc", 3), 0);
	r = expect(SSH_MSG_CHANNEL_DATA, NUMBER);
	assert_true(span_equals(rd_string(&r), "abc"));
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&w.inbox[0].b);
	assert_int_equal(say_data(w.owner, id, 100), 0);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_EOF, id), 0);
	run(4);
	assert_int_equal(w.far_eofs, 1);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id), 0);
	expect_only(SSH_MSG_CHANNEL_CLOSE, NUMBER);
	run(2);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
	/* it is nobody's now */
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_EOF, id), ERR_PROTOCOL);
}

static void
test_server_closes_first(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);

	(void)state;
	channel_close(w.far_channel[1], false);
	run(4);
	assert_int_equal(w.inbox_count, 2);
	assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_EOF);
	assert_int_equal(w.inbox[1].type, SSH_MSG_CHANNEL_CLOSE);
	empty_inbox();
	assert_int_equal(channels_count(w.near), 2);
	assert_int_equal(say_data(w.owner, id, 10), 0); /* was on its way */
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id), 0);
	run(4);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

static void
test_refused(void **state)
{
	(void)state;
	assert_int_equal(say_open(w.owner, "weather", 7), 0);
	(void)expect(SSH_MSG_CHANNEL_OPEN_FAILURE, 7);
	buf_clear(&w.inbox[0].b);
	run(1);
	assert_int_equal(channels_count(w.near), 1);
}

static void
test_two_owners_with_one_number(void **state)
{
	struct foreign *other = new_owner();
	uint32_t a = open_channel(w.owner, 1), b = open_channel(other, 1);

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(say_data(w.owner, b, 1), ERR_PROTOCOL);
	assert_int_equal(SAY(other, SSH_MSG_CHANNEL_CLOSE, a), ERR_PROTOCOL);
	assert_int_equal(say_data(w.owner, a, 1), 0);
	foreign_free(other);
	run(4);
	assert_int_equal(channels_count(w.near), 2);
	assert_int_equal(say_data(w.owner, a, 1), 0);
}

/* ---- what is not the owner's, or not allowed ---------------------------- */

static void
test_our_channels_are_not_its(void **state)
{
	uint32_t id = channel_id(w.own);

	(void)state;
	assert_int_equal(say_data(w.owner, id, 1), ERR_PROTOCOL);
	assert_int_equal(say_request(w.owner, id, "exec", true), ERR_PROTOCOL);
	for (uint8_t type = SSH_MSG_CHANNEL_OPEN_CONFIRMATION;
	     type <= SSH_MSG_CHANNEL_FAILURE; type++)
		assert_int_equal(SAY(w.owner, type, id), ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, UINT32_MAX),
	    ERR_PROTOCOL);
	run(2);
	assert_int_equal(channels_count(w.near), 1);
}

static void
test_other_messages(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(foreign_say(w.owner, &b), ERR_PROTOCOL); /* no type */
	for (int type = 0; type < 256; type++)
		if (type < SSH_MSG_GLOBAL_REQUEST ||
		    type > SSH_MSG_CHANNEL_FAILURE)
			assert_int_equal(SAY(w.owner, (uint8_t)type, 0),
			    ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_REQUEST_SUCCESS, 0),
	    ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_REQUEST_FAILURE, 0),
	    ERR_PROTOCOL);
	assert_int_equal(say_global(w.owner, "no-more-sessions@openssh.com", "",
			     0, false), ERR_DENIED);
	assert_int_equal(say_global(w.owner, "cancel-tcpip-forward", "here",
			     FAR_PORT, false), ERR_DENIED);
	assert_int_equal(say_open(w.owner, "\x1b[2Jsession", 1), ERR_PROTOCOL);
}

static void
test_broken_messages(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);
	struct buf b = { 0 };

	(void)state;
	for (uint8_t type = SSH_MSG_CHANNEL_WINDOW_ADJUST;
	     type <= SSH_MSG_CHANNEL_REQUEST; type++) {
		if (type != SSH_MSG_CHANNEL_EOF &&
		    type != SSH_MSG_CHANNEL_CLOSE)
			assert_int_not_equal(SAY(w.owner, type, id), 0);
		buf_put_u8(&b, type);
		buf_put_u8(&b, 0); /* not even a number */
		assert_int_not_equal(foreign_say(w.owner, &b), 0);
	}
	/* bytes behind the end */
	assert_int_not_equal(SAY(w.owner, SSH_MSG_CHANNEL_DATA, id, 0, 0), 0);
	assert_int_not_equal(SAY(w.owner, SSH_MSG_CHANNEL_WINDOW_ADJUST, id, 1,
				 1), 0);
	assert_int_not_equal(SAY(w.owner, SSH_MSG_CHANNEL_DATA, id, 1000), 0);
	assert_int_not_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN, 7), 0);
	assert_int_not_equal(SAY(w.owner, SSH_MSG_GLOBAL_REQUEST, 0), 0);
}

static void
test_message_too_long(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);
	struct buf b = { 0 };
	size_t max = FOREIGN_MESSAGE_MAX;

	(void)state;
	for (int over = 0; over < 2; over++) {
		buf_put_u8(&b, SSH_MSG_CHANNEL_REQUEST);
		buf_put_u32(&b, id);
		buf_put_cstring(&b, "exec");
		buf_put_bool(&b, false);
		memset(buf_reserve(&b, max), 0, max);
		buf_commit(&b, max - buf_len(&b) + (size_t)over);
		assert_int_equal(foreign_say(w.owner, &b),
		    over ? ERR_PROTOCOL : 0);
	}
	run(6);
	assert_int_equal(w.far_requests, 1);
}

static void
test_window(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);

	(void)state;
	assert_int_equal(say_data(w.owner, id, FAR_PACKET + 1), ERR_PROTOCOL);
	for (int i = 0; i < FAR_WINDOW / FAR_PACKET; i++)
		assert_int_equal(say_data(w.owner, id, FAR_PACKET), 0);
	assert_int_equal(say_data(w.owner, id, 1), ERR_PROTOCOL);
	run(6);
	empty_inbox(); /* the server has given back */
	assert_int_equal(say_data(w.owner, id, 1), 0);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_WINDOW_ADJUST, id,
			     UINT32_MAX - FAR_WINDOW), 0);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_WINDOW_ADJUST, id, 1),
	    ERR_PROTOCOL);
}

static void
test_order(void **state)
{
	uint32_t id = open_channel(w.owner, NUMBER);

	(void)state;
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN_CONFIRMATION, id, 1,
			     1, 1), ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_SUCCESS, id),
	    ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_FAILURE, id),
	    ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_EOF, id), 0);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_EOF, id), ERR_PROTOCOL);
	assert_int_equal(say_data(w.owner, id, 1), ERR_PROTOCOL);
	channel_hold_close(w.far_channel[1], true);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id), 0);
	run(4); /* the server has not closed yet */
	assert_int_equal(channels_count(w.near), 2);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id), ERR_PROTOCOL);
	assert_int_equal(say_request(w.owner, id, "exec", false), ERR_PROTOCOL);
	channel_hold_close(w.far_channel[1], false);
	run(4);
	empty_inbox();
	assert_int_equal(channels_count(w.near), 1);
}

/* Before the server has said what the channel's number is. */
static void
test_not_open_yet(void **state)
{
	(void)state;
	assert_int_equal(say_open(w.owner, "session", 1), 0);
	for (uint8_t type = SSH_MSG_CHANNEL_OPEN_CONFIRMATION;
	     type <= SSH_MSG_CHANNEL_FAILURE; type++)
		assert_int_equal(SAY(w.owner, type, channel_id(w.own) + 1),
		    ERR_PROTOCOL);
	(void)expect(SSH_MSG_CHANNEL_OPEN_CONFIRMATION, 1);
	buf_clear(&w.inbox[0].b);
}

static void
test_limit_of_channels(void **state)
{
	static const char none[] = "open failed: no resources";
	struct rd r;

	(void)state;
	for (uint32_t i = 0; i < FOREIGN_CHANNELS_MAX; i++)
		assert_int_equal(say_open(w.owner, "session", i), 0);
	assert_int_equal(w.inbox_count, 0);
	assert_int_equal(say_open(w.owner, "session", 9999), 0);
	assert_int_equal(w.inbox_count, 1);
	r = w.inbox[0].r;
	assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_OPEN_FAILURE);
	assert_int_equal(rd_u32(&r), 9999);
	assert_int_equal(rd_u32(&r), CHANNEL_OPEN_RESOURCE_SHORTAGE);
	assert_true(span_equals(rd_string(&r), none));
	empty_inbox();
	run(4);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(20);
	empty_inbox();
	assert_int_equal(channels_count(w.near), 1);
	(void)open_channel(w.owner, 1);
}

/* Of servers that never answer. */
static void
test_limit_of_all(void **state)
{
	size_t most = FOREIGN_CHANNELS_MAX_ALL / FOREIGN_CHANNELS_MAX;

	(void)state;
	for (size_t k = 0; k < most; k++) {
		for (uint32_t i = 0; i < FOREIGN_CHANNELS_MAX; i++)
			assert_int_equal(say_open(w.owner, "weather", i), 0);
		assert_int_equal(w.inbox_count, 0);
		foreign_free(w.owner);
		w.owner = new_owner();
	}
	assert_int_equal(say_open(w.owner, "session", 1), 0);
	assert_int_equal(w.inbox_count, 1);
	empty_inbox();
	run(40); /* now it has: */
	assert_int_equal(channels_count(w.near), 1);
	(void)open_channel(w.owner, 1);
}

/* ---- the end of an owner ------------------------------------------------ */

static void
test_owner_goes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		(void)open_channel(w.owner, i);
	assert_int_equal(say_open(w.owner, "session", 4), 0); /* unanswered */
	channel_close(w.far_channel[2], false); /* was on its way */
	assert_int_equal(channel_send_data(w.far_channel[3], 0, "late", 4), 0);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(6);
	assert_int_equal(w.inbox_count, 0);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

static void
test_owner_goes_after_the_server_closed(void **state)
{
	(void)state;
	(void)open_channel(w.owner, 1);
	channel_close(w.far_channel[1], false);
	run(4);
	empty_inbox();
	foreign_free(w.owner);
	w.owner = new_owner();
	run(4);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

/* Its number is not given to another meanwhile. */
static void
test_number_is_kept_until_the_server_closes(void **state)
{
	uint32_t id = open_channel(w.owner, 1);

	(void)state;
	channel_hold_close(w.far_channel[1], true);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(4);
	assert_int_equal(channels_count(w.near), 2);
	assert_int_not_equal(open_channel(w.owner, 2), id);
	channel_hold_close(w.far_channel[1], false);
	run(4);
	assert_int_equal(channels_count(w.near), 2);
	assert_int_equal(open_channel(w.owner, 3), id);
}

static void
test_connection_is_lost(void **state)
{
	(void)state;
	(void)open_channel(w.owner, 1);
	assert_int_equal(say_open(w.owner, "session", 2), 0);
	run(3);
	empty_inbox();
	(void)channels_settle(w.near);
	assert_int_equal(channels_count(w.near), 0);
}

/* ---- ports -------------------------------------------------------------- */

static void
test_port(void **state)
{
	uint32_t id;

	(void)state;
	(void)come_to("here", FAR_PORT); /* nobody has asked for it yet */
	run(4);
	assert_int_equal(w.inbox_count, 0);
	listen_for_owner();
	(void)come_to("elsewhere", FAR_PORT);
	(void)come_to("here", FAR_PORT + 1);
	run(4);
	assert_int_equal(w.inbox_count, 0);
	(void)come_to("here", FAR_PORT);
	id = offered_channel();
	assert_int_equal(say_data(w.owner, id, 1), ERR_PROTOCOL);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN_CONFIRMATION, id, 77,
			     FAR_WINDOW, FAR_PACKET), 0);
	run(2);
	assert_int_equal(channel_send_data(w.far_channel[1], 0, "abc", 3), 0);
	(void)expect(SSH_MSG_CHANNEL_DATA, 77);
	buf_clear(&w.inbox[0].b);
	assert_int_equal(say_data(w.owner, id, 1), 0);
	(void)come_to("here", FAR_PORT);
	id = offered_channel();
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN_FAILURE, id, 2, 0,
			     0), 0);
	(void)come_to("here", FAR_PORT);
	(void)offered_channel(); /* not answered */
	run(2);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(6);
	assert_int_equal(w.cancels, 1);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
	(void)come_to("here", FAR_PORT);
	run(4);
	assert_int_equal(w.inbox_count, 0);
}

static void
test_port_of_one_that_went(void **state)
{
	struct buf b = { 0 };

	(void)state;
	w.answers_later = true;
	assert_int_equal(say_global(w.owner, "tcpip-forward", "here", 0, true),
	    0);
	run(4);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(2);
	assert_int_equal(w.cancels, 0);
	buf_put_u32(&b, FAR_PORT);
	assert_int_equal(channels_give_owed(w.far, w.owed, true, &b), 0);
	buf_clear(&b);
	run(4);
	assert_int_equal(w.inbox_count, 0);
	assert_int_equal(w.cancels, 1);
}

static void
test_refused_port(void **state)
{
	(void)state;
	assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 1, true),
	    0);
	assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 1, false),
	    0);
	run(4);
	assert_int_equal(w.inbox_count, 1);
	assert_int_equal(w.inbox[0].type, SSH_MSG_REQUEST_FAILURE);
	empty_inbox();
	assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 65536,
			     true), ERR_PROTOCOL);
	/* what was refused does not count */
	for (int i = 0; i < 2 * FOREIGN_LISTENS_MAX; i++) {
		assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 1,
				     false), 0);
		run(3);
	}
	w.answers_later = true;
	for (int i = 0; i < FOREIGN_LISTENS_MAX; i++)
		assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 1,
				     false), 0);
	assert_int_equal(say_global(w.owner, "tcpip-forward", "no", 1, false),
	    ERR_LIMIT);
}

/* ---- an owner that has stopped ------------------------------------------ */

static void
on_alive_answer(void *arg, bool ok, struct rd data)
{
	(void)data;
	assert_false(ok);
	++*(int *)arg;
}

static void
test_alive_checks(void **state)
{
	uint32_t id = open_channel(w.owner, 1);
	int answers = 0;

	(void)state;
	assert_int_equal(channel_request(w.far_channel[1],
			     "keepalive@openssh.com", NULL, on_alive_answer,
			     &answers), 0);
	run(4);
	assert_int_equal(answers, 1);
	assert_int_equal(w.inbox_count, 0);
	assert_int_equal(channel_request(w.far_channel[1], "other", NULL,
			     on_alive_answer, &answers), 0);
	run(4);
	assert_int_equal(answers, 1);
	assert_int_equal(w.inbox_count, 1);
	empty_inbox();
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_FAILURE, id), 0);
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_FAILURE, id),
	    ERR_PROTOCOL);
	run(4);
	assert_int_equal(answers, 2);
}

/* ---- anything ----------------------------------------------------------- */

enum { IDS = 8 };
static uint32_t ids[IDS]; /* open, as the owner knows them */
static size_t id_count;

static void
forget_id(size_t i)
{
	ids[i] = ids[--id_count];
}

/* Answers what is to be answered, and keeps the numbers of new channels. */
static void
read_inbox(struct dice *d)
{
	for (size_t i = 0; i < w.inbox_count; i++) {
		struct rd r = w.inbox[i].r;
		bool offered = w.inbox[i].type == SSH_MSG_CHANNEL_OPEN;
		uint32_t id;

		if (!offered &&
		    w.inbox[i].type != SSH_MSG_CHANNEL_OPEN_CONFIRMATION)
			continue;
		if (offered)
			(void)rd_string(&r);
		else
			(void)rd_u32(&r);
		id = rd_u32(&r);
		if (offered && dice_below(d, 4) == 0)
			continue; /* never */
		if (offered)
			assert_int_equal(SAY(w.owner,
					     SSH_MSG_CHANNEL_OPEN_CONFIRMATION,
					     id, 1, dice_below(d, FAR_WINDOW),
					     FAR_PACKET), 0);
		if (id_count < IDS)
			ids[id_count++] = id;
	}
	empty_inbox();
}

static int
say_wrong(struct dice *d)
{
	uint32_t id = dice_below(d, 12);
	uint8_t type = (uint8_t)(SSH_MSG_CHANNEL_OPEN_CONFIRMATION +
	    dice_below(d, 10));

	switch (dice_below(d, 4)) {
	case 0:
		return SAY(w.owner, type, id);
	case 1:
		return SAY(w.owner, type, id, UINT32_MAX - dice_below(d, 9));
	case 2:
		return SAY(w.owner, type, id, 1, FAR_WINDOW, FAR_PACKET);
	default:
		return SAY(w.owner, (uint8_t)dice_below(d, 256), id);
	}
}

static int
say_on_channel(struct dice *d, size_t i)
{
	uint32_t id = ids[i];

	switch (dice_below(d, 8)) {
	case 0:
		return say_request(w.owner, id, "exec", dice_below(d, 2) != 0);
	case 1:
		return SAY(w.owner, SSH_MSG_CHANNEL_WINDOW_ADJUST, id,
		    dice_below(d, FAR_WINDOW));
	case 2:
		if (dice_below(d, 4) != 0)
			return 0;
		forget_id(i);
		return SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id);
	case 3:
		return dice_below(d, 20) != 0 ? 0 :
		    SAY(w.owner, SSH_MSG_CHANNEL_EOF, id);
	default:
		return say_data(w.owner, id, dice_below(d, FAR_PACKET));
	}
}

static int
say_anything(struct dice *d)
{
	if (dice_below(d, 30) == 0)
		return say_wrong(d);
	if (dice_below(d, 30) == 0)
		return say_global(w.owner, "tcpip-forward", "here",
		    dice_below(d, 2) * FAR_PORT, dice_below(d, 2) != 0);
	if (id_count == 0 || dice_below(d, 5) == 0)
		return say_open(w.owner,
		    dice_below(d, 9) != 0 ? "session" : "weather",
		    dice_below(d, 100));
	return say_on_channel(d, dice_below(d, (uint32_t)id_count));
}

static void
serve_anything(struct dice *d)
{
	struct channel *c = w.far_channel[1 + dice_below(d, 12)];
	static const uint8_t zeros[5000];

	if (dice_below(d, 20) == 0 && channels_count(w.far) < 50)
		assert_int_equal(channel_send_early(come_to("here", FAR_PORT),
				     zeros, dice_below(d, CHANNEL_EARLY_MAX)),
		    0);
	if (c == NULL || !channel_is_accepted(c))
		return;
	switch (dice_below(d, 8)) {
	case 0:
		(void)!channel_send_data(c, 0, zeros,
		    dice_below(d, sizeof zeros));
		break;
	case 1:
		(void)!channel_request(c, "exit-status", NULL, NULL, NULL);
		break;
	case 2:
		channel_close(c, false);
		break;
	default:
		break;
	}
}

static void
next_owner(void)
{
	foreign_free(w.owner);
	w.owner = new_owner();
	id_count = 0;
	empty_inbox();
}

static void
test_anything(void **state)
{
	struct dice d = { 42 };
	unsigned errors = 0, heard = 0;

	(void)state;
	channels_take_early(w.near);
	channels_send_early(w.far, true);
	for (int i = 0; i < STEPS; i++) {
		if (say_anything(&d) != 0) {
			errors++;
			next_owner();
		}
		serve_anything(&d);
		run(1); /* fails if one of the two ends the connection */
		heard += w.inbox_count > 0;
		read_inbox(&d);
		if (i % 500 == 0)
			check_own();
	}
	/* both kinds of words were among them */
	assert_in_range(errors, STEPS / 100, STEPS / 4);
	assert_true(heard > STEPS / 10);
	next_owner();
	run(20);
	empty_inbox();
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_life_of_a_channel),
		TEST(test_server_closes_first),
		TEST(test_refused),
		TEST(test_two_owners_with_one_number),
		TEST(test_our_channels_are_not_its),
		TEST(test_other_messages),
		TEST(test_broken_messages),
		TEST(test_message_too_long),
		TEST(test_window),
		TEST(test_order),
		TEST(test_not_open_yet),
		TEST(test_limit_of_channels),
		TEST(test_limit_of_all),
		TEST(test_owner_goes),
		TEST(test_owner_goes_after_the_server_closed),
		TEST(test_number_is_kept_until_the_server_closes),
		TEST(test_port),
		TEST(test_port_of_one_that_went),
		TEST(test_refused_port),
		TEST(test_alive_checks),
		TEST(test_anything),
		cmocka_unit_test_setup_teardown(test_connection_is_lost, setup,
		    teardown_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
