/* SPDX-License-Identifier: ISC */
#include "base/ready.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/forkid.h"
#include "base/mem.h"
#include "base/ready-internal.h"
#include "compat/bsd-mem.h"

enum { SLOTS_FIRST = 64 };

/* The state of a descriptor. */
struct slot {
	uint8_t wanted; /* READY_* */
	uint8_t kernel; /* READY_*, as the kernel was told */
	bool changed;	/* the descriptor is in the list of changes */
	bool fresh;	/* tell the kernel even if wanted == kernel */
	bool always;	/* no waiting for such a file: it is always ready */
	bool listed;	/* the descriptor is in the list `always` */
	size_t place;	/* 1 + index of its entry in this turn's answer; 0:
			 * it has none yet */
};

/* The lists `changes` and `always` have room for every slot. */
struct ready_set {
	struct slot *slots; /* by descriptor */
	size_t cap;
	int *changes, *always;
	size_t change_count, always_count;
	size_t first;	/* where to begin if not all ready ones fit */
	int kernel_fd;	/* the kernel's set; -1: poll(2) is used */
	bool stale;	/* the kernel's set has closed descriptors */
	unsigned int fork_id;
	struct pollfd *polls;
	size_t poll_cap;
};

static int
make_slot(struct ready_set *s, int fd)
{
	size_t cap = s->cap > 0 ? s->cap : SLOTS_FIRST;
	struct slot *slots;
	int *list;

	if ((size_t)fd < s->cap)
		return 0;
	while (cap <= (size_t)fd)
		cap *= 2;
	/* s->cap changes only after all arrays have the new size. */
	if ((list = reallocarray(s->changes, cap, sizeof *list)) == NULL)
		return ERR_NOMEM;
	s->changes = list;
	if ((list = reallocarray(s->always, cap, sizeof *list)) == NULL)
		return ERR_NOMEM;
	s->always = list;
	slots = recallocarray(s->slots, s->cap, cap, sizeof *slots);
	if (slots == NULL)
		return ERR_NOMEM;
	s->slots = slots;
	s->cap = cap;
	return 0;
}

static void close_kernel_set(struct ready_set *s);

void
ready_free(struct ready_set *s)
{
	if (s == NULL)
		return;
	close_kernel_set(s);
	free(s->slots);
	free(s->changes);
	free(s->always);
	free(s->polls);
	free(s);
}

static void
note_change(struct ready_set *s, int fd)
{
	struct slot *t = &s->slots[fd];

	if (!t->changed)
		s->changes[s->change_count++] = fd;
	t->changed = true;
}

int
ready_want(struct ready_set *s, int fd, int events, bool fresh)
{
	struct slot *t;
	int r;

	if (fd < 0)
		return 0; /* poll(2) ignores such descriptors as well */
	if ((r = make_slot(s, fd)) != 0)
		return r;
	t = &s->slots[fd];
	t->wanted = (uint8_t)events;
	if (fresh)
		t->fresh = true;
	if (t->wanted != t->kernel || t->fresh)
		note_change(s, fd);
	return 0;
}

/* ---- poll(2) ------------------------------------------------------------ */

static int
events_of(const struct slot *t, bool in, bool out, bool broken)
{
	if (broken)
		return t->wanted;
	return t->wanted & ((in ? READY_READ : 0) | (out ? READY_WRITE : 0));
}

static int
build_polls(struct ready_set *s, size_t *count)
{
	if (s->poll_cap < s->cap) {
		struct pollfd *v = reallocarray(s->polls, s->cap, sizeof *v);

		if (v == NULL)
			return ERR_NOMEM;
		s->polls = v;
		s->poll_cap = s->cap;
	}
	*count = 0;
	for (size_t i = 0; i < s->cap; i++) {
		int wanted = s->slots[i].wanted;

		if (wanted != 0)
			s->polls[(*count)++] = (struct pollfd){ .fd = (int)i,
				.events = (short)
				    ((wanted & READY_READ ? POLLIN : 0) |
				    (wanted & READY_WRITE ? POLLOUT : 0)) };
	}
	return 0;
}

