/* SPDX-License-Identifier: ISC */
/*
 * Raw channels: nothing of the peer's messages for them is acted upon here.
 * They are handed to whoever has the channel, as one that passes them on to
 * another process. Number, type and life are those of any channel; windows,
 * replies and the order of closing are its owner's.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_RAW_H
#define HPN_CHANNELS_RAW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "channels.h"

struct channel_raw_ops {
	/* The peer's message; r is behind its type, so our number of the
	 * channel is first. An error ends the connection, as in early(). */
	int (*input)(void *arg, struct channel *c, uint8_t type, struct rd r);
	/* Data that the peer has sent before it knew that number
	 * (docs/ROUND-TRIPS.md). */
	int (*early)(void *arg, struct channel *c, struct span data);
	/* The last call: it is freed, or the connection is lost. */
	void (*freed)(void *arg);
};

/* A new channel. ops is borrowed. The OPEN is sent by the caller. ERR_LIMIT:
 * there are too many. */
int channel_new_raw(struct channel **out, struct channels *chs,
    const char *type, const struct channel_raw_ops *ops,
    void *arg) must_check;
/* The channel is confirmed, when the peer has answered with its number. */
void channel_confirm_raw(struct channel *c, uint32_t peer_number);
/* No message follows in either direction; freed() is called in this turn. */
void channel_end_raw(struct channel *c);
/* The raw channel that the message of this type is for; r is behind the type.
 * NULL: it is for none. */
struct channel *channels_find_raw(const struct channels *chs, uint8_t type,
    struct rd r);
/* The first one whose number is *number or more; *number is set to the one
 * behind it. NULL: there is none. */
struct channel *channels_next_raw(const struct channels *chs,
    uint32_t *number);
/* The arg that the channel was made with. */
void *channel_raw_arg(const struct channel *c);
/* A whole message for the peer; b is cleared. */
int channels_send_raw(struct channels *chs, struct buf *b) must_check;
/* More can go out now. */
bool channels_have_room(const struct channels *chs);

/* The operations that are asked about the peer's OPENs, in front of all
 * handlers of types. */
struct channels_raw_ops {
	/* r is what the type has of its own. CHANNEL_SUCCESS: c was made raw,
	 * or refused; CHANNEL_FAILURE: the handlers are asked. An error ends
	 * the connection. */
	int (*offer)(void *arg, struct channel *c, const char *type,
	    struct rd r);
	/* The channels are freed. */
	void (*freed)(void *arg);
};
/* The operations are set, one at a time; ops is borrowed. */
void channels_set_raw(struct channels *chs,
    const struct channels_raw_ops *ops, void *arg);
/* The arg that was set; NULL: nothing. */
void *channels_raw_arg(const struct channels *chs);
/* The channel is taken, in offer(). ops is borrowed. */
void channel_make_raw(struct channel *c, const struct channel_raw_ops *ops,
    void *arg);
/* What the peer's OPEN says. */
struct channel_raw_open {
	uint32_t number, window, max_packet;
};
struct channel_raw_open channel_raw_open(const struct channel *c);

#endif
