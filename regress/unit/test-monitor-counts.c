/* SPDX-License-Identifier: ISC */
/*
 * What a monitor counts of its connection: logins, sessions and limits; that a
 * user's process can claim no more than a machine could move, and nothing
 * twice; and that a file of counters which cannot be used holds nobody back.
 */
#include "regress/unit/dice.h"
#include "regress/unit/help.h"

#include <sys/stat.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "conf/rates.h"
#include "server/events/counters.h"
#include "server/monitor/monitor-counts.h"

enum { MAX_SESSIONS = 10 };

static struct server_conf conf;
static char pid_path[128], text_path[128], *counters_file;
static struct user ann = { .name = (char *)"ann", .uid = 1000, .valid = true };
static struct user bob = { .name = (char *)"bob", .uid = 1001, .valid = true };

static int
set_up(void **state)
{
	(void)state;
	snprintf(pid_path, sizeof pid_path, "%s/one.pid", temp_dir);
	snprintf(text_path, sizeof text_path, "%s/text", temp_dir);
	memset(&conf, 0, sizeof conf);
	conf.listen.pid_file = pid_path;
	conf.session.max_sessions = MAX_SESSIONS;
	conf.session.max_sessions_per_user = INT_MAX;
	conf.session.max_connections_per_user = INT_MAX;
	counters_file = counters_path(&conf);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)unlink(counters_file);
	(void)unlink(text_path);
	free(counters_file);
	return 0;
}

/* What the file says, to somebody who is no connection. */
static struct counters_now
look(void)
{
	struct counters *c = counters_new_aside(counters_file);
	struct counters_now now;

	assert_int_equal(counters_look(c, &now), 0);
	counters_free(c);
	return now;
}

static struct monitor_counts *
begin(void)
{
	struct monitor_counts *mc;

	conf.log.metrics_textfile = text_path;
	mc = monitor_counts_begin(&conf);
	assert_non_null(mc);
	return mc;
}

/* ---- tests -------------------------------------------------------------- */

static void
test_nobody_asks(void **state)
{
	const uint64_t want[2] = { 5, 6 };
	const struct event e = { .type = EVENT_CONNECTION };
	struct stat st;
	uint64_t got[2];

	(void)state;
	assert_null(monitor_counts_begin(&conf));
	/* All take NULL. */
	monitor_counts_run(NULL, NULL);
	monitor_counts_flush(NULL);
	monitor_counts_login(NULL, auth_method_table, LOGIN_FAILED);
	assert_true(monitor_counts_enter(NULL, &conf, &ann));
	assert_true(monitor_counts_session(NULL, &conf));
	monitor_counts_session_end(NULL);
	monitor_counts_limit(NULL, "LoginGraceTime");
	monitor_counts_claim(NULL, &e);
	monitor_counts_dropped(NULL, 9);
	monitor_counts_share(NULL, want, true, got);
	assert_int_equal(got[0], RATE_NONE);
	assert_int_equal(got[1], RATE_NONE);
	monitor_counts_end(NULL);
	assert_int_equal(stat(counters_file, &st), -1);
}

static void
test_logins(void **state)
{
	struct monitor_counts *mc = begin();
	const struct auth_method *method =
	    &auth_method_table[AUTH_METHOD_COUNT - 1];
	struct counters_now now;

	(void)state;
	now = look();
	assert_int_equal(now.total[COUNTER_CONNECTIONS], 1);
	assert_int_equal(now.connections, 1);
	assert_int_equal(now.users, 0);
	for (int i = 0; i < 3; i++)
		monitor_counts_login(mc, method, LOGIN_FAILED);
	monitor_counts_login(mc, method, LOGIN_ACCEPTED);
	assert_true(monitor_counts_enter(mc, &conf, &ann));
	now = look();
	assert_int_equal(now.total[counter_of_login(AUTH_METHOD_COUNT - 1,
	    LOGIN_FAILED)], 3);
	assert_int_equal(now.total[counter_of_login(AUTH_METHOD_COUNT - 1,
	    LOGIN_ACCEPTED)], 1);
	assert_int_equal(now.total[counter_of_login(0, LOGIN_FAILED)], 0);
	assert_int_equal(now.users, 1);
	monitor_counts_end(mc);
	now = look();
	assert_int_equal(now.connections, 0);
	assert_int_equal(now.users, 0);
}

