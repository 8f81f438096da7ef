/* SPDX-License-Identifier: ISC */
/* What a transfer is asked for, and how it tells. */
#ifndef HPN_XFER_STATE_TRANSFER_OPTS_H
#define HPN_XFER_STATE_TRANSFER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xfer/progress.h"

struct xfer;

/* What failed, in the words that scripts look for in what scp says. */
#define XFER_TRIED_STAT_LOCAL "stat local"
#define XFER_TRIED_OPEN_LOCAL "open local" /* a source or a target */
#define XFER_TRIED_OPEN_SOURCE "remote open"
#define XFER_TRIED_OPEN_TARGET "dest open" /* at the server */

/* What a copy that does not fit is reported with begins so. */
#define XFER_NO_ROOM "does not fit: "

struct xfer_opts {
	bool recursive, preserve;
	bool explain;	/* time is measured, for xfer_why() */
	bool links;	/* copy them, instead of what they lead to */
	bool hard_links; /* names of one file stay so */
	bool sparse;	/* holes stay holes */
	bool fsync;	/* where the server can */
	bool in_place;	/* no part files */
	bool resume;	/* go on with parts, skip what is complete */
	bool append;	/* with resume: a target without a part is the
			 * beginning of the file, and is not compared; a
			 * longer one is refused */
	bool skip_links; /* in trees: links are noted, not followed */
	bool verify;	/* compare both ends before the rename */
	bool check_space; /* a copy that does not fit is not begun */
	const char *resume_by; /* what the user gives to go on with a part, for
				* messages; NULL: there is nothing */
	/* Times that lost streams are opened anew, in a row without a byte that
	 * is kept. */
	unsigned retries;
	unsigned retry_wait_ms; /* before the first; doubles; 0: 1 s */
	unsigned silent_ms; /* a stream that owes answers for so long is lost,
			     * if another answers; 0: a minute */
	uint64_t (*clock_ms)(void); /* measures that; NULL: the system's */
	unsigned connections_max; /* 0: as it pays */
	const bool *stop; /* becomes true in a turn: the run ends early */
	uint64_t rate_bytes;	/* limit, a second; 0: none */
	size_t budget_bytes;	/* under way in all; 0: 64 MiB */
	uint32_t block_bytes;	/* of a request; 0: what the server takes */
	unsigned requests_max;	/* of data, under way; 0: by the budget */
	unsigned files_max; /* open at a time; 0: 512, over long paths 1024 */
	struct progress *progress; /* borrowed; may be NULL */
	/* A failure, as one line for the user. path is not escaped; tried is
	 * one of XFER_TRIED_*, or NULL. */
	void (*report)(void *arg, const char *tried, const char *path,
	    const char *text);
	/* What is no failure; may be NULL. path may be NULL. */
	void (*note)(void *arg, const char *path, const char *text);
	/* A directory of a tree begins: its path at the end that is read; may
	 * be NULL. */
	void (*entered)(void *arg, bool up, const char *path);
	void *report_arg;
};

#endif
