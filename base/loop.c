/* SPDX-License-Identifier: ISC */
/*
 * poll(2) over a dense array. Watches and timers are few (a handful a
 * channel), so arrays and lists win over anything clever. Removing one
 * inside a callback only marks it; the sweep at the end of the turn frees.
 */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

enum { SIGNAL_COUNT = 65, WAIT_MAX_MS = 60 * 1000 };

struct loop_fd {
	int fd, events;
	bool dead;
	loop_fd_fn fn;
	void *arg;
};

struct loop_timer {
	uint64_t due_ms;
	bool dead;
	loop_fn fn;
	void *arg;
	struct loop_timer *next;
};

struct loop_hook {
	loop_turn_fn fn; /* NULL: removed */
	void *arg;
};

struct loop {
	struct loop_fd **watches;
	struct pollfd *polls; /* same order as watches, one ahead: the pipe */
	size_t n, cap;
	struct loop_timer *timers; /* by due time */
	struct loop_hook *hooks;
	size_t hook_count;
	bool stop, sweep, again;
	struct {
		loop_signal_fn fn;
		void *arg;
	} signals[SIGNAL_COUNT];
};

/* What a signal handler may touch. */
static int wake_pipe[2] = { -1, -1 };
static volatile sig_atomic_t arrived[SIGNAL_COUNT];

static void
on_signal(int signo)
{
	int saved = errno;

	arrived[signo] = 1;
	(void)!write(wake_pipe[1], "", 1);
	errno = saved;
}

static volatile sig_atomic_t exit_status;

static void
on_exit_signal(int signo)
{
	(void)signo;
	_exit(exit_status);
}

int
loop_exit_on_signal(int signo, int status)
{
	struct sigaction sa = { .sa_handler = on_exit_signal }, old;

	exit_status = status;
	sigemptyset(&sa.sa_mask);
	if (sigaction(signo, NULL, &old) == -1)
		return ERR_SYSTEM;
	if (old.sa_handler == SIG_IGN)
		return 0;
	return sigaction(signo, &sa, NULL) == -1 ? ERR_SYSTEM : 0;
}

struct loop *
loop_new(void)
{
	struct loop *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	ENSURE(wake_pipe[0] == -1);
	if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) == -1) {
		free(l);
		return NULL;
	}
	return l;
}

void
loop_free(struct loop *l)
{
	struct loop_timer *t;

	if (l == NULL)
		return;
	for (int i = 1; i < SIGNAL_COUNT; i++)
		if (l->signals[i].fn != NULL)
			(void)!loop_on_signal(l, i, NULL, NULL);
	for (size_t i = 0; i < l->n; i++)
		free(l->watches[i]);
	free(l->watches);
	free(l->polls);
	free(l->hooks);
	while ((t = l->timers) != NULL) {
		l->timers = t->next;
		free(t);
	}
	fd_close(&wake_pipe[0]);
	fd_close(&wake_pipe[1]);
	free(l);
}

static bool
make_room(struct loop *l)
{
	size_t cap = l->cap > 0 ? l->cap * 2 : 8;
	struct loop_fd **watches;
	struct pollfd *polls;

	if (l->n < l->cap)
		return true;
	watches = reallocarray(l->watches, cap, sizeof *watches);
	if (watches == NULL)
		return false;
	l->watches = watches;
	polls = reallocarray(l->polls, cap + 1, sizeof *polls);
	if (polls == NULL)
		return false;
	l->polls = polls;
	l->cap = cap;
	return true;
}

struct loop_fd *
loop_watch(struct loop *l, int fd, int events, loop_fd_fn fn, void *arg)
{
	struct loop_fd *w;

	if (!make_room(l) || (w = calloc(1, sizeof *w)) == NULL)
		return NULL;
	*w = (struct loop_fd){
		.fd = fd, .events = events, .fn = fn, .arg = arg
	};
	l->watches[l->n++] = w;
	return w;
}

void
loop_fd_want(struct loop_fd *w, int events)
{
	w->events = events;
}

void
loop_unwatch(struct loop *l, struct loop_fd *w)
{
	if (w == NULL)
		return;
	w->dead = true;
	w->events = 0;
	l->sweep = true;
}

struct loop_timer *
loop_after(struct loop *l, uint64_t delay_ms, loop_fn fn, void *arg)
{
	struct loop_timer *t = calloc(1, sizeof *t), **at;

	if (t == NULL)
		return NULL;
	t->due_ms = clock_ms() + delay_ms;
	t->fn = fn;
	t->arg = arg;
	for (at = &l->timers; *at != NULL && (*at)->due_ms <= t->due_ms;)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	return t;
}

void
loop_cancel(struct loop *l, struct loop_timer *t)
{
	struct loop_timer **at;

	if (t == NULL)
		return;
	for (at = &l->timers; *at != NULL; at = &(*at)->next) {
		if (*at == t) {
			*at = t->next;
			free(t);
			return;
		}
	}
}

static bool
asks_to_end(int signo)
{
	return signo == SIGHUP || signo == SIGINT || signo == SIGQUIT ||
	    signo == SIGTERM;
}