static void
test_limits_are_counted(void **state)
{
	struct monitor_counts *mc = begin();
	struct counters_now now;

	(void)state;
	monitor_counts_limit(mc, "LoginGraceTime");
	monitor_counts_limit(mc, "LoginGraceTime");
	monitor_counts_limit(mc, "MaxSessionsPerUser");
	monitor_counts_limit(mc, "NoSuchLimit");
	now = look();
	assert_int_equal(now.total[COUNTER_LIMIT_GRACE], 2);
	assert_int_equal(now.total[COUNTER_LIMIT_SESSIONS], 1);
	assert_int_equal(now.total[COUNTER_LIMIT_STARTUPS], 0);
	/* The sink says how many so far. */
	monitor_counts_dropped(mc, 5);
	monitor_counts_dropped(mc, 5);
	monitor_counts_dropped(mc, 3);
	monitor_counts_dropped(mc, 7);
	monitor_counts_flush(mc);
	now = look();
	assert_int_equal(now.total[COUNTER_LINES_DROPPED], 7);
	monitor_counts_end(mc);
}

static void
test_connections_of_a_user(void **state)
{
	struct monitor_counts *mc[4];

	(void)state;
	conf.session.max_connections_per_user = 2;
	for (int i = 0; i < 4; i++) {
		mc[i] = monitor_counts_begin(&conf);
		assert_non_null(mc[i]);
	}
	assert_true(monitor_counts_enter(mc[0], &conf, &ann));
	assert_true(monitor_counts_enter(mc[1], &conf, &ann));
	assert_false(monitor_counts_enter(mc[2], &conf, &ann));
	assert_true(monitor_counts_enter(mc[3], &conf, &bob));
	/* One that was refused takes no place, and one that ends gives its
	 * own back. */
	monitor_counts_end(mc[2]);
	monitor_counts_end(mc[0]);
	mc[0] = monitor_counts_begin(&conf);
	mc[2] = monitor_counts_begin(&conf);
	assert_true(monitor_counts_enter(mc[0], &conf, &ann));
	assert_false(monitor_counts_enter(mc[2], &conf, &ann));
	for (int i = 0; i < 4; i++)
		monitor_counts_end(mc[i]);
}

static void
test_sessions_of_a_user(void **state)
{
	const struct event open = { .type = EVENT_SESSION_OPEN,
		.texts = { "shell", "", "" } };
	struct monitor_counts *one, *two;

	(void)state;
	conf.session.max_sessions_per_user = 3;
	one = monitor_counts_begin(&conf);
	two = monitor_counts_begin(&conf);
	assert_true(monitor_counts_enter(one, &conf, &ann));
	assert_true(monitor_counts_enter(two, &conf, &ann));
	assert_true(monitor_counts_session(one, &conf));
	assert_true(monitor_counts_session(two, &conf));
	assert_true(monitor_counts_session(two, &conf));
	assert_false(monitor_counts_session(one, &conf));
	/* What the user's process says of sessions changes nothing of it. */
	for (int i = 0; i < 5; i++)
		monitor_counts_claim(one, &open);
	monitor_counts_session_end(two);
	assert_true(monitor_counts_session(one, &conf));
	assert_false(monitor_counts_session(two, &conf));
	/* A connection takes its sessions with it. */
	monitor_counts_end(one);
	assert_true(monitor_counts_session(two, &conf));
	assert_true(monitor_counts_session(two, &conf));
	assert_false(monitor_counts_session(two, &conf));
	monitor_counts_end(two);
}

