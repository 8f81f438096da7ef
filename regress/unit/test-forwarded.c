/* SPDX-License-Identifier: ISC */
/*
 * Forwarded connections between two ends of one loop: one opens channels for
 * sockets that were accepted, the other connects them to sockets that listen
 * here. Data, half-close in either order, refusals with their reasons, ends
 * that are gone meanwhile.
 */
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "forward/forwarded.h"
#include "regress/unit/channels-host.h"

enum { WAIT_MS = 60 * 1000 };

static struct world w;
static struct forwarded_list *opener, *connector;
static struct forwarded_target target;
static int standing; /* as the opener counts them */
static const struct span nothing;

static void
count(void *arg, int change)
{
	(void)arg;
	standing += change;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)arg;
	(void)chs;
	(void)data;
	return forwarded_connect(connector, &forwarded_direct_tcp, c, &target);
}

static int
setup(void **state)
{
	struct forwarded_params p = { .family = AF_UNSPEC };

	(void)state;
	standing = 0;
	world_open(&w);
	p.loop = w.loop;
	p.channels = w.a.chs;
	p.count = count;
	assert_int_equal(forwarded_list_new(&opener, &p), 0);
	p.channels = w.b.chs;
	p.count = NULL;
	assert_int_equal(forwarded_list_new(&connector, &p), 0);
	assert_int_equal(channels_on_open(w.b.chs, "direct-tcpip", on_open,
	    NULL), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	forwarded_list_free(opener);
	forwarded_list_free(connector);
	world_close(&w);
	assert_int_equal(standing, 0);
	return 0;
}

/* A socket that listens on a free port of the loopback. */
static int
listener(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = sock_open(AF_INET, SOCK_STREAM, 0, SOCK_AT_ONCE);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

/* The near socket of a forwarded connection; the far one is with the list. */
static int
open_one(void)
{
	int pair[2];

	socket_pair(SOCK_STREAM, pair);
	assert_int_equal(forwarded_open(opener, &forwarded_direct_tcp,
	    pair[1], NULL, nothing, NULL), 0);
	return pair[0];
}

static int
accept_one(int fd)
{
	uint64_t end = clock_ms() + WAIT_MS;
	int got;

	do {
		assert_int_equal(world_run(&w, 1), 0);
		got = accept(fd, NULL, NULL);
	} while (got == -1 && clock_ms() < end);
	assert_true(got != -1);
	assert_int_equal(fd_set_nonblock(got, true), 0);
	return got;
}

/* What arrives at fd: until want is there, or (NULL) its end. */
static void
expect(int fd, const char *want)
{
	uint64_t end = clock_ms() + WAIT_MS;
	char got[64];
	size_t len = 0;
	ssize_t n = -1;

	while (clock_ms() < end) {
		assert_int_equal(world_run(&w, 1), 0);
		n = read(fd, got + len, sizeof got - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		if (want != NULL && len == strlen(want))
			break;
	}
	if (want == NULL) {
		assert_int_equal(n, 0);
		assert_int_equal(len, 0);
		return;
	}
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got, want, len);
}

static void
say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
wait_until_gone(const struct forwarded_list *l)
{
	uint64_t end = clock_ms() + WAIT_MS;

	while (forwarded_count(l) > 0 && clock_ms() < end)
		assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(forwarded_count(l), 0);
}

static void
check_half_close(bool near_first)
{
	int fd, near, far, first, second;

	target = (struct forwarded_target){ .host = "127.0.0.1" };
	fd = listener(&target.port);
	near = open_one();
	far = accept_one(fd);
	first = near_first ? near : far;
	second = near_first ? far : near;
	say(first, "question");
	expect(second, "question");
	assert_int_equal(standing, 1);
	assert_int_equal(shutdown(first, SHUT_WR), 0);
	expect(second, NULL);
	say(second, "answer");
	expect(first, "answer");
	assert_int_equal(forwarded_count(opener), 1);
	close(second);
	expect(first, NULL);
	wait_until_gone(opener);
	wait_until_gone(connector);
	assert_int_equal(standing, 0);
	close(first);
	close(fd);
}

static void
test_half_close(void **state)
{
	(void)state;
	check_half_close(true);
	check_half_close(false);
}

static void
count_answer(void *arg)
{
	++*(int *)arg;
}

static int
open_counted(int *answers)
{
	const struct forwarded_waiter waiter = { count_answer, answers };
	int pair[2];

	socket_pair(SOCK_STREAM, pair);
	assert_int_equal(forwarded_open_for(opener, &forwarded_direct_tcp,
	    pair[1], NULL, &waiter), 0);
	return pair[0];
}

/* Who waits for the answer to an open hears of it once, whatever it is. */
static void
test_answers(void **state)
{
	int answers = 0, fd, near, far;

	(void)state;
	target = (struct forwarded_target){ .host = "127.0.0.1" };
	fd = listener(&target.port);
	near = open_counted(&answers);
	assert_int_equal(answers, 0);
	far = accept_one(fd);
	say(far, "open");
	expect(near, "open");
	assert_int_equal(answers, 1);
	close(near);
	close(far);
	wait_until_gone(opener);
	assert_int_equal(answers, 1);
	close(fd);
	near = open_counted(&answers); /* nobody listens */
	expect(near, NULL);
	assert_int_equal(answers, 2);
	close(near);
	near = open_counted(&answers); /* no answer comes */
	forwarded_list_free(opener);
	opener = NULL;
	assert_int_equal(answers, 3);
	close(near);
}

/* A name, and bytes that were read before there was a channel. */
static void
test_name_and_first_bytes(void **state)
{
	const struct span first = { (const uint8_t *)"one ", 4 };
	int pair[2], fd, far;

	(void)state;
	target = (struct forwarded_target){ .host = "localhost" };
	fd = listener(&target.port);
	socket_pair(SOCK_STREAM, pair);
	say(pair[0], "two");
	assert_int_equal(forwarded_open(opener, &forwarded_direct_tcp,
	    pair[1], NULL, first, NULL), 0);
	far = accept_one(fd);
	expect(far, "one two");
	close(far);
	close(pair[0]);
	close(fd);
	wait_until_gone(opener);
}

static void
check_refused(const char *host, uint16_t port)
{
	int near;

	target = (struct forwarded_target){ .host = host, .port = port };
	near = open_one();
	expect(near, NULL);
	wait_until_gone(opener);
	wait_until_gone(connector);
	close(near);
}

static void
test_refused(void **state)
{
	uint16_t port;
	int fd = listener(&port);

	(void)state;
	close(fd);
	check_refused("127.0.0.1", port);
	check_refused("no host name", port);
	assert_int_equal(standing, 0);
}

/* A message of ours that goes in front of what the peer says. */
static void
test_first(void **state)
{
	uint16_t port;
	int fd = listener(&port), near, far;

	(void)state;
	target = (struct forwarded_target){ .host = "127.0.0.1",
		.port = port,
		.first = { (const uint8_t *)"first, ", 7 } };
	near = open_one();
	say(near, "then");
	far = accept_one(fd);
	expect(far, "first, then");
	close(far);
	expect(near, NULL);
	close(near);
	close(fd);
	wait_until_gone(opener);
}

static void
test_path(void **state)
{
	char dir[] = "/tmp/hpn-forwarded-XXXXXX", path[64];
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE), near, far;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s", dir);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 8), 0);
	target = (struct forwarded_target){ .path = path };
	near = open_one();
	far = accept_one(fd);
	say(near, "over a path");
	expect(far, "over a path");
	close(far);
	expect(near, NULL);
	close(near);
	close(fd);
	unlink(path);
	rmdir(dir);
	wait_until_gone(opener);
}

/* The reader is gone for good; the other direction works until its end. */
static void
test_reader_gone(void **state)
{
	int fd, near, far;

	(void)state;
	target = (struct forwarded_target){ .host = "127.0.0.1" };
	fd = listener(&target.port);
	near = open_one();
	far = accept_one(fd);
	assert_int_equal(shutdown(near, SHUT_RD), 0);
	say(far, "nobody reads this");
	assert_int_equal(world_run(&w, 20), 0);
	say(near, "still here");
	expect(far, "still here");
	close(near);
	expect(far, NULL);
	close(far);
	wait_until_gone(opener);
	close(fd);
}

/* A fifth of them is connected, a fifth on its way ... when all ends. */
static void
test_end_in_the_middle(void **state)
{
	int near[5], fd;

	(void)state;
	target = (struct forwarded_target){ .host = "127.0.0.1" };
	fd = listener(&target.port);
	for (int i = 0; i < 5; i++) {
		near[i] = open_one();
		if (i == 2)
			target.host = "localhost";
		assert_int_equal(world_run(&w, i), 0);
	}
	forwarded_list_free(connector);
	connector = NULL;
	for (int i = 0; i < 5; i++)
		expect(near[i], NULL);
	for (int i = 0; i < 5; i++)
		close(near[i]);
	wait_until_gone(opener);
	close(fd);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_half_close),
		TEST(test_answers),
		TEST(test_name_and_first_bytes),
		TEST(test_refused),
		TEST(test_first),
		TEST(test_path),
		TEST(test_reader_gone),
		TEST(test_end_in_the_middle),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
