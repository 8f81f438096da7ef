/* SPDX-License-Identifier: ISC */
/*
 * The set of a kernel that base/ready.c asks: epoll(7) of Linux, kqueue(2) of
 * the BSDs and macOS, or none. Each has a source with these four functions.
 */
#ifndef HPN_BASE_READY_INTERNAL_H
#define HPN_BASE_READY_INTERNAL_H

#include <stdbool.h>

#include "config.h"

/* The way of this build. A test chooses kqueue, and brings it. */
#if defined(READY_TESTS_KQUEUE) || \
	(!defined(HAVE_EPOLL) && defined(HAVE_KQUEUE))
#define READY_BY_KQUEUE
#elif defined(HAVE_EPOLL)
#define READY_BY_EPOLL
#endif

enum { READY_BATCH_MAX = 256 };

/* What the kernel tells of fd. It may tell of reading and writing separately,
 * in two of these. */
struct ready_told {
	int fd;
	bool in, out;
	bool broken; /* the other end is gone, or an error */
};

/* A new set, which no program inherits; -1 with errno. */
int ready_kernel_open(void);
/* ours: this process has made the set, and no fork(2) has happened since. */
void ready_kernel_close(int *set, bool ours);
/* Of fd, the kernel was told that `known` is wanted (READY_*), and is told now
 * that it is `wanted`. The file at fd may be another one by now. -1 with errno:
 * EPERM: there is no waiting for such a file; EBADF: it is closed; all others:
 * the kernel cannot do it. */
int ready_kernel_tell(int set, int fd, int known, int wanted);
/* As poll(2): how many of got are filled; at most READY_BATCH_MAX. */
int ready_kernel_look(int set, struct ready_told *got, int max,
    int timeout_ms);

#endif
