/* SPDX-License-Identifier: ISC */
/*
 * Which of many descriptors are ready: by epoll(7) or kqueue(2) where the
 * system has one, so that descriptors with nothing to do cost nothing, else by
 * poll(2). All behave alike here: files that the first two refuse are always
 * ready, as with poll(2), and a child of fork(2) that goes on gets a set of its
 * own in the kernel.
 *
 * Threads: one set belongs to one thread.
 */
#ifndef HPN_BASE_READY_H
#define HPN_BASE_READY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { READY_READ = 1, READY_WRITE = 2 };

struct ready_set;

struct ready {
	int fd;
	/* events that are ready, of those wanted; after a hang-up or an error
	 * all of them */
	int events;
};

/* Makes a set. portable: it uses poll(2) on every system. ERR_NOMEM,
 * ERR_SYSTEM. */
int ready_new(struct ready_set **out, bool portable) must_check;
void ready_free(struct ready_set *s);

/* Sets the events of fd that are wanted, from the next ready_wait() on. fresh:
 * the number may belong to another file than before. ERR_NOMEM is possible only
 * for a number that the set has never seen. */
int ready_want(struct ready_set *s, int fd, int events, bool fresh) must_check;
/* Takes fd out of the set at once, because it is about to be closed. */
void ready_forget(struct ready_set *s, int fd);

/* Waits until a descriptor is ready (timeout as for poll(2)). Returns how many
 * elements of v are filled, or ERR_SYSTEM. Descriptors for which v has no room
 * come with the next call. */
int ready_wait(struct ready_set *s, struct ready *v, size_t max,
    int timeout_ms) must_check;

#endif
