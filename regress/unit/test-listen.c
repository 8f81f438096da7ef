/* SPDX-License-Identifier: ISC */
/* Sockets that listen, on addresses of this machine only. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/listen.h"
#include "base/mem.h"
#include "compat/sock.h"

enum { MANY = 400, WAIT_MS = 200 };

/* How many the system lets wait at a socket. */
static size_t
system_limit(void)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "r");
	size_t n = SOMAXCONN;

	if (f != NULL) {
		if (fscanf(f, "%zu", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n < SOMAXCONN ? n : SOMAXCONN;
}

struct failures {
	int n, error;
	enum listen_step step;
};

static void
on_failed(void *arg, enum listen_step step, const struct sockaddr *sa,
    socklen_t len, int error)
{
	struct failures *f = arg;

	assert_non_null(sa);
	assert_true(len > 0);
	f->n++;
	f->step = step;
	f->error = error;
}

static uint16_t
port_of(int fd, sa_family_t *family)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	*family = ss.ss_family;
	return ntohs(ss.ss_family == AF_INET6 ?
		((struct sockaddr_in6 *)&ss)->sin6_port :
		((struct sockaddr_in *)&ss)->sin_port);
}

static int
flag_of(int fd, int level, int option)
{
	int value = 0;
	socklen_t len = sizeof value;

	assert_int_equal(getsockopt(fd, level, option, &value, &len), 0);
	return value;
}

static void
a_free_port(void **state)
{
	const struct listen_spec spec = { .host = "127.0.0.1", .port = "0" };
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct listen_set set = { 0 };
	sa_family_t family;
	const char *why;
	int client, fd;

	(void)state;
	assert_int_equal(listen_open(&set, &spec, &why), 0);
	assert_int_equal(set.n, 1);
	fd = set.fd[0];
	sa.sin_port = htons(port_of(fd, &family));
	assert_int_equal(family, AF_INET);
	assert_int_not_equal(sa.sin_port, 0);
	assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_not_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_not_equal(flag_of(fd, SOL_SOCKET, SO_REUSEADDR), 0);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&sa, sizeof sa),
	    0);
	close(client);
	listen_close(&set);
	assert_int_equal(set.n, 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
a_port_in_use(void **state)
{
	struct failures failures = { 0 };
	struct listen_set first = { 0 }, second = { 0 };
	struct listen_spec spec = { .host = "127.0.0.1", .port = "0",
		.arg = &failures, .failed = on_failed };
	sa_family_t family;
	const char *why;
	char port[6];

	(void)state;
	assert_int_equal(listen_open(&first, &spec, &why), 0);
	snprintf(port, sizeof port, "%u", port_of(first.fd[0], &family));
	spec.port = port;
	assert_int_equal(failures.n, 0);
	assert_int_equal(listen_open(&second, &spec, &why), 0);
	assert_int_equal(second.n, 0);
	assert_int_equal(failures.n, 1);
	assert_int_equal(failures.error, EADDRINUSE);
	/* Linux notices at bind(2), since the first one listens. */
	assert_int_equal(failures.step, LISTEN_BIND);
	/* Nobody has to hear of it. */
	spec.failed = NULL;
	assert_int_equal(listen_open(&second, &spec, &why), 0);
	assert_int_equal(second.n, 0);
	listen_close(&first);
}

/* Where the kernel has no Multipath TCP, it is TCP. */
static void
multipath(void **state)
{
	(void)state;
#ifdef IPPROTO_MPTCP
	struct listen_spec spec = { .host = "127.0.0.1", .port = "0" };
	struct listen_set set = { 0 };
	int probe = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	const char *why;

	for (int i = 0; i < 2; i++) {
		spec.mptcp = i == 1;
		assert_int_equal(listen_open(&set, &spec, &why), 0);
		assert_int_equal(set.n, 1);
		assert_int_equal(flag_of(set.fd[0], SOL_SOCKET, SO_PROTOCOL),
		    spec.mptcp && probe != -1 ? IPPROTO_MPTCP : IPPROTO_TCP);
		listen_close(&set);
	}
	if (probe != -1)
		close(probe);
#else
	skip();
#endif
}

static void
both_families(void **state)
{
	struct failures failures = { 0 };
	const struct listen_spec spec = { .port = "0", .arg = &failures,
		.failed = on_failed };
	struct listen_set set = { 0 };
	bool ipv4 = false, ipv6 = false;
	sa_family_t family;
	const char *why;

	(void)state;
	assert_int_equal(listen_open(&set, &spec, &why), 0);
	for (size_t i = 0; i < set.n; i++) {
		assert_int_not_equal(port_of(set.fd[i], &family), 0);
		ipv4 = ipv4 || family == AF_INET;
		ipv6 = ipv6 || family == AF_INET6;
		/* One on IPv4 beside it needs this. */
		if (family == AF_INET6)
			assert_int_equal(flag_of(set.fd[i], IPPROTO_IPV6,
					     IPV6_V6ONLY),
			    1);
	}
	listen_close(&set);
	assert_true(ipv4);
	/* Unless the system has no IPv6. */
	if (!ipv6 && failures.n > 0) {
		print_message("there is no IPv6 here\n");
		skip();
	}
	assert_true(ipv6);
}

static void
one_family(void **state)
{
	const struct listen_spec spec = { .port = "0", .family = AF_INET };
	struct listen_set set = { 0 };
	sa_family_t family;
	const char *why;

	(void)state;
	assert_int_equal(listen_open(&set, &spec, &why), 0);
	assert_int_equal(set.n, 1);
	(void)port_of(set.fd[0], &family);
	assert_int_equal(family, AF_INET);
	listen_close(&set);
}

static void
no_such_address(void **state)
{
	const struct listen_spec spec = { .host = "127.0.0.1", .port = "0",
		.family = AF_INET6 };
	struct listen_set set = { 0 };
	const char *why;

	(void)state;
	assert_int_equal(listen_open(&set, &spec, &why), ERR_NOT_FOUND);
	assert_non_null(why);
	assert_int_equal(set.n, 0);
}

static void
no_more_than_the_limit(void **state)
{
	const struct listen_spec spec = { .host = "127.0.0.1", .port = "0" };
	struct listen_set set = { 0 };
	const char *why;

	(void)state;
	for (size_t i = 0; i < LISTEN_MAX; i++) {
		assert_int_equal(listen_open(&set, &spec, &why), 0);
		assert_int_equal(set.n, i + 1);
	}
	assert_int_equal(listen_open(&set, &spec, &why), ERR_LIMIT);
	assert_int_equal(set.n, LISTEN_MAX);
	listen_close(&set);
}

/* Of so many that connect at once, how many need not try again? */
static size_t
connect_many(const struct sockaddr *sa, socklen_t len)
{
	int fd[MANY];
	size_t n = 0;

	for (size_t i = 0; i < MANY; i++) {
		struct pollfd p = { .events = POLLOUT };

		p.fd = fd[i] = sock_open(sa->sa_family, SOCK_STREAM, 0,
		    SOCK_AT_ONCE);
		assert_int_not_equal(fd[i], -1);
		if (connect(fd[i], sa, len) == 0 ||
		    (errno == EINPROGRESS && poll(&p, 1, WAIT_MS) == 1))
			n++;
		else
			break;
	}
	for (size_t i = 0; i < MIN(n + 1, (size_t)MANY); i++)
		close(fd[i]);
	return n;
}

/* Nobody accepts, and yet they have connected: whoever finds the queue full
 * waits a second or more until TCP tries again. */
static void
many_at_once(void **state)
{
	const struct listen_spec spec = { .host = "127.0.0.1", .port = "0" };
	struct sockaddr_storage ss;
	struct listen_set set = { 0 };
	socklen_t len = sizeof ss;
	char dir[] = "/tmp/test-listen.XXXXXX", path[64];
	const char *why;

	(void)state;
	if (system_limit() < MANY) {
		print_message("the limit of open files is too low\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s", dir);
	assert_int_equal(listen_open(&set, &spec, &why), 0);
	assert_int_equal(listen_open_path(&set, path, 0177, false), 0);
	for (size_t i = 0; i < 2; i++) {
		len = sizeof ss;
		assert_int_equal(getsockname(set.fd[i],
				     (struct sockaddr *)&ss, &len), 0);
		assert_int_equal(connect_many((struct sockaddr *)&ss, len),
		    MANY);
	}
	listen_close(&set);
	unlink(path);
	rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_port),
		cmocka_unit_test(a_port_in_use),
		cmocka_unit_test(multipath),
		cmocka_unit_test(both_families),
		cmocka_unit_test(one_family),
		cmocka_unit_test(no_such_address),
		cmocka_unit_test(no_more_than_the_limit),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
