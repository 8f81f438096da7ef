/* SPDX-License-Identifier: ISC */
/*
 * Reads a scan of a source ahead, and with it the files of rules in its
 * directories (dir-merge). A group is told to the reader when the texts of its
 * files are there, because they say which of the group's names count. The files
 * of many directories are asked for at once, so that they take few round trips.
 * A file of rules is read by the scan's session, and only if it is a regular
 * file: not through a link, and not if another was put in its place meanwhile.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_AHEAD_H
#define HPN_XFER_SYNC_SYNC_AHEAD_H

#include <stddef.h>

#include "base/err.h"
#include "xfer/sync/sync-scan.h"

struct sftp;
struct sync_ahead;

enum { SYNC_AHEAD_FILES = 16 }; /* files of rules in one directory */

/* Begins to read ahead. root: path of the scan's top in the session. names: the
 * n names that files of rules have. All is borrowed until the end. */
int sync_ahead_new(struct sync_ahead **out, struct sftp *s, const char *root,
    struct sync_scan *scan, const char *const *names, size_t n) must_check;
/* To be called before the scan is freed. */
void sync_ahead_free(struct sync_ahead *a); /* NULL: nothing */
/* As sync_scan_next(). */
int sync_ahead_next(struct sync_ahead *a, struct walk_item *item) must_check;

/* The i-th file of rules of the group that was told last. */
struct sync_ahead_file {
	const char *text; /* NULL: there is none */
	size_t len;
	const char *why; /* not NULL: why the file, which exists, could not be
			  * read */
};
struct sync_ahead_file sync_ahead_file(const struct sync_ahead *a, size_t i);

#endif
