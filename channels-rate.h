/* SPDX-License-Identifier: ISC */
/*
 * The rate at which channels may move data, in each direction. Out: a channel
 * sends nothing while there is no room. In: the peer gets window no faster than
 * this, also the first one of a channel, but for CHANNELS_RATE_FIRST bytes.
 *
 * Channels that are interactive (channel_set_interactive()) move
 * CHANNELS_RATE_CALM beside the rate, all of a connection together: so keys and
 * what they show pass while bulk has used up the rate. What goes through a
 * terminal beyond that is bulk, and counts as such.
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
	CHANNELS_RATE_CALM = 64 * 1024, /* bytes a second, in each direction */
	CHANNELS_RATE_FIRST = 4 * 1024,
};

enum channels_way { CHANNELS_OUT, CHANNELS_IN, CHANNELS_WAYS };

/* bytes_per_s: BUCKET_NO_LIMIT is none, as at first. */
void channels_set_rate(struct channels *chs, enum channels_way way,
    uint64_t bytes_per_s);

/* Bytes that count for the rate and were moved since this was asked last, and
 * whether the rate has held some back. */
struct channels_moved {
	uint64_t bytes[CHANNELS_WAYS];
	bool held[CHANNELS_WAYS];
};
struct channels_moved channels_take_moved(struct channels *chs);
/* Calls fn once, when such data moves next. NULL: nothing is called. */
void channels_on_move(struct channels *chs, void (*fn)(void *arg), void *arg);

#endif
