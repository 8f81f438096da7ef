/* SPDX-License-Identifier: ISC */
/*
 * Moving files and trees through an SFTP session, many at a time: opens,
 * data, attributes and closes of several files are under way together, as
 * far as a budget of bytes and the server's limit of handles allow, and
 * directories are listed while files already move.
 *
 * What goes wrong with one file is reported and counted, and the others go
 * on; only the end of the session ends the run.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_H
#define HPN_XFER_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/progress.h"
#include "xfer/sftp-engine.h"

struct xfer;

struct xfer_opts {
	bool recursive, preserve;
	bool fsync;		/* where the server can */
	uint64_t rate_bytes;	/* limit, a second; 0: none */
	size_t budget_bytes;	/* under way in all; 0: 16 MiB */
	uint32_t block_bytes;	/* of a request; 0: what the server takes */
	unsigned requests_max;	/* of data, under way; 0: by the budget */
	unsigned files_max;	/* open at a time; 0: 256 */
	struct progress *progress; /* borrowed; may be NULL */
	/* One line for people. path is not escaped. */
	void (*report)(void *arg, const char *path, const char *text);
	void *report_arg;
};

/* Life. The session is borrowed. Free only when no run is under way. */
int xfer_new(struct xfer **out, struct sftp *s,
    const struct xfer_opts *opts) must_check;
void xfer_free(struct xfer *x);

/*
 * Queues one transfer between exact names (no globs; a target directory's
 * name is already joined). attrs are those of STAT for the remote source.
 * Without `recursive` a directory is reported as not a regular file.
 */
int xfer_put(struct xfer *x, const char *local, const char *remote) must_check;
int xfer_get(struct xfer *x, const char *remote,
    const struct sftp_attrs *attrs, const char *local) must_check;

/* Until all is done: 0, or the session's error. */
int xfer_run(struct xfer *x) must_check;
/* Files and directories that failed so far. */
unsigned long xfer_failures(const struct xfer *x);

#endif
