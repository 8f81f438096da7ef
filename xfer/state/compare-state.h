/* SPDX-License-Identifier: ISC */
/* A comparison of both ends of a file. Threads: one at a time. */
#ifndef HPN_XFER_STATE_COMPARE_STATE_H
#define HPN_XFER_STATE_COMPARE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "xfer/state/transfer-limits.h"

/* A comparison of both ends by digests, or by reading back. */
struct xfer_compare {
	enum {
		XFER_COMPARE_NONE,
		XFER_COMPARE_PART,   /* an old part: what differs is moved */
		XFER_COMPARE_TARGET, /* is the target complete already? */
		XFER_COMPARE_VERIFY, /* is what was written the source? */
	} why;
	bool differs;
	bool listed; /* in x->files.comparing */
	bool sparse; /* this end's file has holes */
	bool reads;  /* the far end is read back, as it has no digests */
	bool lost;   /* a request of the comparison was not answered */
	uint64_t shown; /* bytes of a target that the progress counts */
	int status; /* the server's reason why it gave no digests */
	uint64_t next, size;
	uint64_t same_until; /* before that offset both ends were found to be
			      * the same: verifying goes on from there */
	unsigned pending;
	TAILQ_ENTRY(xfer_file) entry; /* in x->files.comparing */
};

#endif
