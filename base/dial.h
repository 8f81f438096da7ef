/* SPDX-License-Identifier: ISC */
/*
 * Connecting to the first of several addresses that answers: attempts are
 * started one after the other without waiting for each to fail (RFC 8305;
 * when is in base/dial-plan.h), the first that connects wins, the others are
 * closed.
 *
 * Threads: one dial belongs to one thread; with a loop, to the loop's.
 */
#ifndef HPN_BASE_DIAL_H
#define HPN_BASE_DIAL_H

#include "base/dial-plan.h"
#include "base/err.h"
#include "base/loop.h"

struct dial;

struct dial_params {
	const struct dial_address *addresses; /* copied */
	size_t n;			   /* at most DIAL_ADDRESSES_MAX */
	struct dial_times times;
	size_t running_max; /* attempts at the same time; 0: no limit */
	bool mptcp;	    /* Multipath TCP where the system has it */
	void *arg;
	/* An attempt begins. May be NULL. */
	void (*starting)(void *arg, size_t which);
	/* A new socket, not connected yet: to be bound to an address or an
	 * interface, and to be given TCP options. 0, or the errno with which
	 * the attempt fails. May be NULL. */
	int (*prepare)(void *arg, size_t which, int fd);
	/* The dial is over, with a winner or without. May free d. Never called
	 * by dial_start() itself, nor with dial_and_wait(). */
	void (*done)(void *arg, struct dial *d);
};

/* Starts a dial, which goes on in the loop (borrowed). ERR_NOMEM. */
int dial_start(struct dial **out, struct loop *l,
    const struct dial_params *params) must_check;
/* Dials without a loop, and returns when the dial is over. ERR_NOMEM. */
int dial_and_wait(struct dial **out,
    const struct dial_params *params) must_check;
/* Frees the dial, and closes the sockets of attempts that run and of a winner
 * that was not taken. NULL is fine. */
void dial_free(struct dial *d);

/* The socket of the winner, connected and non-blocking, and which address it
 * is; the caller closes it. -1: none connected. */
int dial_take_winner(struct dial *d, size_t *which);
/* The errno of the attempt at an address that did not connect; ETIMEDOUT also
 * if it still ran, or was never begun, when the dial was over. */
int dial_error(const struct dial *d, size_t which);

#endif
