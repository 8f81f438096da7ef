/* SPDX-License-Identifier: ISC */
/*
 * hpnscp --direct: a copy from host to host that does not come through this
 * machine. The source's host connects to the target's, by a grant that our
 * login at the target's host gives it (docs/PROTOCOL.md). The grant is for a
 * new directory beside the target only; this program then moves the names that
 * the user asked for from there to their places. So the source's host can make
 * no other name, and replace no file of the user's. With --direct=pull the
 * target's host connects to the source's, by a grant to read one directory.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_H
#define HPN_CLIENT_COPY_DIRECT_H

#include <stdbool.h>

#include "client/copy/scp-hosts.h"

/* Copies the sources, all on one host, to `dir` on the host `to`: into it, if
 * is_dir, else under that name. True: it was done, or errors were reported.
 * False: nothing was changed, and the user was told why --direct cannot be used
 * here. */
bool direct_copy(struct scp *scp, const struct xfer_target *sources, int n,
    struct scp_host *to, const char *dir, bool is_dir);

/* True if a copy from host to host is to be compared at both ends: --verify,
 * --receipt. It never goes through this machine. */
bool direct_is_summed(const struct scp *scp);

/* The same as direct_copy() with --direct=pull, for one directory `path` on the
 * host `from`. */
bool direct_pull(struct scp *scp, struct scp_host *from, const char *path,
    const struct xfer_target *target);

#endif
