/* SPDX-License-Identifier: ISC */
/*
 * EOF and CLOSE in both directions: the table of states, and stories of both
 * ends told by dice, in which states only ever go forward.
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
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "channels-internal.h"
#include "compat/sock.h"
#include "regress/unit/channels-host.h"
#include "regress/unit/dice.h"

/* Once CLOSE is wanted it stays so. */
static bool
leads_to_close(int state)
{
	return state == SENDING_DRAINING || state == SENDING_CLOSING ||
	    state == SENDING_CLOSE_DUE || state == SENDING_CLOSED;
}

static void
test_sending_table(void **state)
{
	(void)state;
	for (int from = 0; from <= SENDING_CLOSED; from++) {
		for (int to = 0; to <= SENDING_CLOSED; to++) {
			if (!channel_sending_may_become(from, to))
				continue;
			assert_true(to > from);
			assert_true(!leads_to_close(from) ||
			    leads_to_close(to));
		}
		/* The peer's CLOSE is answered at any time. */
		assert_int_equal(channel_sending_may_become(from,
				     SENDING_CLOSED),
		    from != SENDING_CLOSED);
	}
}

static void
test_receiving_table(void **state)
{
	(void)state;
	for (int from = 0; from <= RECEIVING_CLOSED_REPORTED; from++)
		for (int to = 0; to <= from; to++)
			assert_false(channel_receiving_may_become(from, to));
	/* EOF is reported once, and CLOSE comes once. */
	assert_false(channel_receiving_may_become(RECEIVING_EOF_REPORTED,
	    RECEIVING_CLOSED));
	assert_false(channel_receiving_may_become(RECEIVING_OPEN,
	    RECEIVING_EOF_REPORTED));
}

/* One end of a story. */
struct teller {
	struct end *end;
	struct channel *c; /* to look at after the kind left it; or NULL */
	int source[2], sink[2]; /* pipes: [0] is read */
	enum channel_sending sending;
	enum channel_receiving receiving;
	bool held, left;
};

static void
teller_begin(struct teller *t, struct end *end)
{
	*t = (struct teller){ .end = end, .c = end->ch };
	assert_int_equal(sock_pipe(t->source, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(t->sink, SOCK_AT_ONCE), 0);
	channel_set_fds(t->c, t->source[0], t->sink[1], -1, -1);
}

static void
teller_end(struct teller *t)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&t->source[i]);
		fd_close(&t->sink[i]);
	}
}

static bool
lives(const struct teller *t)
{
	const struct channels *chs = t->end->chs;

	return chs->v[0] == t->c && t->c->state != CHANNEL_DEAD;
}

static void
tell_write(struct teller *t)
{
	static const char text[5000];

	if (t->source[1] != -1)
		(void)!write(t->source[1], text, sizeof text);
}

static void
tell_read(struct teller *t)
{
	char text[20000];

	(void)!read(t->sink[0], text, sizeof text);
}

static void
tell_leave(struct teller *t)
{
	channel_leave(t->c);
	t->left = true;
	t->held = false;
}

static void
tell_one(struct teller *t, struct dice *dice)
{
	switch (dice_below(dice, 16)) {
	case 0:
		channel_close(t->c, true);
		break;
	case 1:
		channel_close(t->c, false);
		break;
	case 2:
		channel_end_source(t->c);
		break;
	case 3:
		channel_hold_close(t->c, t->held = !t->held);
		break;
	case 4:
		fd_close(&t->source[1]);
		break;
	case 5:
		if (dice_below(dice, 8) == 0)
			tell_leave(t);
		break;
	case 6:
		(void)!channel_send_data(t->c, 0, "text", 4);
		break;
	case 7:
	case 8:
	case 9:
		tell_write(t);
		break;
	default:
		tell_read(t);
	}
}

static void
check(struct teller *t)
{
	assert_in_range(t->end->eofs, 0, 1);
	assert_in_range(t->end->closed, 0, 1);
	if (!lives(t))
		return;
	assert_true(t->c->sending >= t->sending);
	assert_true(t->c->receiving >= t->receiving);
	if (t->held && t->sending != SENDING_CLOSED)
		assert_true(t->c->sending != SENDING_CLOSED);
	t->sending = t->c->sending;
	t->receiving = t->c->receiving;
}

/* Whatever happened before: a CLOSE from both sides ends both. */
static void
tell_end(struct world *w, struct teller t[2])
{
	for (int i = 0; i < 2; i++) {
		if (!lives(&t[i]) || t[i].left)
			continue;
		channel_hold_close(t[i].c, false);
		channel_close(t[i].c, false);
	}
	for (int turn = 0; turn < 300 && (lives(&t[0]) || lives(&t[1]));
	    turn++) {
		tell_read(&t[0]);
		tell_read(&t[1]);
		assert_int_equal(world_run(w, 1), 0);
	}
	for (int i = 0; i < 2; i++) {
		check(&t[i]);
		assert_false(lives(&t[i]));
		assert_int_equal(t[i].end->closed, t[i].left ? 0 : 1);
		assert_true(t[i].left || t[i].end->eofs == 1);
	}
}

static void
test_stories(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 150; seed++) {
		struct dice dice = { seed };
		struct teller t[2];
		struct world w;

		world_open(&w);
		world_open_session(&w);
		assert_int_equal(world_run(&w, 2), 0);
		teller_begin(&t[0], &w.a);
		teller_begin(&t[1], &w.b);
		for (int i = 0; i < 80; i++) {
			unsigned who = dice_below(&dice, 2);

			if (lives(&t[who]) && !t[who].left)
				tell_one(&t[who], &dice);
			if (dice_below(&dice, 3) == 0)
				assert_int_equal(world_run(&w, 1), 0);
			check(&t[0]);
			check(&t[1]);
		}
		tell_end(&w, t);
		world_close(&w);
		teller_end(&t[0]);
		teller_end(&t[1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sending_table),
		cmocka_unit_test(test_receiving_table),
		cmocka_unit_test(test_stories),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-channels-close", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
