/* SPDX-License-Identifier: ISC */
/*
 * hpnscp --direct: a copy from host to host that does not come through this
 * machine. The source's host connects to the target's, by a grant that our
 * login there gives it (docs/PROTOCOL.md). It writes into a new directory
 * beside the target, and into no other; what it was asked for is then moved to
 * its place from here. So that host can put no other name there, and nothing
 * that has the names of the user's own files.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_H
#define HPN_CLIENT_COPY_DIRECT_H

#include <stdbool.h>

#include "client/copy/scp-hosts.h"

/* Copies the sources, all on one host, to `dir` on the host `to`: into it, if
 * is_dir, else as that name. True: done, or it was reported why not. False:
 * nothing was touched, and it cannot be done in this way, of which the user was
 * told. */
bool direct_copy(struct scp *scp, const struct xfer_target *sources, int n,
    struct scp_host *to, const char *dir, bool is_dir);

#endif
