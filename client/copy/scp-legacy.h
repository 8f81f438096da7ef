/* SPDX-License-Identifier: ISC */
/*
 * hpnscp's legacy copies: an scp at each end, which speak their own protocol
 * through ssh in place of SFTP (-O); the scp at the far end of such a copy
 * (-t, -f); and copies that the source's host makes by itself (-R).
 *
 * All report what goes wrong, and return false if anything did.
 */
#ifndef HPN_CLIENT_COPY_SCP_LEGACY_H
#define HPN_CLIENT_COPY_SCP_LEGACY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "xfer/progress.h"
#include "xfer/target.h"

struct legacy_opts {
	const char *ssh;		/* the program */
	const struct strlist *ssh_args; /* arguments for it */
	int port;			/* 0: none given */
	bool recursive, preserve, verbose;
	bool resume;   /* -Z */
	bool any_name; /* -T */
	bool need_dir; /* -d, or there are several sources */
	uint64_t rate_bytes;
	struct progress *progress; /* borrowed; may be NULL */
};

/* Local files to one host; remote files of one host to here; one file or
 * tree from host to host, through here. */
bool legacy_upload(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o);
bool legacy_download(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o);
bool legacy_between(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o);
/* One file or tree, by the scp of the source's host (-R). */
bool legacy_direct(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o);

/* The other end, over standard input and output: sink or source. */
bool legacy_peer(bool sink, char *const paths[], int n,
    const struct legacy_opts *o);

#endif
