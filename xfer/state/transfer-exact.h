/* SPDX-License-Identifier: ISC */
/* Attributes of files beyond those of SFTP 3: exact times, file numbers. */
#ifndef HPN_XFER_STATE_TRANSFER_EXACT_H
#define HPN_XFER_STATE_TRANSFER_EXACT_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "xfer/sftp/sftp-engine.h"
#include "xfer/state/transfer-limits.h"

/* Attributes that SFTP 3 has no fields for. */
struct xfer_exact {
	bool known;
	struct timespec times[2]; /* atime, mtime */
	uint32_t nlink;
	uint64_t dev, ino, blocks;
};

/* transfer-times.c */
/* Times of the source, for the kernel. */
void xfer_times(const struct sftp_attrs *a, const struct xfer_exact *e,
    struct timespec out[2]);
void xfer_exact_from_stat(struct xfer_exact *e, const struct stat *st);
/* Takes the times from the numbers of a request or a reply. False: they are no
 * times. */
bool xfer_exact_from_numbers(struct xfer_exact *e,
    const struct sftp_stat_ns *st);
bool xfer_exact_from_reply(struct xfer_exact *e,
    const struct sftp_reply *reply);
/* Do these times need the extension times-ns, and does the server have it? */
bool xfer_wants_times_ns(struct xfer *x, const struct xfer_exact *e);
/* Tells of a time that is not copied, since the server has no number for it. */
void xfer_times_clamped(struct xfer *x, const char *path,
    const struct xfer_exact *e);

#endif
