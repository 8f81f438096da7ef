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

/* The directory of parts: a private directory of this user, in which a plan's
 * parts are made, and not beside their targets. A target on another file system
 * still has its part beside it. */
struct xfer_temp {
	const char *dir; /* the path as the server, or the user, names it */
	struct local_dir *at; /* of downloads; else NULL */
	bool old; /* the directory existed before: it may have parts to go on
		   * with */
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
	bool tell_extras; /* with preserve: report what a source has and SFTP
			   * cannot carry */
	bool explain;	/* time is measured, for xfer_why() */
	bool links;	/* copy them, instead of what they lead to */
	bool hard_links; /* several names of one file become hard links */
	bool sparse;	/* holes stay holes */
	bool fsync;	/* fsync each target, where the server can */
	/* The sources of a plan are on another host, and are not read: files
	 * become what the target's host has (xfer_order.link), or get
	 * attributes, and all that needs data fails. */
	bool unread;
	bool in_place;	/* write targets directly, without part files */
	bool resume;	/* go on with parts, skip what is complete */
	/* The target is locked: a file that looks like an empty part is then an
	 * earlier try's, and nobody else writes it. later: there was an earlier
	 * try of this run, not only one of this transfer. */
	struct {
		bool is, later;
	} locked;
	bool append;	/* with resume: a target without a part is the
			 * beginning of the file, and is not compared; a
			 * longer one is refused */
	bool skip_links; /* in trees: links are noted, not followed */
	bool delete_anyway; /* make a plan's deletes even if something has
			     * failed */
	const struct xfer_temp *temp; /* directory of parts, borrowed; NULL:
				       * parts are beside their targets */
	bool delta;	/* do not send data of a plan's file that the old target
			 * has */
	bool verify;	/* compare both ends before the rename */
	bool check_space; /* a copy that does not fit is not begun */
	const char *space_by; /* the option, for messages, by which the user
			       * begins although space is short; NULL: there is
			       * none */
	const char *resume_by; /* what the user gives to go on with a part, for
				* messages; NULL: there is nothing */
	/* How often lost streams are opened anew, in a row without a byte that
	 * is kept. */
	unsigned retries;
	/* wait before the first try, then twice as long each time; 0: 1 s */
	unsigned retry_wait_ms;
	unsigned silent_ms; /* a stream that owes answers for so long is lost,
			     * if another answers; 0: a minute */
	/* clock for all times of a run; NULL: the system's */
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
	/* Is called for each regular file that was copied, or whose target had
	 * the data, with its path at the target and its SHA-256 digest, which
	 * is computed for this. Not between two hosts. NULL: not called. */
	void (*summed)(void *arg, bool up, const char *path,
	    const uint8_t *digest);
	void *report_arg;
};

#endif