int
loop_on_signal(struct loop *l, int signo, loop_signal_fn fn, void *arg)
{
	struct sigaction sa;

	ENSURE(signo > 0 && signo < SIGNAL_COUNT);
	l->signals[signo].fn = fn;
	l->signals[signo].arg = arg;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = fn != NULL ? on_signal : SIG_DFL;
	sa.sa_flags = SA_RESTART;
	sigemptyset(&sa.sa_mask);
	if (sigaction(signo, &sa, NULL) == -1)
		return ERR_SYSTEM;
	if (fn == NULL && arrived[signo]) {
		arrived[signo] = 0;
		if (asks_to_end(signo))
			(void)raise(signo);
	}
	return 0;
}

int
loop_on_turn(struct loop *l, loop_turn_fn fn, void *arg)
{
	struct loop_hook *grown = reallocarray(l->hooks, l->hook_count + 1,
	    sizeof *grown);

	if (grown == NULL)
		return ERR_NOMEM;
	l->hooks = grown;
	l->hooks[l->hook_count++] = (struct loop_hook){ fn, arg };
	return 0;
}

void
loop_off_turn(struct loop *l, loop_turn_fn fn, void *arg)
{
	for (size_t i = 0; i < l->hook_count; i++)
		if (l->hooks[i].fn == fn && l->hooks[i].arg == arg)
			l->hooks[i].fn = NULL;
	l->sweep = true;
}

void
loop_stop(struct loop *l)
{
	l->stop = true;
}

void
loop_wake(struct loop *l)
{
	(void)l;
	(void)!write(wake_pipe[1], "", 1);
}

void
loop_again(struct loop *l)
{
	l->again = true;
}

static void
sweep(struct loop *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->watches[i]->dead)
			free(l->watches[i]);
		else
			l->watches[kept++] = l->watches[i];
	}
	l->n = kept;
	kept = 0;
	for (size_t i = 0; i < l->hook_count; i++)
		if (l->hooks[i].fn != NULL)
			l->hooks[kept++] = l->hooks[i];
	l->hook_count = kept;
	l->sweep = false;
}

/* By index: a hook may add one, and so move them. */
static bool
run_hooks(struct loop *l)
{
	bool busy = false;

	l->again = false;
	for (size_t i = 0; i < l->hook_count; i++) {
		struct loop_hook h = l->hooks[i];

		if (h.fn != NULL && h.fn(h.arg))
			busy = true;
	}
	return busy || l->again;
}

static int
wait_ms(const struct loop *l, bool busy, int max_wait_ms)
{
	uint64_t now, left;

	if (busy || l->stop)
		return 0;
	if (l->timers != NULL) {
		now = clock_ms();
		left = l->timers->due_ms > now ? l->timers->due_ms - now : 0;
		left = MIN(left, (uint64_t)WAIT_MAX_MS);
		if (max_wait_ms < 0 || left < (uint64_t)max_wait_ms)
			return (int)left;
	}
	return max_wait_ms;
}

static void
dispatch_signals(struct loop *l)
{
	uint8_t drain[64];

	while (read(wake_pipe[0], drain, sizeof drain) > 0)
		;
	for (int i = 1; i < SIGNAL_COUNT; i++) {
		if (!arrived[i])
			continue;
		arrived[i] = 0;
		if (l->signals[i].fn != NULL)
			l->signals[i].fn(l->signals[i].arg, i);
	}
}

static void
dispatch_timers(struct loop *l)
{
	uint64_t now = clock_ms();
	struct loop_timer *t;

	while ((t = l->timers) != NULL && t->due_ms <= now) {
		l->timers = t->next;
		loop_fn fn = t->fn;
		void *arg = t->arg;
		free(t);
		fn(arg);
	}
}

static void
dispatch_fds(struct loop *l, size_t polled)
{
	for (size_t i = 0; i < polled; i++) {
		struct loop_fd *w = l->watches[i];
		short got = l->polls[i + 1].revents;
		int events = 0;

		if (got & (POLLERR | POLLHUP | POLLNVAL))
			events = LOOP_READ | LOOP_WRITE;
		if (got & POLLIN)
			events |= LOOP_READ;
		if (got & POLLOUT)
			events |= LOOP_WRITE;
		events &= w->events; /* may have changed in this turn */
		if (events != 0 && !w->dead)
			w->fn(w->arg, w->fd, events);
	}
}

int
loop_turn(struct loop *l, int max_wait_ms)
{
	bool busy = run_hooks(l);
	size_t polled;
	int r;

	if (l->sweep)
		sweep(l);
	if (!make_room(l))
		return ERR_NOMEM;
	polled = l->n;
	l->polls[0] = (struct pollfd){ .fd = wake_pipe[0], .events = POLLIN };
	for (size_t i = 0; i < polled; i++) {
		const struct loop_fd *w = l->watches[i];

		l->polls[i + 1] = (struct pollfd){
			.fd = w->events != 0 ? w->fd : -1,
			.events = (short)((w->events & LOOP_READ ? POLLIN : 0) |
			    (w->events & LOOP_WRITE ? POLLOUT : 0)),
		};
	}
	r = poll(l->polls, polled + 1, wait_ms(l, busy, max_wait_ms));
	if (r == -1 && errno != EINTR && errno != EAGAIN)
		return ERR_SYSTEM;
	if (r == -1 || l->polls[0].revents != 0)
		dispatch_signals(l);
	if (r > 0)
		dispatch_fds(l, polled);
	dispatch_timers(l);
	return 0;
}

int
loop_run(struct loop *l)
{
	int r = 0;

	l->stop = false;
	while (!l->stop && r == 0)
		r = loop_turn(l, -1);
	return r;
}
