/* SPDX-License-Identifier: ISC */
#include "server/events/share-want.h"

#include "base/mem.h"

enum {
	/* the lowest want, in bytes a second */
	WANT_LEAST = 1000 * 1000,
	/* A connection that was held back wants its share times this. */
	WANT_FACTOR = 4,
};

static uint64_t
add_half(uint64_t n)
{
	return n > UINT64_MAX / 2 ? UINT64_MAX : n + n / 2;
}

/* Computes the want. A connection that was not held back moves what the path,
 * the disk or the peer allows, and wants half as much again, so that it can
 * become faster. One that was held back may be able to move much more. */
uint64_t
share_want_note(struct share_want *w, uint64_t bytes, uint64_t ms, bool held,
    uint64_t got)
{
	uint64_t most = 0, want;

	w->peak[w->next] = bytes / MAX(ms, (uint64_t)1) * 1000;
	w->next = (w->next + 1) % ARRAY_LEN(w->peak);
	for (size_t i = 0; i < ARRAY_LEN(w->peak); i++)
		most = MAX(most, w->peak[i]);
	want = MAX(add_half(most), (uint64_t)WANT_LEAST);
	if (!held)
		return want;
	return got > UINT64_MAX / WANT_FACTOR ?
	    UINT64_MAX : MAX(want, got * WANT_FACTOR);
}
