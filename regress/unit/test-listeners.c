/* SPDX-License-Identifier: ISC */
/*
 * Sockets that listen for a forward: on several addresses with one port, at a
 * path with the rights that were asked for, paused, and freed by their own
 * callback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "forward/forwarded.h"
#include "forward/listeners.h"

enum { WAIT_MS = 60 * 1000 };

static struct loop *loop;
static struct listener *listener;
static int accepted;
static bool frees; /* the callback frees the listener */
static struct listener_peer last;

static void
on_accepted(void *arg, int fd, const struct listener_peer *peer)
{
	(void)arg;
	accepted++;
	last = *peer;
	close(fd);
	if (frees) {
		listener_free(listener);
		listener = NULL;
	}
}

static int
setup(void **state)
{
	(void)state;
	loop = loop_new();
	accepted = 0;
	frees = false;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	listener_free(listener);
	listener = NULL;
	loop_free(loop);
	return 0;
}

static int
try_listen(const char *const *hosts, size_t n, uint16_t port)
{
	const struct listener_params p = { .loop = loop,
		.hosts = hosts,
		.host_count = n,
		.port = port,
		.accepted = on_accepted };

	return listener_new(&listener, &p);
}

static int
try_path(const char *path, mode_t mask, bool replace)
{
	const struct listener_params p = { .loop = loop,
		.path = path,
		.mask = mask,
		.replace = replace,
		.accepted = on_accepted };

	return listener_new(&listener, &p);
}

