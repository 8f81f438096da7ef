/* SPDX-License-Identifier: ISC */
/*
 * Addresses of names in the loop: numbers need no look-up, names get their
 * addresses or a reason, more names than processes wait their turn, and what
 * is cancelled is not heard of again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/resolve.h"

enum { WAIT_MS = 60 * 1000 };

/* What comes over a socket comes in pieces, as it may anywhere. */
ssize_t
recv(int fd, void *p, size_t len, int flags)
{
	enum { PIECE = 100 };

	return recvfrom(fd, p, MIN(len, (size_t)PIECE), flags, NULL, NULL);
}

struct heard {
	int times;
	size_t n;
	struct dial_address first;
	char why[128];
};

static void
on_done(void *arg, const struct dial_address *v, size_t n, const char *why)
{
	struct heard *h = arg;

	h->times++;
	h->n = n;
	if (n > 0)
		h->first = v[0];
	else
		snprintf(h->why, sizeof h->why, "%s", why);
}

static void
wait_for(struct loop *l, const struct heard *h, size_t n)
{
	uint64_t end = clock_ms() + WAIT_MS;
	size_t done;

	do {
		assert_int_equal(loop_turn(l, 50), 0);
		done = 0;
		for (size_t i = 0; i < n; i++)
			done += h[i].times > 0;
	} while (done < n && clock_ms() < end);
	assert_int_equal(done, n);
}

static void
test_addresses(void **state)
{
	struct dial_address a;
	const struct sockaddr_in *four = (const void *)&a.sa;
	const struct sockaddr_in6 *six = (const void *)&a.sa;

	(void)state;
	assert_true(resolve_address("127.0.0.1", 80, AF_UNSPEC, &a));
	assert_int_equal(a.sa.ss_family, AF_INET);
	assert_int_equal(ntohs(four->sin_port), 80);
	assert_int_equal(ntohl(four->sin_addr.s_addr), INADDR_LOOPBACK);
	assert_true(resolve_address("::1", 65535, AF_INET6, &a));
	assert_int_equal(ntohs(six->sin6_port), 65535);
	assert_int_equal(a.len, sizeof *six);
	assert_false(resolve_address("::1", 80, AF_INET, &a));
	assert_false(resolve_address("localhost", 80, AF_UNSPEC, &a));
	assert_false(resolve_address("", 80, AF_UNSPEC, &a));
}

/* Nine names for four processes. */
static void
test_names(void **state)
{
	struct loop *l = loop_new();
	struct resolver *r = resolver_new(l);
	struct heard h[9] = { { 0 } };
	struct resolve *q;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(h); i++)
		assert_int_equal(resolve_start(&q, r,
		    i % 2 == 0 ? "localhost" : "no host name", 22, AF_UNSPEC,
		    on_done, &h[i]), 0);
	assert_int_equal(h[0].times, 0);
	wait_for(l, h, ARRAY_LEN(h));
	for (size_t i = 0; i < ARRAY_LEN(h); i++) {
		assert_int_equal(h[i].times, 1);
		if (i % 2 == 0) {
			assert_true(h[i].n >= 1);
			assert_true(h[i].first.sa.ss_family == AF_INET ||
			    h[i].first.sa.ss_family == AF_INET6);
		} else {
			assert_int_equal(h[i].n, 0);
			assert_true(strlen(h[i].why) > 0);
		}
	}
	resolver_free(r);
	loop_free(l);
}

static void
test_cancelled(void **state)
{
	struct loop *l = loop_new();
	struct resolver *r = resolver_new(l);
	struct heard gone = { 0 }, h = { 0 };
	struct resolve *q[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(q); i++)
		assert_int_equal(resolve_start(&q[i], r, "localhost", 22,
		    AF_INET, on_done, &gone), 0);
	resolve_cancel(q[5]); /* before it is with a process */
	assert_int_equal(loop_turn(l, 0), 0);
	for (size_t i = 0; i < 5; i++)
		resolve_cancel(q[i]);
	assert_int_equal(resolve_start(&q[0], r, "localhost", 22, AF_INET,
	    on_done, &h), 0);
	wait_for(l, &h, 1);
	assert_int_equal(gone.times, 0);
	/* Where /etc/hosts has ::1, too, some give the address twice. */
	assert_true(h.n >= 1);
	/* Freed with one under way. */
	assert_int_equal(resolve_start(&q[0], r, "localhost", 22, AF_INET,
	    on_done, &gone), 0);
	resolver_free(r);
	loop_free(l);
	assert_int_equal(gone.times, 0);
}

static void
test_limits(void **state)
{
	struct loop *l = loop_new();
	struct resolver *r = resolver_new(l);
	char host[RESOLVE_HOST_MAX + 2];
	struct heard h = { 0 };
	struct resolve *q;

	(void)state;
	memset(host, 'a', sizeof host);
	host[sizeof host - 1] = '\0';
	assert_int_equal(resolve_start(&q, r, host, 22, AF_UNSPEC, on_done,
	    &h), ERR_LIMIT);
	host[RESOLVE_HOST_MAX] = '\0';
	assert_int_equal(resolve_start(&q, r, host, 22, AF_UNSPEC, on_done,
	    &h), 0);
	wait_for(l, &h, 1);
	assert_int_equal(h.n, 0);
	resolver_free(r);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
