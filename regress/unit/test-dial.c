/* SPDX-License-Identifier: ISC */
/*
 * Connecting to one of several addresses: the plan in made-up time, whatever
 * becomes of the attempts; and real sockets of this host, which refuse, keep
 * silent or answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "regress/unit/dice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dial.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"

static const struct dial_times usual = { .next_ms = 250, .round_ms = 400 };

/* ---- the plan, in made-up time ------------------------------------------ */

enum { NEVER = 1000000 }; /* a time that does not come */

/* A plan, and the fate of each attempt: how long it takes, and whether it
 * connects then. */
struct story {
	struct dial_plan plan;
	struct dial_address addresses[16];
	struct dial_times times;
	size_t n, running_max;
	uint64_t now, took[16], started[16], answered[16];
	bool connects[16];
	size_t order[16], count; /* as they were started */
	size_t winners;
};

static bool
is_running(const struct story *s, size_t i)
{
	return s->started[i] != NEVER && s->answered[i] == NEVER;
}

static size_t
count_running(const struct story *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->n; i++)
		count += is_running(s, i);
	return count;
}

/* Did one of this round fail since t? */
static bool
failed_since(const struct story *s, unsigned round, uint64_t t)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->addresses[i].round == round &&
		    s->answered[i] != NEVER && s->answered[i] >= t)
			return true;
	return false;
}

/* The reason for which i may be started now. */
static void
check_start(const struct story *s, size_t i, size_t others)
{
	unsigned round = s->addresses[i].round;
	uint64_t last = NEVER;

	assert_int_equal(s->started[i], NEVER);
	assert_true(others < s->running_max);
	for (size_t k = 0; k < s->n; k++) {
		if (s->addresses[k].round != round || k == i)
			continue;
		/* In the order of the list. */
		assert_int_equal(s->started[k] == NEVER, k > i);
		if (k < i)
			last = s->started[k];
	}
	if (others == 0)
		return;
	if (last == NEVER)
		assert_true(s->now >= round * (uint64_t)s->times.round_ms);
	else
		assert_true(s->now >= last + s->times.next_ms ||
		    failed_since(s, round, last));
}

static void
start_due(struct story *s, uint64_t *wait_ms)
{
	int i;

	while ((i = dial_plan_next(&s->plan, s->now, wait_ms)) != -1) {
		check_start(s, (size_t)i, count_running(s));
		s->started[i] = s->now;
		s->order[s->count++] = (size_t)i;
	}
}

static void
answer(struct story *s, size_t i)
{
	s->answered[i] = s->now;
	if (s->connects[i])
		s->winners += dial_plan_connected(&s->plan, i);
	else
		dial_plan_failed(&s->plan, i);
}

/* The time that something is to be done, or happens. */
static uint64_t
next_event(const struct story *s, uint64_t wait_ms)
{
	uint64_t next = wait_ms == UINT64_MAX ? NEVER : s->now + wait_ms;

	for (size_t i = 0; i < s->n; i++)
		if (is_running(s, i))
			next = MIN(next, s->started[i] + s->took[i]);
	return next;
}

static void
run_story(struct story *s)
{
	uint64_t wait_ms;

	for (size_t i = 0; i < s->n; i++)
		s->started[i] = s->answered[i] = NEVER;
	dial_plan_init(&s->plan, s->addresses, s->n, &s->times,
	    s->running_max, 0);
	for (;;) {
		start_due(s, &wait_ms);
		if (dial_plan_is_over(&s->plan, s->now))
			break;
		assert_true(wait_ms > 0);
		s->now = next_event(s, wait_ms);
		assert_true(s->now < NEVER);
		for (size_t i = 0; i < s->n; i++)
			if (is_running(s, i) &&
			    s->now >= s->started[i] + s->took[i])
				answer(s, i);
	}
}

static void
check_end(const struct story *s)
{
	uint64_t limit = s->times.timeout_ms;
	bool one_connected = false;

	assert_true(s->winners <= 1);
	for (size_t i = 0; i < s->n; i++)
		one_connected = one_connected ||
		    (s->connects[i] && s->answered[i] != NEVER);
	assert_int_equal(s->winners, one_connected);
	if (limit != 0)
		assert_true(s->now <= limit);
	if (s->winners > 0 || (limit != 0 && s->now == limit))
		return;
	/* Nobody gives up before all have failed. */
	for (size_t i = 0; i < s->n; i++)
		assert_int_not_equal(s->answered[i], NEVER);
}

