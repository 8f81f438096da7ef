/* SPDX-License-Identifier: ISC */
/*
 * Channels of another process on our connection. It speaks the connection
 * protocol itself, with numbers of its own; its messages and the peer's are
 * handed on with these replaced. To the peer its channels are ours like all
 * others, and to it our numbers are the peer's.
 *
 * DESIGN. What such an owner sends is not trusted to keep to the protocol: the
 * peer would end the connection, which is not the owner's alone. So only what
 * the peer has to accept goes on: on a channel of the owner, which is open, of
 * the form that the message has, within the peer's window. The content of
 * requests is not looked into.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_FOREIGN_H
#define HPN_CLIENT_MUX_MUX_FOREIGN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "channels.h"

enum {
	FOREIGN_CHANNELS_MAX = 1024, /* of an owner */
	/* Of all, with those whose owner has gone: the others are ours. */
	FOREIGN_CHANNELS_MAX_ALL = CHANNELS_MAX / 2,
	FOREIGN_LISTENS_MAX = 64, /* ports that the peer listens on */
	FOREIGN_LISTENS_MAX_ALL = 256,
	FOREIGN_MESSAGE_MAX = 255 * 1024, /* bytes, with the type */
};

struct foreign;

struct foreign_hooks {
	void *arg;
	/* A message for the owner; borrowed. The owner must not be freed in
	 * it. */
	void (*message)(void *arg, const struct buf *message);
};

int foreign_new(struct foreign **out, struct channels *chs,
    const struct foreign_hooks *hooks) must_check;
/* The owner goes: its channels are closed, and what the peer listens on for it
 * is cancelled. What the peer still sends is thrown away. NULL is fine. */
void foreign_free(struct foreign *f);
/* A message of the owner. An error: it is not to be heard any more.
 * ERR_DENIED: a global request that only we may make. */
int foreign_input(struct foreign *f, struct rd message) must_check;
/* More of them can go out now, and leave room for our own channels. */
bool foreign_has_room(const struct foreign *f);

#endif
