/* SPDX-License-Identifier: ISC */
/*
 * Connections that the listener turns away: summed up by keyword, told once a
 * second and at the end, in the log of events and in the file of counters, each
 * of which may be missing.
 */
#include "regress/unit/help.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "server/events/counters.h"
#include "server/listener/turned-away.h"

static struct loop *loop;
static struct server_conf conf;
static char log_path[128], log_spec[160], pid_path[128], metrics[128];

static int
set_up(void **state)
{
	(void)state;
	loop = loop_new();
	assert_non_null(loop);
	snprintf(log_path, sizeof log_path, "%s/log", temp_dir);
	snprintf(log_spec, sizeof log_spec, "file:%s", log_path);
	snprintf(pid_path, sizeof pid_path, "%s/one.pid", temp_dir);
	snprintf(metrics, sizeof metrics, "%s/text", temp_dir);
	memset(&conf, 0, sizeof conf);
	conf.listen.pid_file = pid_path;
	return 0;
}

static int
tear_down(void **state)
{
	char *path = counters_path(&conf);

	(void)state;
	loop_free(loop);
	(void)unlink(log_path);
	(void)unlink(path);
	free(path);
	return 0;
}

static void
note4(struct turned_away *t, const char *keyword, const char *address,
    uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	sin.sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, address, &sin.sin_addr), 1);
	turned_away_note(t, keyword, (struct sockaddr *)&sin, sizeof sin);
}

static void
note6(struct turned_away *t, const char *keyword, const char *address)
{
	struct sockaddr_in6 sin = { .sin6_family = AF_INET6 };

	assert_int_equal(inet_pton(AF_INET6, address, &sin.sin6_addr), 1);
	turned_away_note(t, keyword, (struct sockaddr *)&sin, sizeof sin);
}

/* What the log has; the caller frees. "": there is none. */
static char *
log_text(void)
{
	struct buf b = { 0 };
	FILE *f = fopen(log_path, "r");
	char *text;

	if (f != NULL) {
		assert_int_equal(fd_read_file(fileno(f), &b, 65536), 0);
		fclose(f);
	}
	buf_put_u8(&b, 0);
	text = strdup((const char *)buf_data(&b));
	assert_non_null(text);
	buf_clear(&b);
	return text;
}

static size_t
lines_of(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void
has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no %s in %s", part, text);
}

static uint64_t
total(enum counter which)
{
	char *path = counters_path(&conf);
	struct counters *c = counters_new_aside(path);
	struct counters_now now;

	free(path);
	assert_int_equal(counters_look(c, &now), 0);
	counters_free(c);
	return now.total[which];
}

/* ---- tests -------------------------------------------------------------- */

static void
test_nobody_asks(void **state)
{
	struct turned_away *t = turned_away_new(loop, &conf);

	(void)state;
	assert_null(t);
	note4(t, "MaxStartups", "192.0.2.1", 1);
	turned_away_free(t);
	conf.log.event_log = "none";
	assert_null(turned_away_new(loop, &conf));
}

static void
test_sums(void **state)
{
	struct turned_away *t;
	char *text;

	(void)state;
	conf.log.event_log = log_spec;
	t = turned_away_new(loop, &conf);
	assert_non_null(t);
	for (int i = 0; i < 5000; i++)
		note4(t, "MaxStartups", "192.0.2.1", (uint16_t)(1000 + i));
	note6(t, "PerSourcePenalties", "2001:db8::7");
	text = log_text(); /* nothing before the time has come */
	assert_string_equal(text, "");
	free(text);
	turned_away_free(t);
	text = log_text();
	assert_int_equal(lines_of(text), 2);
	has(text, "\"event\":\"turned-away\"");
	has(text, "\"limit\":\"MaxStartups\"");
	has(text, "\"count\":5000");
	has(text, "192.0.2.1"); /* of the last one */
	has(text, "5999");
	has(text, "\"limit\":\"PerSourcePenalties\"");
	has(text, "\"count\":1");
	has(text, "2001:db8::7");
	free(text);
}

/* Told once a second, whatever comes in between; nothing is told twice. */
static void
test_time(void **state)
{
	struct turned_away *t;
	char *text;

	(void)state;
	conf.log.event_log = log_spec;
	t = turned_away_new(loop, &conf);
	for (int round = 1; round <= 2; round++) {
		note4(t, "MaxStartups", "192.0.2.1", 1);
		note4(t, "MaxStartups", "192.0.2.1", 2);
		for (int i = 0; i < 1000; i++) {
			assert_int_equal(loop_turn(loop, 100), 0);
			text = log_text();
			if (lines_of(text) == (size_t)round)
				break;
			free(text);
			text = NULL;
		}
		assert_non_null(text);
		assert_null(strstr(text, "\"count\":1"));
		assert_null(strstr(text, "\"count\":3"));
		free(text);
	}
	turned_away_free(t);
	text = log_text();
	assert_int_equal(lines_of(text), 2);
	free(text);
}

static void
test_counters(void **state)
{
	struct turned_away *t;

	(void)state;
	conf.log.metrics_textfile = metrics; /* no EventLog */
	t = turned_away_new(loop, &conf);
	assert_non_null(t);
	for (int i = 0; i < 7; i++)
		note4(t, "PerSourceMaxStartups", "192.0.2.1", 1);
	note4(t, "MaxStartups", "192.0.2.1", 1);
	turned_away_free(t);
	assert_int_equal(total(COUNTER_LIMIT_SOURCE), 7);
	assert_int_equal(total(COUNTER_LIMIT_STARTUPS), 1);
	assert_int_equal(total(COUNTER_LIMIT_PENALTIES), 0);
	/* A second listener counts on. */
	t = turned_away_new(loop, &conf);
	note4(t, "MaxStartups", "192.0.2.1", 1);
	turned_away_free(t);
	assert_int_equal(total(COUNTER_LIMIT_STARTUPS), 2);
}

/* A file of counters that is none, and a log that cannot be opened, lose what
 * was counted and nothing else. */
static void
test_nowhere(void **state)
{
	char *path = counters_path(&conf), *other;
	struct turned_away *t;

	(void)state;
	conf.log.metrics_textfile = metrics;
	conf.log.event_log = "file:/dev/null/log";
	assert_int_equal(mkdir(path, 0700), 0);
	t = turned_away_new(loop, &conf);
	note4(t, "MaxStartups", "192.0.2.1", 1);
	turned_away_free(t);
	assert_int_equal(rmdir(path), 0);
	other = log_text();
	assert_string_equal(other, "");
	free(other);
	free(path);
}

/* Of more keywords than there are, and of addresses that are none. */
static void
test_strange(void **state)
{
	const struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct turned_away *t;
	char *text;

	(void)state;
	conf.log.event_log = log_spec;
	t = turned_away_new(loop, &conf);
	turned_away_note(t, "one", (const struct sockaddr *)&sun, sizeof sun);
	note4(t, "two", "192.0.2.1", 1);
	note4(t, "three", "192.0.2.1", 1);
	note4(t, "four", "192.0.2.1", 1);
	note4(t, "one", "192.0.2.1", 1);
	turned_away_free(t);
	text = log_text();
	assert_int_equal(lines_of(text), 3);
	has(text, "\"limit\":\"one\"");
	has(text, "\"count\":2");
	assert_null(strstr(text, "four"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_asks, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_sums, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_counters, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_nowhere, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_strange, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