static void
make_story(struct story *s, struct dice *dice)
{
	size_t second;

	memset(s, 0, sizeof *s);
	s->n = 1 + dice_below(dice, ARRAY_LEN(s->addresses));
	second = dice_below(dice, s->n + 1);
	s->running_max = 1 + dice_below(dice, s->n);
	s->times = usual;
	if (dice_below(dice, 2) == 0)
		s->times.timeout_ms = 1 + dice_below(dice, 5000);
	for (size_t i = 0; i < s->n; i++) {
		s->addresses[i].round = i >= second;
		s->connects[i] = dice_below(dice, 4) == 0;
		s->took[i] = dice_below(dice, 3) == 0 ?
		    0 : dice_below(dice, 2000);
	}
}

static void
test_any_story(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct dice dice = { seed };
		struct story s;

		make_story(&s, &dice);
		run_story(&s);
		check_end(&s);
	}
}

static void
expect_started(const struct story *s, size_t i, uint64_t at)
{
	if (s->started[i] != at)
		fail_msg("attempt %zu at %llu, not %llu", i,
		    (unsigned long long)s->started[i],
		    (unsigned long long)at);
}

/* Silent ones are 250 ms apart; the second port comes at 400. */
static void
test_silent(void **state)
{
	struct story s = { .n = 5, .times = usual, .running_max = 5,
		.took = { 9000, 9000, 9000, 9000, 9000 } };

	(void)state;
	s.addresses[3].round = s.addresses[4].round = 1;
	run_story(&s);
	expect_started(&s, 0, 0);
	expect_started(&s, 1, 250);
	expect_started(&s, 2, 500);
	expect_started(&s, 3, 400);
	expect_started(&s, 4, 650);
	assert_int_equal(s.now, 9650);
}

/* A refusal starts the next one of its own round; the second port keeps its
 * time, unless all of the first have failed. */
static void
test_refused(void **state)
{
	struct story s = { .n = 4, .times = usual, .running_max = 4,
		.took = { 9000, 10, 9000, 9000 } };
	struct story all = { .n = 3, .times = usual, .running_max = 3,
		.took = { 10, 300, 9000 } };

	(void)state;
	s.addresses[3].round = 1;
	run_story(&s);
	expect_started(&s, 0, 0);
	expect_started(&s, 1, 250);
	expect_started(&s, 2, 260);
	expect_started(&s, 3, 400);
	all.addresses[2].round = 1;
	run_story(&all);
	expect_started(&all, 1, 10);
	expect_started(&all, 2, 310);
}

static void
test_timeout(void **state)
{
	struct story s = { .n = 3, .times = usual, .running_max = 3,
		.took = { 9000, 9000, 9000 } };

	(void)state;
	s.times.timeout_ms = 400;
	run_story(&s);
	assert_int_equal(s.now, 400);
	assert_int_equal(s.count, 2);
}

/* The resolver's order in each family, and the families take turns. */
static void
test_interleave(void **state)
{
	static const int before[] = { 6, 6, 6, 4, 6, 4, 4, 4 };
	static const int after[] = { 60, 43, 61, 45, 62, 46, 64, 47 };
	struct dial_address v[ARRAY_LEN(before)];

	(void)state;
	memset(v, 0, sizeof v);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		v[i].sa.ss_family = before[i] == 6 ? AF_INET6 : AF_INET;
		v[i].len = (socklen_t)i;
	}
	dial_interleave(v, ARRAY_LEN(v));
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		assert_int_equal(v[i].sa.ss_family,
		    after[i] / 10 == 6 ? AF_INET6 : AF_INET);
		assert_int_equal(v[i].len, after[i] % 10);
	}
	dial_interleave(v, 0);
}

/* ---- real sockets ------------------------------------------------------- */

enum kind { ANSWERS, REFUSES, SILENT };

/* A port of this host, and the sockets that make it what it is. */
struct port {
	int fds[3];
	struct dial_address address;
};

