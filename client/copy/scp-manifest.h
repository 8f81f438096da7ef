/* SPDX-License-Identifier: ISC */
/*
 * --manifest of hpnscp: a file with a line for each file that was copied: its
 * digest, and its path below the target.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_MANIFEST_H
#define HPN_CLIENT_COPY_SCP_MANIFEST_H

#include <stdbool.h>

#include "client/copy/scp-run.h"

/* Makes the manifest under a temporary name; ends the program if it cannot. */
void scp_manifest_begin(struct scp *scp);
/* Sets the target of the next files: a directory that they come to, or that
 * becomes one, or a file. */
void scp_manifest_top(struct scp *scp, const char *top);
/* Renames the manifest to its own name if the copy is whole; else removes
 * it. */
void scp_manifest_end(struct scp *scp, bool whole);

#endif
