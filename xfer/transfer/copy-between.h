/* SPDX-License-Identifier: ISC */
/*
 * Copies from one server to another through this process: what one session
 * reads is put straight into writes of the other.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_COPY_BETWEEN_H
#define HPN_XFER_TRANSFER_COPY_BETWEEN_H

#include <stdbool.h>

#include "base/err.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"

struct relay_opts {
	bool recursive, preserve;
	uint64_t rate_bytes;	   /* limit, a second; 0: none */
	struct progress *progress; /* borrowed; may be NULL */
	void (*report)(void *arg, const char *path, const char *text);
	void *report_arg;
};

/*
 * Copies one file, or a tree if `recursive`; names are exact. What fails is
 * reported. 0, or ERR_* when one of the sessions is over. The sessions may
 * be one and the same.
 */
int relay_copy(struct sftp *from, const char *source, struct sftp *to,
    const char *target, const struct relay_opts *opts) must_check;

#endif
