/* SPDX-License-Identifier: ISC */
/*
 * hpnscp --direct-end: the end of a copy from host to host that runs on the
 * source's host (direct-wire.h). It makes a key, is told of the grant for it,
 * and then is a plain upload to the target's host. It asks nobody, reads no
 * configuration, and trusts no host key but the one that it is told.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_END_H
#define HPN_CLIENT_COPY_DIRECT_END_H

#include "client/copy/scp-run.h"
#include "xfer/target.h"

struct direct_end;

/* Says hello, waits for the job, and sets the options of scp, whose loop is
 * there, by it. targets[*n] is where to. All is borrowed from *out. An error
 * ends the program. */
void direct_end_begin(struct direct_end **out, struct scp *scp,
    struct xfer_target **targets, int *n);
void direct_end_free(struct direct_end *e);

#endif
