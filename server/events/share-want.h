/* SPDX-License-Identifier: ISC */
/*
 * Computes how much a connection wants to move in one direction from what it
 * has moved.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_SERVER_EVENTS_SHARE_WANT_H
#define HPN_SERVER_EVENTS_SHARE_WANT_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing was moved yet. */
struct share_want {
	uint64_t peak[8]; /* bytes a second in each of the last intervals */
	unsigned next;
};

/* Notes an interval: bytes that were moved in ms; held: whether the share, a
 * rate of got, has held them back. Returns the bytes a second to ask for. */
uint64_t share_want_note(struct share_want *w, uint64_t bytes, uint64_t ms,
    bool held, uint64_t got);

#endif