/* Sessions by kind, as they are claimed; a kind that is none is not counted. */
static void
test_kinds_of_sessions(void **state)
{
	static const char *const kinds[] = { "shell", "exec", "subsystem",
		"", "none", "shell" };
	struct monitor_counts *mc = begin();
	struct event e = { .type = EVENT_SESSION_OPEN };
	struct counters_now now;

	(void)state;
	assert_true(monitor_counts_enter(mc, &conf, &ann));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		e.texts[0] = kinds[i];
		monitor_counts_claim(mc, &e);
	}
	monitor_counts_flush(mc);
	now = look();
	assert_int_equal(now.total[COUNTER_SHELLS], 2);
	assert_int_equal(now.total[COUNTER_COMMANDS], 1);
	assert_int_equal(now.total[COUNTER_SUBSYSTEMS], 1);
	assert_int_equal(now.sessions, ARRAY_LEN(kinds));
	e.type = EVENT_SESSION_CLOSE;
	e.texts[0] = NULL;
	/* More ends than sessions leave none, not fewer. */
	for (size_t i = 0; i < ARRAY_LEN(kinds) + 3; i++)
		monitor_counts_claim(mc, &e);
	monitor_counts_flush(mc);
	assert_int_equal(look().sessions, 0);
	monitor_counts_end(mc);
}

/* Sessions that are claimed without end: no more are open than MaxSessions
 * allows one connection, and the sums have a pace. */
static void
test_sessions_without_end(void **state)
{
	enum { CLAIMS = 100 * 1000 };
	const struct event open = { .type = EVENT_SESSION_OPEN,
		.texts = { "exec", "", "" } };
	uint64_t began = clock_ms();
	struct monitor_counts *mc = begin();
	struct counters_now now;

	(void)state;
	assert_true(monitor_counts_enter(mc, &conf, &ann));
	for (int i = 0; i < CLAIMS; i++)
		monitor_counts_claim(mc, &open);
	monitor_counts_flush(mc);
	now = look();
	assert_int_equal(now.sessions, MAX_SESSIONS);
	assert_true(now.total[COUNTER_COMMANDS] >= 1000);
	assert_true(now.total[COUNTER_COMMANDS] <=
	    clock_ms() - began + 1000);
	monitor_counts_end(mc);
}

/* The lock is not taken for each message of claims, and nothing is lost. */
static void
test_claims_are_handed_over_together(void **state)
{
	struct monitor_counts *mc = begin();
	struct event e = { .type = EVENT_SUMMARY };
	uint64_t began = clock_ms(), took;
	unsigned seen = 0;
	uint64_t last = 0, total;

	(void)state;
	for (int i = 1; i <= 2000; i++) {
		e.numbers[2] = (uint64_t)i;
		monitor_counts_claim(mc, &e);
		monitor_counts_flush_claims(mc);
		if (i % 20 == 0) {
			total = look().total[COUNTER_FILE_BYTES_READ];
			seen += total != last;
			last = total;
		}
	}
	took = clock_ms() - began;
	assert_true(seen >= 1 && seen <= took / 20 + 1);
	monitor_counts_flush(mc);
	assert_int_equal(look().total[COUNTER_FILE_BYTES_READ], 2000);
	monitor_counts_end(mc);
}

static void
test_sums_grow(void **state)
{
	struct monitor_counts *mc = begin();
	struct event e = { .type = EVENT_CONNECTION };
	struct counters_now now;

	(void)state;
	e.numbers[0] = 100;
	e.numbers[1] = 7;
	monitor_counts_claim(mc, &e);
	monitor_counts_claim(mc, &e); /* the same sums: nothing new */
	e.numbers[0] = 150;
	e.numbers[1] = 3; /* it cannot shrink */
	monitor_counts_claim(mc, &e);
	e.numbers[1] = 8;
	monitor_counts_claim(mc, &e);
	monitor_counts_flush(mc);
	now = look();
	assert_int_equal(now.total[COUNTER_BYTES_IN], 150);
	assert_int_equal(now.total[COUNTER_BYTES_OUT], 8);
	assert_int_equal(now.total[COUNTER_FILES_READ], 0);
	e = (struct event){ .type = EVENT_SUMMARY,
		.numbers = { 1, 2, 3, 4, 5, 6, 7 } };
	monitor_counts_claim(mc, &e);
	monitor_counts_flush(mc);
	now = look();
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(now.total[COUNTER_FILES_READ + i], i + 1);
	monitor_counts_end(mc);
}