/* The connected socket, or -1. */
static int
call(const char *host, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };
	bool six = inet_pton(AF_INET, host, &a.sin_addr) != 1;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	if (six)
		assert_int_equal(inet_pton(AF_INET6, host, &a6.sin6_addr), 1);
	if (connect(fd, six ? (const void *)&a6 : (const void *)&a,
		six ? sizeof a6 : sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
wait_for(int n)
{
	uint64_t end = clock_ms() + WAIT_MS;

	while (accepted < n && clock_ms() < end)
		assert_int_equal(loop_turn(loop, 50), 0);
	assert_int_equal(accepted, n);
}

static bool
has_ipv6(void)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
		.sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has = fd != -1 &&
	    bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;

	close(fd);
	return has;
}

/* One free port on the loopback addresses of both families. */
static void
test_one_port(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	uint16_t port;
	int fd;

	(void)state;
	assert_int_equal(try_listen(hosts, ARRAY_LEN(hosts), 0), 0);
	port = listener_port(listener);
	assert_true(port > 0);
	fd = call("127.0.0.1", port);
	assert_true(fd != -1);
	wait_for(1);
	assert_string_equal(last.address, "127.0.0.1");
	assert_true(last.port > 0);
	close(fd);
	if (!has_ipv6())
		return;
	fd = call("::1", port);
	assert_true(fd != -1);
	wait_for(2);
	assert_string_equal(last.address, "::1");
	close(fd);
}

static void
test_wildcard(void **state)
{
	static const char *const hosts[] = { NULL };
	int fd;

	(void)state;
	assert_int_equal(try_listen(hosts, 1, 0), 0);
	fd = call("127.0.0.2", listener_port(listener));
	assert_true(fd != -1);
	wait_for(1);
	close(fd);
	if (!has_ipv6())
		return;
	fd = call("::1", listener_port(listener));
	assert_true(fd != -1);
	wait_for(2);
	close(fd);
}

/* Any program may take the port of a listener that is closed, for a connection
 * of its own: then it is tried with another port. */
#define TURNS 20

static bool
again_in_use(void)
{
	static const char *const here[] = { "127.0.0.1" };
	static const char *const nowhere[] = { "no host name" };
	struct listener *first;
	uint16_t port;
	bool again;

	assert_int_equal(try_listen(here, 1, 0), 0);
	port = listener_port(listener);
	first = listener;
	listener = NULL;
	assert_int_equal(try_listen(here, 1, port), ERR_SYSTEM);
	assert_int_equal(try_listen(nowhere, 1, port), ERR_NOT_FOUND);
	listener_free(first);
	again = try_listen(here, 1, port) == 0;
	listener_free(listener);
	listener = NULL;
	return again;
}

static void
test_in_use(void **state)
{
	int turns = 1;

	(void)state;
	while (!again_in_use())
		assert_true(turns++ < TURNS);
}

/* A part of the addresses is not enough where the other part would be
 * somebody else's. */
static bool
again_exclusive(void)
{
	static const char *const one[] = { "127.0.0.2" };
	static const char *const both[] = { "127.0.0.1", "127.0.0.2" };
	struct listener_params p = { .loop = loop,
		.hosts = both,
		.host_count = 2,
		.accepted = on_accepted };
	struct listener *first;
	bool again;

	assert_int_equal(try_listen(one, 1, 0), 0);
	p.port = listener_port(listener);
	first = listener;
	listener = NULL;
	p.exclusive = true;
	assert_int_equal(listener_new(&listener, &p), ERR_SYSTEM);
	p.exclusive = false;
	again = listener_new(&listener, &p) == 0;
	listener_free(listener);
	listener_free(first);
	listener = NULL;
	p.exclusive = true;
	again = again && listener_new(&listener, &p) == 0;
	listener_free(listener);
	listener = NULL;
	return again;
}

static void
test_exclusive(void **state)
{
	int turns = 1;

	(void)state;
	while (!again_exclusive())
		assert_true(turns++ < TURNS);
}

static void
test_paused(void **state)
{
	static const char *const hosts[] = { "127.0.0.1" };
	int fd;

	(void)state;
	assert_int_equal(try_listen(hosts, 1, 0), 0);
	listener_pause(listener, true);
	fd = call("127.0.0.1", listener_port(listener));
	assert_true(fd != -1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(loop, 20), 0);
	assert_int_equal(accepted, 0);
	listener_pause(listener, false);
	wait_for(1);
	close(fd);
}

static void
test_freed_by_callback(void **state)
{
	static const char *const hosts[] = { "127.0.0.1" };
	int first, second;

	(void)state;
	frees = true;
	assert_int_equal(try_listen(hosts, 1, 0), 0);
	first = call("127.0.0.1", listener_port(listener));
	second = call("127.0.0.1", listener_port(listener));
	wait_for(1);
	assert_null(listener);
	assert_int_equal(loop_turn(loop, 20), 0);
	assert_int_equal(accepted, 1);
	close(first);
	close(second);
}

static int
call_path(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
test_path(void **state)
{
	char dir[] = "/tmp/hpn-listeners-XXXXXX", path[64], file[64];
	char long_path[200];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s", dir);
	snprintf(file, sizeof file, "%s/file", dir);
	assert_int_equal(try_path(path, 0177, false), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(listener_port(listener), 0);
	fd = call_path(path);
	assert_true(fd != -1);
	wait_for(1);
	assert_string_equal(last.address, FORWARDED_NO_ADDRESS);
	assert_int_equal(last.port, FORWARDED_NO_PORT);
	close(fd);
	/* It stays when nobody listens any more, and is in the way then. */
	listener_free(listener);
	listener = NULL;
	assert_int_equal(try_path(path, 0177, false), ERR_SYSTEM);
	assert_int_equal(try_path(path, 0111, true), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	listener_free(listener);
	listener = NULL;
	/* A file is never removed. */
	fclose(fopen(file, "w"));
	assert_int_equal(try_path(file, 0177, true), ERR_SYSTEM);
	assert_int_equal(stat(file, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	memset(long_path, 'a', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(try_path(long_path, 0177, true), ERR_LIMIT);
	unlink(path);
	unlink(file);
	rmdir(dir);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_one_port),
		TEST(test_wildcard),
		TEST(test_in_use),
		TEST(test_exclusive),
		TEST(test_paused),
		TEST(test_freed_by_callback),
		TEST(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
