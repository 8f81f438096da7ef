/* SPDX-License-Identifier: ISC */
/*
 * Which of many descriptors are ready: epoll(7) where there is one, so that
 * those with nothing to do cost nothing, and poll(2) elsewhere. What the two do
 * differently is hidden here: files that epoll(7) refuses are always ready, as
 * poll(2) says of them, and a child of fork(2) that goes on gets a set of its
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
	int events; /* those of the wanted ones; hang-up and error are all */
};

/* portable: poll(2) in any case. ERR_NOMEM, ERR_SYSTEM. */
int ready_new(struct ready_set **out, bool portable) must_check;
void ready_free(struct ready_set *s);

/* From now on these events of fd are wanted, and no others. fresh: it may be
 * another file than it was. ERR_NOMEM only for a descriptor that was never
 * named before. Takes effect when the set is waited for. */
int ready_want(struct ready_set *s, int fd, int events, bool fresh) must_check;
/* Nothing of fd is wanted any more, at once: it is about to be closed. */
void ready_forget(struct ready_set *s, int fd);

/* Waits for the first (timeout as for poll(2)): how many of v are filled, or
 * ERR_SYSTEM. What does not find room in v is told the next time. */
int ready_wait(struct ready_set *s, struct ready *v, size_t max,
    int timeout_ms) must_check;

#endif