static void
make_port(struct port *p, int family, enum kind kind)
{
	struct sockaddr_in *four = (void *)&p->address.sa;
	struct sockaddr_in6 *six = (void *)&p->address.sa;

	*p = (struct port){ .fds = { -1, -1, -1 } };
	p->address.sa.ss_family = (sa_family_t)family;
	p->address.len = family == AF_INET ? sizeof *four : sizeof *six;
	if (family == AF_INET)
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		six->sin6_addr = in6addr_loopback;
	p->fds[0] = socket(family, SOCK_STREAM, 0);
	assert_int_equal(bind(p->fds[0], (void *)&p->address.sa,
			     p->address.len), 0);
	assert_int_equal(getsockname(p->fds[0], (void *)&p->address.sa,
			     &p->address.len), 0);
	/* Bound without listening, the port refuses, and is nobody else's. */
	if (kind == REFUSES)
		return;
	assert_int_equal(listen(p->fds[0], kind == SILENT ? 0 : 8), 0);
	/* A full backlog: further ones hear nothing. */
	for (size_t i = 1; kind == SILENT && i < ARRAY_LEN(p->fds); i++) {
		p->fds[i] = sock_open(family, SOCK_STREAM, 0, SOCK_AT_ONCE);
		(void)!connect(p->fds[i], (void *)&p->address.sa,
		    p->address.len);
	}
}

static void
close_port(struct port *p)
{
	for (size_t i = 0; i < ARRAY_LEN(p->fds); i++)
		fd_close(&p->fds[i]);
}

static bool
has_ipv6(void)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool there = fd != -1 && bind(fd, (void *)&six, sizeof six) == 0;

	fd_close(&fd);
	return there;
}

static size_t
open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static bool
is_connected_to(int fd, const struct dial_address *a)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;

	memset(&peer, 0, sizeof peer);
	return getpeername(fd, (void *)&peer, &len) == 0 && len == a->len &&
	    memcmp(&peer, &a->sa, len) == 0;
}

struct dialer {
	struct loop *loop;
	struct dial *dial;
	size_t starts, prepared, done;
	int refuse; /* errno that prepare gives */
	bool free_in_done;
};

static void
on_starting(void *arg, size_t which)
{
	struct dialer *h = arg;

	(void)which;
	h->starts++;
}

static int
on_prepare(void *arg, size_t which, int fd)
{
	struct dialer *h = arg;

	(void)which;
	assert_int_not_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	h->prepared++;
	return h->refuse;
}

static void
on_done(void *arg, struct dial *d)
{
	struct dialer *h = arg;

	h->done++;
	if (h->free_in_done)
		dial_free(d);
	loop_stop(h->loop);
}

static struct dial_params
params_for(struct dialer *h, const struct dial_address *v, size_t n)
{
	return (struct dial_params){
		.addresses = v,
		.n = n,
		.times = { .next_ms = 20, .round_ms = 40,
		    .timeout_ms = 5000 },
		.arg = h,
		.starting = on_starting,
		.prepare = on_prepare,
		.done = on_done,
	};
}

/* Random ports in random order, with a loop and without: who wins answers, and
 * nothing else stays open. */
static void
test_loopback(void **state)
{
	bool six = has_ipv6();

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct port ports[6];
		struct dial_address v[ARRAY_LEN(ports)];
		struct dialer h = { 0 };
		struct dial_params p = params_for(&h, v, ARRAY_LEN(v));
		struct dice dice = { seed };
		size_t answering = 0, open, which = 99;
		int fd;

		for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
			enum kind kind = (enum kind)dice_below(&dice, 3);

			answering += kind == ANSWERS;
			make_port(&ports[i], six && dice_below(&dice, 2) == 0 ?
				AF_INET6 : AF_INET, kind);
			v[i] = ports[i].address;
			v[i].round = i >= 3;
		}
		p.times.timeout_ms = answering > 0 ? 5000 : 300;
		p.mptcp = dice_below(&dice, 2) == 0;
		open = open_descriptors();
		if (seed % 2 == 0) {
			assert_int_equal(dial_and_wait(&h.dial, &p), 0);
			assert_int_equal(open_descriptors(),
			    open + (answering > 0));
		} else {
			h.loop = loop_new();
			assert_int_equal(dial_start(&h.dial, h.loop, &p), 0);
			assert_int_equal(h.starts, 0);
			assert_int_equal(loop_run(h.loop), 0);
			assert_int_equal(h.done, 1);
		}
		fd = dial_take_winner(h.dial, &which);
		assert_int_equal(fd != -1, answering > 0);
		if (fd != -1)
			assert_true(is_connected_to(fd, &v[which]));
		dial_free(h.dial);
		loop_free(h.loop);
		assert_int_equal(open_descriptors(), open + (fd != -1));
		fd_close(&fd);
		for (size_t i = 0; i < ARRAY_LEN(ports); i++)
			close_port(&ports[i]);
	}
}

