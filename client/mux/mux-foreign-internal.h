/* SPDX-License-Identifier: ISC */
/*
 * What the mux-foreign*.c files share: the channels of owners (mux clients that
 * speak the connection protocol themselves), the ports that the peer listens on
 * for owners, and the state that all owners of a connection have in common.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_FOREIGN_INTERNAL_H
#define HPN_CLIENT_MUX_MUX_FOREIGN_INTERNAL_H

#include "client/mux/mux-foreign.h"
#include "compat/queue.h"

enum foreign_stage {
	FOREIGN_ASKED,	 /* the peer has to answer the owner's OPEN */
	FOREIGN_OFFERED, /* the owner has to answer the peer's OPEN */
	FOREIGN_OPEN,
};

enum side { OWNER, PEER, SIDES };

/* The state of one side of a channel. */
struct foreign_side {
	uint32_t number; /* channel number of this side */
	uint32_t window, max_packet;
	/* Its requests that the other side has not answered yet. */
	uint32_t asked;
	bool eof, close;
};

struct foreign_channel {
	struct foreign_all *all;
	struct channel *c;
	struct foreign *owner; /* NULL: the owner has gone */
	enum foreign_stage stage;
	struct foreign_side side[SIDES];
	/* Early data that the owner has not got yet: the peer sent it before it
	 * knew the answer to its OPEN (channels-early.c). eof_waits and
	 * close_waits: the peer's EOF or CLOSE goes to the owner after that
	 * data. */
	struct buf early;
	uint32_t early_sum; /* bytes of early data received so far */
	bool eof_waits, close_waits;
};

/* A port that the peer listens on for an owner, or (stands false) was asked to
 * listen on. */
struct foreign_listen {
	TAILQ_ENTRY(foreign_listen) entry;
	struct foreign_all *all;
	/* NULL: the owner went before the peer answered */
	struct foreign *owner;
	char *host;
	uint32_t port; /* 0: the peer picks the port, and has not told it yet */
	bool wants_reply, stands;
};

/* The state of all owners of a connection. It is freed with chs. */
struct foreign_all {
	struct channels *chs;
	size_t channels, listen_count;
	TAILQ_HEAD(foreign_listens, foreign_listen) listens;
};

struct foreign {
	struct foreign_all *all;
	struct foreign_hooks hooks;
	size_t channels, listens;
};

/* mux-foreign.c. Sends a message to the owner; b is borrowed. */
void foreign_tell_owner(const struct foreign *f, const struct buf *b);

/* mux-foreign-check.c. Checks that a message of one side has the right form and
 * may be sent now, and notes what it changes in the channel. r begins behind
 * the message's channel number. */
int foreign_check(struct foreign_channel *x, enum side from, uint8_t type,
    struct rd *r) must_check;

/* mux-foreign-listen.c. foreign_ask_to_listen() handles an owner's global
 * request; r begins behind the message type. foreign_claim() finds the owner of
 * the port that a channel which the peer opens belongs to; r has the
 * type-specific data of the OPEN; NULL: no owner's. foreign_leave_listens() is
 * called when an owner goes, foreign_clear_listens() when the connection
 * does. */
int foreign_ask_to_listen(struct foreign *f, struct rd r) must_check;
struct foreign *foreign_claim(const struct foreign_all *all,
    const char *type, struct rd r);
void foreign_leave_listens(struct foreign *f);
void foreign_clear_listens(struct foreign_all *all);

#endif
