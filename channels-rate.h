/* SPDX-License-Identifier: ISC */
/*
 * Limits the rate at which channels move data, in each direction. Out: a
 * channel sends nothing while its bucket is empty. In: the peer gets window no
 * faster than the rate, also the first window of a channel, except for
 * CHANNELS_RATE_FIRST bytes.
 *
 * Channels that are interactive (channel_set_interactive()) may move
 * CHANNELS_RATE_CALM beside the rate, all of a connection together: so typed
 * keys and their echo pass while bulk uses up the rate. What goes through a
 * terminal beyond that counts as bulk.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_RATE_H
#define HPN_CHANNELS_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bucket.h"

struct channels;

enum {
	CHANNELS_RATE_CALM = 64 * 1024, /* bytes a second, for each direction */
	CHANNELS_RATE_FIRST = 4 * 1024,
};

enum channels_way { CHANNELS_OUT, CHANNELS_IN, CHANNELS_WAYS };

/* Sets a rate; bytes_per_s BUCKET_NO_LIMIT: there is none, as in the
 * beginning. */
void channels_set_rate(struct channels *chs, enum channels_way way,
    uint64_t bytes_per_s);

/* Bytes under the rate that were moved since the last call, and whether the
 * rate has held any back. */
struct channels_moved {
	uint64_t bytes[CHANNELS_WAYS];
	bool held[CHANNELS_WAYS];
};
struct channels_moved channels_take_moved(struct channels *chs);
/* Calls fn once, when data under the rate moves next. fn NULL: nothing is
 * called. */
void channels_on_move(struct channels *chs, void (*fn)(void *arg), void *arg);

#endif
