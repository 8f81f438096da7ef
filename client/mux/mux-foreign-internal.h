/* SPDX-License-Identifier: ISC */
/*
 * What the mux-foreign*.c files share: the channels of owners, the ports that
 * the peer listens on for them, and what all owners of a connection have
 * together.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_FOREIGN_INTERNAL_H
#define HPN_CLIENT_MUX_MUX_FOREIGN_INTERNAL_H

#include "client/mux/mux-foreign.h"

enum foreign_stage {
	FOREIGN_ASKED,	 /* the owner's OPEN is with the peer */
	FOREIGN_OFFERED, /* the peer's OPEN is with the owner */
	FOREIGN_OPEN,
};

enum side { OWNER, PEER, SIDES };

/* What one side has sent, and may send. */
struct foreign_side {
	uint32_t number; /* that it has given the channel */
	uint32_t window, max_packet;
	uint32_t asked; /* requests that the other side has to answer */
	bool eof, close;
};

struct foreign_channel {
	struct foreign_all *all;
	struct channel *c;
	struct foreign *owner; /* NULL: it has gone */
	enum foreign_stage stage;
	struct foreign_side side[SIDES];
	/* The peer's data from before the owner's answer (channels-early.c),
	 * as far as the owner has not got it; and what follows it. */
	struct buf early;
	uint32_t early_sum; /* bytes of it that came */
	bool eof_waits, close_waits;
};

/* A port that the peer listens on for an owner, or was asked to. */
struct foreign_listen {
	struct foreign_listen *next;
	struct foreign_all *all;
	struct foreign *owner; /* NULL: it has gone before the answer */
	char *host;
	uint32_t port; /* 0: the peer picks one, and has not told it yet */
	bool wants_reply, stands;
};

/* The state of all owners of a connection; it goes with the channels. */
struct foreign_all {
	struct channels *chs;
	size_t channels, listen_count;
	struct foreign_listen *listens;
};

struct foreign {
	struct foreign_all *all;
	struct foreign_hooks hooks;
	size_t channels, listens;
};

/* mux-foreign.c. b is borrowed. */
void foreign_tell_owner(const struct foreign *f, const struct buf *b);

/* mux-foreign-check.c. A side's message for the channel; r is behind the
 * number. Is it of the right form, and allowed now? Notes what it changes. */
int foreign_check(struct foreign_channel *x, enum side from, uint8_t type,
    struct rd *r) must_check;

/* mux-foreign-listen.c. ask: the owner's global request; r is behind its type.
 * claim: whose is what has come to a port; r is what the type of channel has;
 * NULL: nobody's. leave: the owner goes. clear: the connection does. */
int foreign_ask_to_listen(struct foreign *f, struct rd r) must_check;
struct foreign *foreign_claim(const struct foreign_all *all,
    const char *type, struct rd r);
void foreign_leave_listens(struct foreign *f);
void foreign_clear_listens(struct foreign_all *all);

#endif
