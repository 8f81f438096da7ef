/* SPDX-License-Identifier: ISC */
/*
 * Channels of another process, the owner, on our connection. The owner speaks
 * the connection protocol itself, with channel numbers of its own. Its messages
 * and the peer's are passed on with the numbers replaced: the peer sees
 * channels with our numbers like all others, and the owner sees our numbers as
 * the peer's.
 *
 * DESIGN. An owner is not trusted to keep to the protocol: the peer would end
 * the connection, which others use too. So a message of an owner is passed on
 * only if the peer has to accept it: it has the form of its type, is for an
 * open channel of this owner, and is within the peer's window. The content of
 * channel requests is not checked.
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
	FOREIGN_CHANNELS_MAX = 1024, /* channels of one owner */
	/* Channels of all owners, with those whose owner has gone. The rest of
	 * CHANNELS_MAX is for our own channels. */
	FOREIGN_CHANNELS_MAX_ALL = CHANNELS_MAX / 2,
	/* Ports that the peer listens on for one owner. */
	FOREIGN_LISTENS_MAX = 64,
	FOREIGN_LISTENS_MAX_ALL = 256,
	/* Bytes of an owner's message, with its type. */
	FOREIGN_MESSAGE_MAX = 255 * 1024,
};

struct foreign;

struct foreign_hooks {
	void *arg;
	/* Sends a message to the owner; it is borrowed. The hook must not free
	 * the owner. */
	void (*message)(void *arg, const struct buf *message);
};

int foreign_new(struct foreign **out, struct channels *chs,
    const struct foreign_hooks *hooks) must_check;
/* The owner goes: its channels are closed, and the ports that the peer listens
 * on for it are cancelled. What the peer still sends for them is thrown away.
 * NULL is fine. */
void foreign_free(struct foreign *f);
/* Handles a message of the owner. After an error no more of its messages may be
 * handled. ERR_DENIED: a global request that only we may make. */
int foreign_input(struct foreign *f, struct rd message) must_check;
/* The connection can take more messages of owners now, and still has room for
 * those of our own channels. */
bool foreign_has_room(const struct foreign *f);

#endif
