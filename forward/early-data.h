/* SPDX-License-Identifier: ISC */
/*
 * Early data: bytes that a socket or standard input has while the channel for
 * it is not open yet. If the peer takes early messages (channels.h), a first
 * piece is sent at once, and saves a round trip. The rest waits until the
 * channel is open.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_FORWARD_EARLY_DATA_H
#define HPN_FORWARD_EARLY_DATA_H

#include "base/loop.h"
#include "channels.h"

struct early_data {
	struct loop *loop;
	struct channel *channel;
	struct loop_fd *watch; /* NULL: fd is not watched, or not any more */
};

/* Watches fd, and sends once what it has to c. All is borrowed. *e must not be
 * moved before early_data_end(), which has to be called before anything else
 * reads from fd. */
void early_data_begin(struct early_data *e, struct loop *l, int fd,
    struct channel *c);
void early_data_end(struct early_data *e);

#endif
