/* SPDX-License-Identifier: ISC */
/*
 * What a socket, or standard input, has before the channel for it is open goes
 * early, once, where the peer takes it (channels.h): it need not wait for a
 * round trip. What there is more waits for the channel.
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
	struct loop_fd *watch; /* NULL: it does not look any more */
};

/* All borrowed; fd is read from when it has something. The struct stays where
 * it is until end(), which comes before anything else reads from fd. */
void early_data_begin(struct early_data *e, struct loop *l, int fd,
    struct channel *c);
void early_data_end(struct early_data *e);

#endif