static int
wait_poll(struct ready_set *s, struct ready *v, size_t max, int timeout_ms)
{
	size_t count, n = 0;
	int r;

	if ((r = build_polls(s, &count)) != 0)
		return r;
	r = poll(s->polls, (nfds_t)count, timeout_ms);
	if (r == -1 && errno == EINTR)
		r = poll(s->polls, (nfds_t)count, 0);
	if (r == -1)
		return errno == EINTR || errno == EAGAIN ? 0 : ERR_SYSTEM;
	s->first++;
	for (size_t i = 0; i < count && n < max; i++) {
		const struct pollfd *p = &s->polls[(s->first + i) % count];
		short got = p->revents;
		int events = events_of(&s->slots[p->fd], (got & POLLIN) != 0,
		    (got & POLLOUT) != 0,
		    (got & (POLLERR | POLLHUP | POLLNVAL)) != 0);

		if (events != 0)
			v[n++] = (struct ready){ p->fd, events };
	}
	return (int)n;
}

/* ---- the kernel's set --------------------------------------------------- */

#if defined(READY_BY_EPOLL) || defined(READY_BY_KQUEUE)

/* The kernel's set was made by this process. In a child of fork(2) it is still
 * the parent's. */
static bool
is_ours(const struct ready_set *s)
{
	return s->kernel_fd != -1 && s->fork_id == fork_id();
}

static void
close_kernel_set(struct ready_set *s)
{
	if (s->kernel_fd != -1)
		ready_kernel_close(&s->kernel_fd, is_ours(s));
}

static void
note_always(struct ready_set *s, int fd)
{
	struct slot *t = &s->slots[fd];

	t->always = true;
	if (!t->listed)
		s->always[s->always_count++] = fd;
	t->listed = true;
}

/* Tells the kernel of a change. False: the kernel has no room for more. */
static bool
apply(struct ready_set *s, int fd)
{
	struct slot *t = &s->slots[fd];
	int r;

	if (t->fresh)
		t->always = false;
	if (t->always || (t->wanted == t->kernel && !t->fresh))
		return true;
	t->fresh = false;
	r = ready_kernel_tell(s->kernel_fd, fd, t->kernel, t->wanted);
	t->kernel = r == 0 ? t->wanted : 0;
	if (r == 0)
		return true;
		/* A file or a closed descriptor, which poll(2) calls ready. */
	if (errno != EPERM && errno != EBADF)
		return false;
	note_always(s, fd);
	return true;
}

static bool
apply_changes(struct ready_set *s)
{
	bool fine = true;

	while (s->change_count > 0) {
		int fd = s->changes[--s->change_count];

		s->slots[fd].changed = false;
		fine = apply(s, fd) && fine;
	}
	return fine;
}

/* Makes a new set in the kernel, with all that is wanted now. */
static bool
renew(struct ready_set *s)
{
	close_kernel_set(s);
	s->stale = false;
	s->fork_id = fork_id();
	if ((s->kernel_fd = ready_kernel_open()) == -1)
		return false;
	for (size_t i = 0; i < s->cap; i++) {
		s->slots[i].kernel = 0;
		if (s->slots[i].wanted != 0)
			note_change(s, (int)i);
	}
	return true;
}

/* Puts descriptors that are always ready into at most half of v, so that there
 * is room for the others. */
static size_t
take_always(struct ready_set *s, struct ready *v, size_t max)
{
	size_t kept = 0, n = 0;

	for (size_t i = 0; i < s->always_count; i++) {
		int fd = s->always[i];

		if (s->slots[fd].always)
			s->always[kept++] = fd;
		else
			s->slots[fd].listed = false;
	}
	s->always_count = kept;
	s->first++;
	for (size_t i = 0; i < kept && n < max / 2; i++) {
		int fd = s->always[(s->first + i) % kept];

		if (s->slots[fd].wanted != 0)
			v[n++] = (struct ready){ fd, s->slots[fd].wanted };
	}
	return n;
}

