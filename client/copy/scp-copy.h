/* SPDX-License-Identifier: ISC */
/*
 * What hpnscp copies where, and by which means: transfers by SFTP to or from
 * a host, copies from host to host, legacy copies, or cp on this machine.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_COPY_H
#define HPN_CLIENT_COPY_SCP_COPY_H

#include "client/copy/scp-run.h"
#include "xfer/target.h"

/* Copies all n sources to target. An error is reported, or ends the program. */
void scp_copy_all(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target);

#endif
