/* SPDX-License-Identifier: ISC */
/* What a session's process tells the monitor of its files: however many they
 * are, each has its event or is counted as dropped, and the sums are exact.
 * HPN_EVENTS is their number; the long form has 1,000,000. */
#include "server/session/session-events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "server/events/event.h"
#include "server/monitor-wire.h"

enum { FEW = 20 * 1000, SIZES = 4099, MESSAGE_MOST = 1024 * 1024 };

/* The monitor: what it was told, up to the end of the socket. */
struct told {
	int fd;
	bool broken;
	uint64_t lines, read, written;
	uint64_t sums[EVENT_NUMBERS];
};

static void
take(struct told *t, struct rd *in)
{
	struct span body = rd_string(in);
	struct rd r = rd_from_span(body);
	struct event_copy c = { 0 };

	if (rd_err(in) != 0 || event_get(&r, &c) != 0 || rd_end(&r) != 0) {
		t->broken = true;
	} else if (c.e.type == EVENT_TRANSFER) {
		t->lines++;
		t->read += c.e.numbers[1];
		t->written += c.e.numbers[2];
	} else if (c.e.type == EVENT_SUMMARY) {
		memcpy(t->sums, c.e.numbers, sizeof t->sums);
	}
	event_copy_clear(&c);
}

static void *
monitor(void *arg)
{
	struct told *t = arg;
	struct buf b = { 0 };
	struct rd in;

	while (!t->broken && fd_receive_msg(t->fd, &b, MESSAGE_MOST) == 0) {
		in = rd_from_buf(&b);
		t->broken = rd_u8(&in) != MONITOR_EVENT;
		while (!t->broken && in.len > 0)
			take(t, &in);
		buf_reset(&b);
	}
	buf_clear(&b);
	return NULL;
}

static uint64_t
how_many(void)
{
	const char *asked = getenv("HPN_EVENTS");

	return asked != NULL ? strtoull(asked, NULL, 10) : FEW;
}

/* Files of all sizes, every third is sent, every seventh fails. */
static struct sftp_serve_event
file_of(uint64_t i, const char *path)
{
	bool writes = i % 3 != 0;
	uint64_t size = i % SIZES;

	return (struct sftp_serve_event){ .what = SFTP_SERVE_TRANSFER,
		.path = path,
		.writes = writes,
		.bytes_read = writes ? 0 : size,
		.bytes_written = writes ? size : 0,
		.result = i % 7 == 0 ? SFTP_SERVE_FAILED : SFTP_SERVE_DONE };
}

static void
add(uint64_t sums[EVENT_NUMBERS], const struct sftp_serve_event *e)
{
	bool failed = e->result == SFTP_SERVE_FAILED;

	sums[0] += !failed && !e->writes;
	sums[1] += !failed && e->writes;
	sums[2] += e->bytes_read;
	sums[3] += e->bytes_written;
	sums[6] += failed;
}

static void
test_sums_are_exact(void **state)
{
	uint64_t n = how_many(), sums[EVENT_NUMBERS] = { 0 };
	struct server_conf conf;
	struct told told = { 0 };
	struct session_events *se;
	struct loop *l = loop_new();
	struct packet *p;
	int pair[2], net[2];
	pthread_t thread;
	char path[64];

	(void)state;
	assert_non_null(l);
	assert_int_equal(sock_pair(SOCK_STREAM, pair), 0);
	assert_int_equal(sock_pair(SOCK_STREAM, net), 0);
	p = packet_new(net[0], net[0], true);
	assert_non_null(p);
	server_conf_init(&conf);
	conf.log.event_log = xstrdup("file:/nowhere");
	conf.log.event_detail = SERVER_EVENT_FILES;
	told.fd = pair[1];
	assert_int_equal(pthread_create(&thread, NULL, monitor, &told), 0);
	se = session_events_new(l, pair[0], &conf);
	for (uint64_t i = 0; i < n; i++) {
		snprintf(path, sizeof path, "/data/run/%010llu",
		    (unsigned long long)i);
		struct sftp_serve_event e = file_of(i, path);

		session_events_sftp(se, 1, &e);
		add(sums, &e);
		if (i % 256 == 0)
			assert_int_equal(loop_turn(l, 0), 0);
	}
	session_events_end(se, p, net[0], "none");
	fd_close(&pair[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(told.broken);
	assert_int_equal(told.lines + told.sums[7], n);
	sums[7] = told.sums[7];
	assert_memory_equal(told.sums, sums, sizeof sums);
	if (told.sums[7] == 0) {
		assert_int_equal(told.read, sums[2]);
		assert_int_equal(told.written, sums[3]);
	}
	fd_close(&pair[1]);
	packet_free(p);
	fd_close(&net[0]);
	fd_close(&net[1]);
	server_conf_clear(&conf);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