/* Whatever is claimed, in whatever order: the counters do not go down, and stay
 * below what a machine can move in the time that has passed. */
static void
test_lies(void **state)
{
	enum { ALLOWED_BYTES = 16 * 1024 * 1024, ALLOWED_THINGS = 1000 };
	struct dice d = { .state = 3 };
	uint64_t began = clock_ms(), last[COUNTER_COUNT] = { 0 };
	struct monitor_counts *mc = begin();
	struct counters_now now;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct event e = { .type = dice_below(&d, 2) == 0 ?
			EVENT_CONNECTION : EVENT_SUMMARY };
		uint64_t ms;

		for (size_t i = 0; i < EVENT_NUMBERS; i++)
			e.numbers[i] = UINT64_MAX >> dice_below(&d, 64);
		monitor_counts_claim(mc, &e);
		if (round % 10 != 0)
			continue;
		monitor_counts_flush(mc);
		now = look();
		ms = clock_ms() - began + 1000;
		for (enum counter c = COUNTER_BYTES_IN;
		     c <= COUNTER_FILE_FAILURES; c++) {
			bool bytes = c == COUNTER_BYTES_IN ||
			    c == COUNTER_BYTES_OUT ||
			    c == COUNTER_FILE_BYTES_READ ||
			    c == COUNTER_FILE_BYTES_WRITTEN;

			assert_true(now.total[c] >= last[c]);
			assert_true(now.total[c] <= ms * (bytes ?
				ALLOWED_BYTES : ALLOWED_THINGS));
			last[c] = now.total[c];
		}
	}
	assert_true(last[COUNTER_BYTES_IN] > 0);
	monitor_counts_end(mc);
}

static void
test_text(void **state)
{
	struct monitor_counts *mc = begin();
	struct buf b = { 0 };
	FILE *f;

	(void)state;
	monitor_counts_limit(mc, "LoginGraceTime");
	monitor_counts_end(mc); /* the last connection writes it */
	f = fopen(text_path, "r");
	assert_non_null(f);
	assert_int_equal(fd_read_file(fileno(f), &b, 1 << 20), 0);
	fclose(f);
	buf_put_u8(&b, 0);
	assert_non_null(strstr((const char *)buf_data(&b),
	    "{limit=\"LoginGraceTime\"} 1\n"));
	buf_clear(&b);
}

/* Where the counters cannot be, nobody is held back, and a share is the least
 * of all limits. */
static void
test_no_file(void **state)
{
	const uint64_t want[2] = { UINT64_MAX, UINT64_MAX };
	struct monitor_counts *mc;
	uint64_t got[2];

	(void)state;
	assert_int_equal(mkdir(counters_file, 0700), 0);
	conf.session.max_connections_per_user = 1;
	conf.session.max_sessions_per_user = 1;
	conf.rate.capacity = (char *)"8Mbit";
	conf.rate.user_max = (char *)"2Mbit";
	mc = monitor_counts_begin(&conf);
	assert_non_null(mc);
	for (int i = 0; i < 3; i++) {
		assert_true(monitor_counts_enter(mc, &conf, &ann));
		assert_true(monitor_counts_session(mc, &conf));
	}
	monitor_counts_share(mc, want, true, got);
	assert_int_equal(got[0], 250000);
	assert_int_equal(got[1], 250000);
	monitor_counts_end(mc);
	assert_int_equal(rmdir(counters_file), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nobody_asks),
		TEST(test_logins),
		TEST(test_limits_are_counted),
		TEST(test_connections_of_a_user),
		TEST(test_sessions_of_a_user),
		TEST(test_kinds_of_sessions),
		TEST(test_sessions_without_end),
		TEST(test_claims_are_handed_over_together),
		TEST(test_sums_grow),
		TEST(test_lies),
		TEST(test_text),
		TEST(test_no_file),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
