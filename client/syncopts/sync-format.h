/* SPDX-License-Identifier: ISC */
/*
 * Lines of --out-format and --log-file-format: text with a letter behind each
 * %, as rsync(1) has them.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_SYNCOPTS_SYNC_FORMAT_H
#define HPN_CLIENT_SYNCOPTS_SYNC_FORMAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "xfer/sftp/walk-reader.h"

/* What a line is made of. */
struct sync_format_item {
	bool up; /* data goes to the host */
	const char *letters, *path;
	const struct walk_item *source; /* NULL of a delete */
};

/* Tells what is wrong with a format. NULL: it is valid. */
const char *sync_format_check(const char *format);
/* Appends the line, with its end. The format must have passed the check. */
void sync_format_put(struct buf *b, const char *format,
    const struct sync_format_item *i);

#endif
