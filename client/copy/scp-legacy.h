/* SPDX-License-Identifier: ISC */
/*
 * hpnscp's legacy copies: an scp at each end, which speak the old protocol of
 * scp and rcp through ssh in place of SFTP (-O); the scp at the far end of such
 * a copy (-t, -f); and copies that the source's host makes by itself (-R).
 *
 * All functions report errors, and return false if there was any.
 */
#ifndef HPN_CLIENT_COPY_SCP_LEGACY_H
#define HPN_CLIENT_COPY_SCP_LEGACY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "xfer/progress.h"
#include "xfer/target.h"

struct legacy_opts {
	const char *ssh;		/* the ssh program */
	const struct strlist *ssh_args; /* arguments of ssh */
	int port;			/* 0: not given */
	bool recursive, preserve, verbose;
	bool resume;   /* -Z */
	bool any_name; /* -T */
	bool need_dir; /* -d, or there are several sources */
	uint64_t rate_bytes;
	struct progress *progress; /* borrowed; may be NULL */
};

/* legacy_upload(): local files to one host. legacy_download(): files of one
 * host to this one. legacy_between(): one file or tree from host to host,
 * through this one. */
bool legacy_upload(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o);
bool legacy_download(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o);
bool legacy_between(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o);
/* Copies one file or tree from host to host, by the scp of the source's host
 * (-R). */
bool legacy_direct(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o);

/* Is the other end of a legacy copy, over standard input and output: a sink
 * (-t) or a source (-f). */
bool legacy_peer(bool sink, char *const paths[], int n,
    const struct legacy_opts *o);

#endif