/* Makes the entries of v from what the kernel tells. It may tell twice of a
 * descriptor, which has one entry all the same. */
static size_t
translate(struct ready_set *s, const struct ready_told *got, size_t count,
    struct ready *v)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct slot *t = &s->slots[got[i].fd];
		int events = events_of(t, got[i].in, got[i].out,
		    got[i].broken);

		/* fd was closed here without ready_forget(), and another
		 * process still has it open. */
		if (t->kernel == 0) {
			s->stale = true;
		} else if (events != 0 && t->place != 0) {
			v[t->place - 1].events |= events;
		} else if (events != 0) {
			v[n++] = (struct ready){ got[i].fd, events };
			t->place = n;
		}
	}
	for (size_t i = 0; i < n; i++)
		s->slots[v[i].fd].place = 0;
	return n;
}

static int
wait_kernel(struct ready_set *s, struct ready *v, size_t max, int timeout_ms)
{
	struct ready_told got[READY_BATCH_MAX];
	size_t n = take_always(s, v, max);
	int room = (int)MIN(max - n, (size_t)READY_BATCH_MAX);
	int r = ready_kernel_look(s->kernel_fd, got, room,
	    n > 0 ? 0 : timeout_ms);

	if (r == -1 && errno == EINTR)
		r = ready_kernel_look(s->kernel_fd, got, room, 0);
	if (r == -1 && errno != EINTR)
		return ERR_SYSTEM;
	return (int)(n + translate(s, got, (size_t)MAX(r, 0), v + n));
}

/* Brings the kernel's set up to date. False: there is none, now or any more. */
static bool
kernel_set_is_current(struct ready_set *s)
{
	if (s->kernel_fd == -1)
		return false;
	if ((s->stale || !is_ours(s)) && !renew(s))
		return false;
	if (apply_changes(s))
		return true;
	close_kernel_set(s);
	return false;
}

static void
open_kernel_set(struct ready_set *s)
{
	/* If it fails, poll(2) is used. */
	(void)renew(s);
}

static void
forget_in_kernel(struct ready_set *s, int fd)
{
	if (is_ours(s) && s->slots[fd].kernel != 0)
		(void)ready_kernel_tell(s->kernel_fd, fd, s->slots[fd].kernel,
		    0);
}

#else

static void
close_kernel_set(struct ready_set *s)
{
	(void)s;
}

static bool
kernel_set_is_current(struct ready_set *s)
{
	(void)s;
	return false;
}

static int
wait_kernel(struct ready_set *s, struct ready *v, size_t max, int timeout_ms)
{
	return wait_poll(s, v, max, timeout_ms);
}

static void
open_kernel_set(struct ready_set *s)
{
	(void)s;
}

static void
forget_in_kernel(struct ready_set *s, int fd)
{
	(void)s;
	(void)fd;
}

#endif

/* ---- both --------------------------------------------------------------- */

int
ready_new(struct ready_set **out, bool portable)
{
	struct ready_set *s = calloc(1, sizeof *s);

	if (s == NULL)
		return ERR_NOMEM;
	s->kernel_fd = -1;
	if (!portable)
		open_kernel_set(s);
	*out = s;
	return 0;
}

void
ready_forget(struct ready_set *s, int fd)
{
	if (fd < 0 || (size_t)fd >= s->cap)
		return;
	forget_in_kernel(s, fd);
	s->slots[fd].wanted = 0;
	s->slots[fd].kernel = 0;
	s->slots[fd].always = false;
	s->slots[fd].fresh = false;
}

int
ready_wait(struct ready_set *s, struct ready *v, size_t max, int timeout_ms)
{
	ENSURE(max > 1);
	if (kernel_set_is_current(s))
		return wait_kernel(s, v, max, timeout_ms);
	/* poll(2) needs no list of changes, which must not grow for ever. */
	while (s->change_count > 0)
		s->slots[s->changes[--s->change_count]].changed = false;
	return wait_poll(s, v, max, timeout_ms);
}
