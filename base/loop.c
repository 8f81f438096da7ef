/* SPDX-License-Identifier: ISC */
/*
 * The time for a turn depends on how many descriptors are ready, not on how
 * many are watched. Several watches may be for one descriptor: the kernel is
 * told what they want together. A watch that is removed inside a callback is
 * only marked; the sweep at the end of the turn frees it.
 */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/ready.h"
#include "compat/bsd-mem.h"
#include "compat/sock.h"

enum { SIGNAL_COUNT = 65, WAIT_MAX_MS = 60 * 1000, READY_MAX = 256 };

struct loop_fd {
	struct loop *loop;
	int fd, events;
	bool dead;
	uint64_t turn; /* in which the watch was made */
	loop_fd_fn fn;
	void *arg;
	struct loop_fd *next;	   /* another watch of the descriptor */
	struct loop_fd *next_dead; /* in the list of watches to free */
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
	struct ready_set *ready;
	struct loop_fd **by_fd; /* the first watch of each descriptor */
	size_t cap;		/* length of by_fd */
	struct loop_fd *dead;
	uint64_t turn;
	struct loop_timer *timers; /* by due time */
	struct loop_hook *hooks;
	size_t hook_count;
	bool stop, sweep, again;
	struct {
		loop_signal_fn fn;
		void *arg;
	} signals[SIGNAL_COUNT];
};

/* The variables that a signal handler may touch. */
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

static struct loop *
new_loop(bool portable)
{
	struct loop *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	ENSURE(wake_pipe[0] == -1);
	if (sock_pipe(wake_pipe, SOCK_AT_ONCE) == -1) {
		free(l);
		return NULL;
	}
	if (ready_new(&l->ready, portable) != 0 ||
	    ready_want(l->ready, wake_pipe[0], READY_READ, true) != 0) {
		loop_free(l);
		return NULL;
	}
	return l;
}

struct loop *
loop_new(void)
{
	return new_loop(false);
}

struct loop *
loop_new_portable(void)
{
	return new_loop(true);
}

static void
free_dead(struct loop *l)
{
	struct loop_fd *w, **at;

	while ((w = l->dead) != NULL) {
		l->dead = w->next_dead;
		for (at = &l->by_fd[w->fd]; *at != w; at = &(*at)->next)
			;
		*at = w->next;
		free(w);
	}
}

void
loop_free(struct loop *l)
{
	struct loop_timer *t;
	struct loop_fd *w;

	if (l == NULL)
		return;
	for (int i = 1; i < SIGNAL_COUNT; i++)
		if (l->signals[i].fn != NULL)
			(void)!loop_on_signal(l, i, NULL, NULL);
	for (size_t i = 0; i < l->cap; i++) {
		while ((w = l->by_fd[i]) != NULL) {
			l->by_fd[i] = w->next;
			free(w);
		}
	}
	free(l->by_fd);
	ready_free(l->ready);
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
make_room(struct loop *l, int fd)
{
	size_t cap = l->cap > 0 ? l->cap : 64;
	struct loop_fd **v;

	if ((size_t)fd < l->cap)
		return true;
	while (cap <= (size_t)fd)
		cap *= 2;
	v = recallocarray(l->by_fd, l->cap, cap, sizeof *v);
	if (v == NULL)
		return false;
	l->by_fd = v;
	l->cap = cap;
	return true;
}

/* The events that all watches of a descriptor want together. */
static int
wanted(const struct loop *l, int fd)
{
	int events = 0;

	for (const struct loop_fd *w = l->by_fd[fd]; w != NULL; w = w->next)
		events |= w->events;
	return events;
}

struct loop_fd *
loop_watch(struct loop *l, int fd, int events, loop_fd_fn fn, void *arg)
{
	struct loop_fd *w, **at;

	ENSURE(fd >= 0);
	if (!make_room(l, fd) || (w = calloc(1, sizeof *w)) == NULL)
		return NULL;
	*w = (struct loop_fd){ .loop = l, .fd = fd, .events = events,
		.turn = l->turn, .fn = fn, .arg = arg };
	if (ready_want(l->ready, fd, wanted(l, fd) | events, true) != 0) {
		free(w);
		return NULL;
	}
	for (at = &l->by_fd[fd]; *at != NULL; at = &(*at)->next)
		;
	*at = w;
	return w;
}

/* Tells the kernel what is wanted. It cannot fail, as there has been memory for
 * the descriptor since its watch was made. */
static void
tell_wanted(struct loop *l, int fd)
{
	ENSURE(ready_want(l->ready, fd, wanted(l, fd), false) == 0);
}

void
loop_fd_want(struct loop_fd *w, int events)
{
	if (w->events == events || w->dead)
		return;
	w->events = events;
	tell_wanted(w->loop, w->fd);
}

void
loop_unwatch(struct loop *l, struct loop_fd *w)
{
	if (w == NULL || w->dead)
		return;
	w->dead = true;
	w->events = 0;
	w->next_dead = l->dead;
	l->dead = w;
	if (wanted(l, w->fd) != 0)
		tell_wanted(l, w->fd);
	else
		ready_forget(l->ready, w->fd);
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

void
loop_on_signal_if_wanted(struct loop *l, int signo, loop_signal_fn fn,
    void *arg)
{
	struct sigaction old;

	if (sigaction(signo, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	if (loop_on_signal(l, signo, fn, arg) != 0)
		log_debug("signal %d: %s", signo, err_text(ERR_SYSTEM));
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
sweep_hooks(struct loop *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->hook_count; i++)
		if (l->hooks[i].fn != NULL)
			l->hooks[kept++] = l->hooks[i];
	l->hook_count = kept;
	l->sweep = false;
}

/* Runs hooks by index, because a hook may add another and so move the array. */
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

void
loop_take_signals(struct loop *l)
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

/* Calls the watches of ready descriptors. Watches made in this turn are left
 * out: nobody has asked yet whether they are ready. */
static void
dispatch_fds(struct loop *l, const struct ready *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (struct loop_fd *w = l->by_fd[v[i].fd]; w != NULL;
		    w = w->next) {
			int events = v[i].events & w->events;

			if (events != 0 && !w->dead && w->turn != l->turn)
				w->fn(w->arg, w->fd, events);
		}
	}
}

/* Calls the functions for signals first, then those for descriptors. */
static void
dispatch(struct loop *l, struct ready *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].fd == wake_pipe[0]) {
			v[i] = v[--n];
			loop_take_signals(l);
			break;
		}
	}
	dispatch_fds(l, v, n);
}

int
loop_turn(struct loop *l, int max_wait_ms)
{
	bool busy = run_hooks(l);
	struct ready v[READY_MAX];
	int n;

	if (l->sweep)
		sweep_hooks(l);
	free_dead(l);
	n = ready_wait(l->ready, v, READY_MAX, wait_ms(l, busy, max_wait_ms));
	if (n < 0)
		return n;
	l->turn++;
	dispatch(l, v, (size_t)n);
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
