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
#include "xfer/state/streams.h"
#include "xfer/state/transfer-opts.h"

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
/* The same, of a target of which STAT has just said that nothing has its name:
 * then a round trip can be saved. It is looked at again, as ever. */
int xfer_put_new(struct xfer *x, const char *local,
    const char *remote) must_check;
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
/* Queues the copy of one source, as xfer_get() does. */
int xfer_copy(struct xfer *x, const char *source,
    const struct sftp_attrs *attrs, const char *target) must_check;

/* Notes a directory that the caller has just made to copy into: with `fsync`
 * the run has its name written to the disk. up: it is at the server. */
int xfer_made(struct xfer *x, bool up, const char *dir) must_check;

/* Until all is done: 0, or the error of the last stream; ERR_CANCELLED when it
 * was stopped. */
int xfer_run(struct xfer *x) must_check;
/* How long to wait before the next try, after so many tries that have failed.
 * The wait is first_ms (0: 1 s) at first, and doubles up to 5 minutes. */
unsigned xfer_retry_wait_ms(unsigned tries, unsigned first_ms);
/* "trying again in 4 s (3 of 40)" */
void xfer_retry_text(unsigned wait_ms, unsigned tries, unsigned most,
    char *out, size_t size);
/* Files and directories that failed so far. */
unsigned long xfer_failures(const struct xfer *x);
/* Bytes of the whole files of orders that were not sent, because the target had
 * them or they are holes. */
uint64_t xfer_matched(const struct xfer *x);
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
