/* SPDX-License-Identifier: ISC */
#include "base/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"

enum { WAIT_MAX_MS = 60 * 1000 };

struct attempt {
	struct dial_address address;
	int fd; /* -1: the attempt has not begun, or is over */
	int error;
	struct dial *dial;
	struct loop_fd *watch; /* while the attempt runs, in a loop */
};

struct dial {
	struct dial_params p; /* without its addresses: see attempts */
	struct loop *loop;    /* NULL: dial_and_wait() */
	struct loop_timer *timer;
	struct dial_plan plan;
	int winner; /* index of the attempt that connected, or -1 */
	struct attempt attempts[];
};

/* ---- one attempt -------------------------------------------------------- */

static int
open_socket(int family, bool mptcp)
{
	int fd = -1;

#ifdef IPPROTO_MPTCP
	if (mptcp && family != AF_UNIX)
		fd = sock_open(family, SOCK_STREAM, IPPROTO_MPTCP,
		    SOCK_AT_ONCE);
#else
	(void)mptcp;
#endif
	return fd != -1 ? fd : sock_open(family, SOCK_STREAM, 0, SOCK_AT_ONCE);
}

static void
close_attempt(struct dial *d, struct attempt *a)
{
	if (d->loop != NULL)
		loop_unwatch(d->loop, a->watch);
	a->watch = NULL;
	fd_close(&a->fd);
}

static void
fail(struct dial *d, struct attempt *a, int error)
{
	a->error = error;
	close_attempt(d, a);
	dial_plan_failed(&d->plan, (size_t)(a - d->attempts));
}

/* Attempt a is the winner. Its socket stays open, but is not watched any
 * more. */
static void
win(struct dial *d, struct attempt *a)
{
	if (!dial_plan_connected(&d->plan, (size_t)(a - d->attempts)))
		return;
	d->winner = (int)(a - d->attempts);
	if (d->loop != NULL)
		loop_unwatch(d->loop, a->watch);
	a->watch = NULL;
}

/* A running attempt has connected, or has failed. */
static void
take_answer(struct dial *d, struct attempt *a)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0)
		win(d, a);
	else
		fail(d, a, error);
}

static void step(void *arg);

static void
on_answer(void *arg, int fd, int events)
{
	struct attempt *a = arg;

	(void)fd;
	(void)events;
	take_answer(a->dial, a);
	step(a->dial);
}

static void
start_attempt(struct dial *d, struct attempt *a)
{
	size_t which = (size_t)(a - d->attempts);
	int error = 0;

	if (d->p.starting != NULL)
		d->p.starting(d->p.arg, which);
	a->fd = open_socket(a->address.sa.ss_family, d->p.mptcp);
	if (a->fd == -1)
		error = errno;
	else if (d->p.prepare != NULL)
		error = d->p.prepare(d->p.arg, which, a->fd);
	if (error != 0) {
		fail(d, a, error);
		return;
	}
	if (connect(a->fd, (const struct sockaddr *)&a->address.sa,
		a->address.len) == 0) {
		win(d, a);
		return;
	}
	if (errno != EINPROGRESS) {
		fail(d, a, errno);
		return;
	}
	if (d->loop == NULL)
		return;
	a->watch = loop_watch(d->loop, a->fd, LOOP_WRITE, on_answer, a);
	if (a->watch == NULL)
		fail(d, a, ENOMEM);
}

/* ---- all of them -------------------------------------------------------- */

/* Starts the attempts that are due. True: the dial is over, and the sockets of
 * all attempts but the winner's are closed. */
static bool
advance(struct dial *d, uint64_t *wait_ms)
{
	int next;

	while ((next = dial_plan_next(&d->plan, clock_ms(), wait_ms)) != -1)
		start_attempt(d, &d->attempts[next]);
	if (!dial_plan_is_over(&d->plan, clock_ms()))
		return false;
	for (size_t i = 0; i < d->p.n; i++)
		if ((int)i != d->winner)
			close_attempt(d, &d->attempts[i]);
	return true;
}

static void
on_timer(void *arg)
{
	struct dial *d = arg;

	d->timer = NULL;
	step(d);
}

/* Ends the dial when there is no memory for its timer, as no later attempt
 * would start without it. */
static void
give_up(struct dial *d)
{
	for (size_t i = 0; i < d->p.n; i++) {
		close_attempt(d, &d->attempts[i]);
		if (d->attempts[i].error == 0)
			d->attempts[i].error = ENOMEM;
	}
	d->p.done(d->p.arg, d);
}

static void
step(void *arg)
{
	struct dial *d = arg;
	uint64_t wait_ms;

	loop_cancel(d->loop, d->timer);
	d->timer = NULL;
	if (advance(d, &wait_ms)) {
		d->p.done(d->p.arg, d);
		return;
	}
	if (wait_ms == UINT64_MAX)
		return;
	d->timer = loop_after(d->loop, wait_ms, on_timer, d);
	if (d->timer == NULL)
		give_up(d);
}

static int
make(struct dial **out, struct loop *l, const struct dial_params *params)
{
	struct dial *d =
	    calloc(1, sizeof *d + params->n * sizeof *d->attempts);

	if (d == NULL)
		return ERR_NOMEM;
	d->p = *params;
	d->p.addresses = NULL;
	d->loop = l;
	d->winner = -1;
	for (size_t i = 0; i < params->n; i++)
		d->attempts[i] = (struct attempt){
			.address = params->addresses[i], .fd = -1, .dial = d
		};
	dial_plan_init(&d->plan, params->addresses, params->n, &params->times,
	    params->running_max, clock_ms());
	*out = d;
	return 0;
}

int
dial_start(struct dial **out, struct loop *l, const struct dial_params *params)
{
	int r = make(out, l, params);

	if (r != 0)
		return r;
	(*out)->timer = loop_after(l, 0, on_timer, *out);
	if ((*out)->timer != NULL)
		return 0;
	dial_free(*out);
	*out = NULL;
	return ERR_NOMEM;
}

static void
wait_for_answers(struct dial *d, uint64_t wait_ms)
{
	struct pollfd polls[DIAL_ADDRESSES_MAX];
	struct attempt *who[DIAL_ADDRESSES_MAX];
	nfds_t n = 0;

	for (size_t i = 0; i < d->p.n; i++) {
		if (d->attempts[i].fd == -1)
			continue;
		polls[n] = (struct pollfd){ .fd = d->attempts[i].fd,
			.events = POLLOUT };
		who[n++] = &d->attempts[i];
	}
	if (poll(polls, n, (int)MIN(wait_ms, (uint64_t)WAIT_MAX_MS)) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++)
		if (polls[i].revents != 0)
			take_answer(d, who[i]);
}

int
dial_and_wait(struct dial **out, const struct dial_params *params)
{
	uint64_t wait_ms;
	int r = make(out, NULL, params);

	if (r != 0)
		return r;
	while (!advance(*out, &wait_ms))
		wait_for_answers(*out, wait_ms);
	return 0;
}

void
dial_free(struct dial *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->p.n; i++)
		close_attempt(d, &d->attempts[i]);
	if (d->loop != NULL)
		loop_cancel(d->loop, d->timer);
	free(d);
}

int
dial_take_winner(struct dial *d, size_t *which)
{
	int fd;

	if (d->winner == -1)
		return -1;
	*which = (size_t)d->winner;
	fd = d->attempts[d->winner].fd;
	d->attempts[d->winner].fd = -1;
	return fd;
}

int
dial_error(const struct dial *d, size_t which)
{
	int error = d->attempts[which].error;

	return error != 0 ? error : ETIMEDOUT;
}
