/* SPDX-License-Identifier: ISC */
/*
 * Channels that move no data for some time are closed. The time depends on the
 * kind of the channel, by its name, and the caller decides it; here are the
 * clocks only. A channel's clock starts again whenever its source is read or
 * its sink is written. That sets a flag, and takes no look at the time.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_TIMEOUT_H
#define HPN_CHANNELS_TIMEOUT_H

#include <stdint.h>

#include "channels.h"

struct channels_timeouts {
	void *arg;
	/* The timeout of channels of this kind; 0: none. May be NULL. */
	uint32_t (*seconds)(void *arg, const char *kind);
	/* When no channel moved data for so many seconds, all are closed;
	 * 0: never. */
	uint32_t global_s;
};

/* Must be called before the first channel is made. */
void channels_set_timeouts(struct channels *chs,
    const struct channels_timeouts *t);
/* Sets c's kind, by the name that users know ("session:shell",
 * "dynamic-tcpip"). Without this call the kind follows from c's type. */
void channel_set_kind(struct channel *c, const char *kind);

/* Is there a channel that carries data (any), one whose packets are
 * interactive, a session with a terminal (channel_set_interactive() was
 * called)? Open channels carry data, except sessions that have no kind, as they
 * run nothing yet. channels_on_use() calls fn at once, and later in each turn
 * in which one of the three has changed. */
struct channels_use {
	bool any, interactive, terminal;
};
typedef void (*channels_use_fn)(void *arg, struct channels_use now);
void channels_on_use(struct channels *chs, channels_use_fn fn, void *arg);
struct channels_use channels_use(const struct channels *chs);

/* Bytes sent from sources so far: by sessions with a terminal, and by all other
 * channels. */
struct channels_sent {
	uint64_t terminal, other;
};
struct channels_sent channels_sent(const struct channels *chs);

#endif
