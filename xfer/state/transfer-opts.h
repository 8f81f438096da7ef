/* SPDX-License-Identifier: ISC */
/* What a transfer is asked for, and how it tells. */
#ifndef HPN_XFER_STATE_TRANSFER_OPTS_H
#define HPN_XFER_STATE_TRANSFER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xfer/progress.h"

struct xfer;
struct local_dir;

/* A directory, of this user alone, in which a plan's parts are made in place of
 * the target's. A target on another file system has its part beside it. */
struct xfer_temp {
	const char *dir; /* as the server, or the user, names it */
	struct local_dir *at; /* of downloads; else NULL */
	bool old; /* it was there: it may have parts to go on with */
};

/* What failed, in the words of scp, which scripts look for. */
#define XFER_TRIED_STAT_LOCAL "stat local"
#define XFER_TRIED_OPEN_LOCAL "open local" /* a source or a target */
#define XFER_TRIED_OPEN_SOURCE "remote open"
#define XFER_TRIED_OPEN_TARGET "dest open" /* the target at the server */
#define XFER_TRIED_XATTRS "set extended attributes of"
#define XFER_TRIED_BACKUP "back up"

/* The beginning of the report of a copy that does not fit. */
#define XFER_NO_ROOM "does not fit: "

struct xfer_opts {
	bool recursive, preserve;
	bool tell_extras; /* with preserve: what a source has and SFTP does not
			   * carry */
	bool explain;	/* time is measured, for xfer_why() */
	bool links;	/* copy them, instead of what they lead to */
	bool hard_links; /* several names of one file become hard links */
	bool sparse;	/* holes stay holes */
	bool fsync;	/* fsync each target, where the server can */
	bool in_place;	/* write targets directly, without part files */
	bool resume;	/* go on with parts, skip what is complete */
	/* The target is locked: so what looks like an empty part is of an
	 * earlier try, and nobody writes it. later: there was one, also before
	 * the transfer has made a connection again itself. */
	struct {
		bool is, later;
	} locked;
	bool append;	/* with resume: a target without a part is the
			 * beginning of the file, and is not compared; a
			 * longer one is refused */
	bool skip_links; /* in trees: links are noted, not followed */
	bool delete_anyway; /* a plan's deletes, though something has failed */
	const struct xfer_temp *temp; /* borrowed; NULL: parts are beside their
				       * targets */
	bool delta;	/* of a plan's file, what the old target has is not
			 * sent */
	bool verify;	/* compare both ends before the rename */
	bool check_space; /* a copy that does not fit is not begun */
	const char *space_by; /* what the user gives to begin it all the same,
			       * for messages; NULL: there is nothing */
	const char *resume_by; /* what the user gives to go on with a part, for
				* messages; NULL: there is nothing */
	/* How often lost streams are opened anew, in a row without a byte that
	 * is kept. */
	unsigned retries;
	/* wait before the first try, then twice as long each time; 0: 1 s */
	unsigned retry_wait_ms;
	unsigned silent_ms; /* a stream that owes answers for so long is lost,
			     * if another answers; 0: a minute */
	/* the clock of all times of a run; NULL: the system's */
	uint64_t (*clock_ms)(void);
	/* most connections; 0: as many as make it faster */
	unsigned connections_max;
	const bool *stop; /* becomes true in a turn: the run ends early */
	uint64_t rate_bytes;	/* limit of bytes a second; 0: none */
	size_t budget_bytes;	/* bytes under way, of all files; 0: 64 MiB */
	/* bytes of a READ or WRITE; 0: what the server takes */
	uint32_t block_bytes;
	/* most READs and WRITEs under way; 0: by the budget */
	unsigned requests_max;
	unsigned files_max; /* most open files; 0: 512, over long paths 1024 */
	struct progress *progress; /* borrowed; may be NULL */
	/* Called for each failure, with one line for the user. path is not
	 * escaped; tried is one of XFER_TRIED_*, or NULL. */
	void (*report)(void *arg, const char *tried, const char *path,
	    const char *text);
	/* Called for what the user should know but is no failure. May be NULL.
	 * path may be NULL. */
	void (*note)(void *arg, const char *path, const char *text);
	/* Called when a directory of a tree begins, with its path at the end
	 * that is read. May be NULL. */
	void (*entered)(void *arg, bool up, const char *path);
	/* Called for each regular file that was copied, or has its data
	 * already, with its path at the target and its SHA-256 digest, which
	 * are computed for this. Not between two hosts. NULL: none is. */
	void (*summed)(void *arg, bool up, const char *path,
	    const uint8_t *digest);
	void *report_arg;
};

#endif
