/* SPDX-License-Identifier: ISC */
/*
 * Moving files and trees through SFTP sessions with one host (streams), many
 * files at a time: opens, data, attributes, closes and renames of several
 * files are under way together, as far as a budget of bytes and the server's
 * limit of handles allow; large files are split over the streams; directories
 * are listed while files already move.
 *
 * Data goes to a part file beside the target, which is renamed over it when
 * it is whole (xfer_opts.in_place says no). So what bears the target's name
 * is never half of a file, unless the target is something that cannot be
 * replaced: see transfer-part.c.
 *
 * What goes wrong with one file is reported and counted, and the others go
 * on. What a lost stream had to do is done by the others; only the end of all
 * streams ends the run, when the retries are used up.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_H
#define HPN_XFER_TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/streams.h"

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

/* Life. The session is borrowed. More are opened from streams; NULL: never,
 * and the session's own carrier drives. Free only when no run is under
 * way. */
int xfer_new(struct xfer **out, const struct xfer_streams *streams,
    struct sftp *s, const struct xfer_opts *opts) must_check;
void xfer_free(struct xfer *x);

/*
 * Queues one transfer between exact names (no globs; a target directory's
 * name is already joined). attrs are those of STAT for the remote source.
 * Without `recursive` a directory is reported as not a regular file.
 */
int xfer_put(struct xfer *x, const char *local, const char *remote) must_check;
int xfer_get(struct xfer *x, const char *remote,
    const struct sftp_attrs *attrs, const char *local) must_check;

/*
 * Copies from a second host to the host of `to`, through this one. The sessions
 * are borrowed, have one driver, and may be one and the same; a run that gives
 * ERR_* ends both. Nothing reads a source twice here, so the options are those
 * of plain copies: no links, holes, resuming, verifying or retries; `in_place`
 * must be set. ERR_UNSUPPORTED: there are others.
 */
int xfer_new_between(struct xfer **out, struct sftp *from, struct sftp *to,
    const struct xfer_opts *opts) must_check;
/* Queues one, as xfer_get() does. */
int xfer_copy(struct xfer *x, const char *source,
    const struct sftp_attrs *attrs, const char *target) must_check;

/* Until all is done: 0, or the error of the last stream; ERR_CANCELLED when it
 * was stopped. */
int xfer_run(struct xfer *x) must_check;
/* Before a try after so many: it doubles from first_ms (0: 1 s) to 5 min. */
unsigned xfer_retry_wait_ms(unsigned tries, unsigned first_ms);
/* "trying again in 4 s (3 of 40)" */
void xfer_retry_text(unsigned wait_ms, unsigned tries, unsigned most,
    char *out, size_t size);
/* Files and directories that failed so far. */
unsigned long xfer_failures(const struct xfer *x);
/* The run ended early because there was no room. */
bool xfer_is_full(const struct xfer *x);
/* Is there something that a later run need not move again? */
bool xfer_keeps_any(const struct xfer *x);
/* How much of a run that did not end well a later one has not to move again:
 * "113MB of 381MB are kept; the same command with -Z goes on". flag: what that
 * needs, "" if it has it; NULL: nothing can go on. */
void xfer_kept_text(const struct xfer *x, const char *flag, char *out,
    size_t size);
/* Appends a sentence on what this end spent the time of its runs with; false
 * (and nothing) if that was less than a second. */
struct buf;
bool xfer_why(const struct xfer *x, struct buf *out);

#endif
