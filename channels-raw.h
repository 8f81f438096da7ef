/* SPDX-License-Identifier: ISC */
/*
 * Raw channels: the peer's messages for a raw channel are not acted upon here,
 * but given to the channel's owner, which may pass them on to another process.
 * A raw channel has a number, a type and a life as other channels do. Its owner
 * takes care of windows, replies and the order of closing.
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
	/* A message from the peer. r begins behind the message's type, with our
	 * number of the channel. An error ends the connection. */
	int (*input)(void *arg, struct channel *c, uint8_t type, struct rd r);
	/* Data that the peer sent before it knew our number of the channel
	 * (docs/ROUND-TRIPS.md). An error ends the connection. */
	int (*early)(void *arg, struct channel *c, struct span data);
	/* c is freed, or the connection is lost: no more calls follow. */
	void (*freed)(void *arg);
};

/* Makes a raw channel; its OPEN is then sent by the caller. ops is borrowed.
 * ERR_LIMIT: the connection has too many channels. */
int channel_new_raw(struct channel **out, struct channels *chs,
    const char *type, const struct channel_raw_ops *ops,
    void *arg) must_check;
/* The peer has confirmed c's OPEN, and has given it this number. */
void channel_confirm_raw(struct channel *c, uint32_t peer_number);
/* c has ended in both directions; its freed() is called in this turn. */
void channel_end_raw(struct channel *c);
/* The raw channel that a message is for, or NULL. r begins behind the message's
 * type. */
struct channel *channels_find_raw(const struct channels *chs, uint8_t type,
    struct rd r);
/* To walk over all raw channels: returns the first whose number is *number or
 * higher, and sets *number to the one to go on with. NULL: there are no
 * more. */
struct channel *channels_next_raw(const struct channels *chs,
    uint32_t *number);
/* The arg that was given when c was made raw. */
void *channel_raw_arg(const struct channel *c);
/* Sends b, a complete message, to the peer; b is cleared. */
int channels_send_raw(struct channels *chs, struct buf *b) must_check;
/* The output has room for messages of raw channels: packet_has_room(). */
bool channels_have_room(const struct channels *chs);

/* These operations are asked about each OPEN of the peer, before the handler of
 * its type is. */
struct channels_raw_ops {
	/* r holds the fields of OPEN that only this type has. CHANNEL_SUCCESS:
	 * c was made raw, or was refused. CHANNEL_FAILURE: the type's handler
	 * is to decide. An error ends the connection. */
	int (*offer)(void *arg, struct channel *c, const char *type,
	    struct rd r);
	/* The struct channels is freed: no more calls follow. */
	void (*freed)(void *arg);
};
/* Sets the operations, in place of earlier ones; ops is borrowed. */
void channels_set_raw(struct channels *chs,
    const struct channels_raw_ops *ops, void *arg);
/* The arg that channels_set_raw() was given; NULL: no operations are set. */
void *channels_raw_arg(const struct channels *chs);
/* Called in offer(): c becomes a raw channel. ops is borrowed. */
void channel_make_raw(struct channel *c, const struct channel_raw_ops *ops,
    void *arg);
/* What the peer's OPEN for a channel says. */
struct channel_raw_open {
	uint32_t number, window, max_packet;
};
struct channel_raw_open channel_raw_open(const struct channel *c);

#endif
