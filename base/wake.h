/* SPDX-License-Identifier: ISC */
/*
 * How a worker thread wakes a loop that waits for descriptors: by a descriptor
 * that the loop waits for as well, an eventfd where the system has these, else
 * a pipe.
 *
 * Threads: any may call wake_up(), the loop's all others.
 */
#ifndef HPN_BASE_WAKE_H
#define HPN_BASE_WAKE_H

#include "base/err.h"

struct wake {
	int fd;	/* the loop waits for it; -1: closed */
	int to;	/* the end that wake_up() writes to; may be fd itself */
};

#define WAKE_CLOSED { .fd = -1, .to = -1 }

int wake_open(struct wake *w) must_check;
/* Closes w, which may be closed already. */
void wake_close(struct wake *w);
void wake_up(const struct wake *w);
/* The loop has noticed that w->fd is ready: empties it, however often wake_up()
 * was called. */
void wake_seen(const struct wake *w);

#endif
