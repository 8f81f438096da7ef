/* SPDX-License-Identifier: ISC */
/*
 * The progress of a copy from host to host (direct.h), as the source's host
 * tells it: it is shown, and nothing depends on it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_PROGRESS_H
#define HPN_CLIENT_COPY_DIRECT_PROGRESS_H

#include "base/wire.h"
#include "xfer/progress.h"

/* Zeroed but for p: nothing was told. */
struct direct_progress {
	struct progress *p;	    /* borrowed */
	struct progress_told told;  /* what p has counted */
	bool begun;		    /* something was told */
	uint64_t lines; /* files and failures that were told by name */
};

/* Takes a message of the source's host (direct-wire.h), and passes over what
 * makes no sense. */
void direct_progress_take(struct direct_progress *d, struct span message);
/* Shows it, if enough time has passed. */
void direct_progress_tick(struct direct_progress *d);
/* Nothing more comes. */
void direct_progress_end(struct direct_progress *d);

#endif
