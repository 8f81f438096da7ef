/* SPDX-License-Identifier: ISC */
/*
 * Channels that carry nothing for some time are closed. Which channel for how
 * long is decided by who asks for it, by the name of the channel's kind; this
 * keeps the clocks. A channel's clock begins again whenever something is read
 * from or written to its local side, which costs a flag and no look at the
 * time.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_TIMEOUT_H
#define HPN_CHANNELS_TIMEOUT_H

#include <stdint.h>

#include "channels.h"

struct channels_timeouts {
	void *arg;
	/* Seconds for a kind; 0: none. */
	uint32_t (*seconds)(void *arg, const char *kind);
	/* When nothing at all was moved for so long, all channels are closed;
	 * 0: never. */
	uint32_t global_s;
};

/* To be called before there are channels. */
void channels_set_timeouts(struct channels *chs,
    const struct channels_timeouts *t);
/* Its kind, as users name it ("session:shell", "dynamic-tcpip"). Without, it
 * follows from the channel's type. */
void channel_set_kind(struct channel *c, const char *kind);

/* Whether there are channels that carry data: all that are open, but sessions
 * only when they have been given a kind, which is when they run something.
 * Whether one of them is interactive; and whether it is one for which
 * channel_set_interactive() was called, a session with a terminal. Called in a
 * turn in which either has changed, and at once with what is now. */
struct channels_use {
	bool any, interactive, terminal;
};
typedef void (*channels_use_fn)(void *arg, struct channels_use now);
void channels_on_use(struct channels *chs, channels_use_fn fn, void *arg);
struct channels_use channels_use(const struct channels *chs);

/* Bytes that were sent from sources so far: of sessions with a terminal, and of
 * all others. */
struct channels_sent {
	uint64_t terminal, other;
};
struct channels_sent channels_sent(const struct channels *chs);

#endif