/* Refused at once, all of them: the errors are kept, no time is lost. */
static void
test_errors(void **state)
{
	struct port ports[2];
	struct dialer h = { 0 };
	struct dial_address v[2] = { 0 };
	struct dial_params p = params_for(&h, v, 2);
	uint64_t begun = clock_ms();
	size_t which;

	(void)state;
	make_port(&ports[0], AF_INET, REFUSES);
	make_port(&ports[1], AF_INET, SILENT);
	v[0] = ports[0].address;
	v[1] = ports[1].address;
	p.times = (struct dial_times){ .next_ms = 60000, .timeout_ms = 100 };
	assert_int_equal(dial_and_wait(&h.dial, &p), 0);
	assert_int_equal(dial_take_winner(h.dial, &which), -1);
	assert_int_equal(dial_error(h.dial, 0), ECONNREFUSED);
	assert_int_equal(dial_error(h.dial, 1), ETIMEDOUT);
	assert_int_equal(h.starts, 2);
	assert_true(clock_ms() - begun >= 100);
	dial_free(h.dial);
	/* A socket that cannot be made ready fails as others do. */
	h = (struct dialer){ .refuse = EADDRNOTAVAIL };
	assert_int_equal(dial_and_wait(&h.dial, &p), 0);
	assert_int_equal(dial_error(h.dial, 0), EADDRNOTAVAIL);
	assert_int_equal(dial_error(h.dial, 1), EADDRNOTAVAIL);
	assert_int_equal(h.prepared, 2);
	dial_free(h.dial);
	close_port(&ports[0]);
	close_port(&ports[1]);
}

/* Freed while attempts run, and inside of its own callback. */
static void
test_cancel(void **state)
{
	struct dialer h = { .loop = loop_new() };
	struct port silent, refusing;
	struct dial_address v[2];
	struct dial_params p = params_for(&h, v, 2);
	size_t open;

	(void)state;
	make_port(&silent, AF_INET, SILENT);
	make_port(&refusing, AF_INET, REFUSES);
	v[0] = v[1] = silent.address;
	open = open_descriptors();
	assert_int_equal(dial_start(&h.dial, h.loop, &p), 0);
	while (h.starts < 2)
		assert_int_equal(loop_turn(h.loop, 50), 0);
	assert_int_equal(open_descriptors(), open + 2);
	dial_free(h.dial);
	assert_int_equal(open_descriptors(), open);
	assert_int_equal(loop_turn(h.loop, 30), 0);
	assert_int_equal(h.done, 0);

	v[0] = v[1] = refusing.address;
	h.free_in_done = true;
	assert_int_equal(dial_start(&h.dial, h.loop, &p), 0);
	assert_int_equal(loop_run(h.loop), 0);
	assert_int_equal(h.done, 1);
	assert_int_equal(open_descriptors(), open);
	loop_free(h.loop);
	close_port(&silent);
	close_port(&refusing);
}

/* Nothing to dial is over at once, and still only told in the loop. */
static void
test_nothing(void **state)
{
	struct dialer h = { .loop = loop_new(), .free_in_done = true };
	struct dial_params p = params_for(&h, NULL, 0);

	(void)state;
	assert_int_equal(dial_start(&h.dial, h.loop, &p), 0);
	assert_int_equal(h.done, 0);
	assert_int_equal(loop_run(h.loop), 0);
	assert_int_equal(h.done, 1);
	loop_free(h.loop);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_story),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_interleave),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
