/* SPDX-License-Identifier: ISC */
/*
 * The rate at which channels may move data, in each direction. Channels that
 * are interactive (channel_set_interactive()) are not held back. Out: a channel
 * sends nothing while there is no room; the peer's keystrokes and our answers
 * to them pass. In: the peer gets its window back no faster than this, so what
 * was offered before may still come at once.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_RATE_H
#define HPN_CHANNELS_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bucket.h"

struct channels;

enum channels_way { CHANNELS_OUT, CHANNELS_IN, CHANNELS_WAYS };

/* bytes_per_s: BUCKET_NO_LIMIT is none, as at first. */
void channels_set_rate(struct channels *chs, enum channels_way way,
    uint64_t bytes_per_s);

/* What channels that are not interactive have moved since this was asked last,
 * and whether a rate has held them back. */
struct channels_moved {
	uint64_t bytes[CHANNELS_WAYS];
	bool held[CHANNELS_WAYS];
};
struct channels_moved channels_take_moved(struct channels *chs);
/* Calls fn once, when such a channel moves data next. NULL: nothing is
 * called. */
void channels_on_move(struct channels *chs, void (*fn)(void *arg), void *arg);

#endif
