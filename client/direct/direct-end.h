/* SPDX-License-Identifier: ISC */
/*
 * hpnscp --direct-end: the process at one host in a copy from host to host
 * (direct-wire.h). It makes a key, is told of the grant for that key, and then
 * does a plain upload to the other host, or a download. It asks no person,
 * reads no configuration, and accepts only the host key that the job names.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_DIRECT_DIRECT_END_H
#define HPN_CLIENT_DIRECT_DIRECT_END_H

#include <stdbool.h>
#include <stdint.h>

#include "client/copy/scp-run.h"
#include "xfer/target.h"

struct direct_end;
struct direct_job;

/* Says hello, waits for the job, and sets the options of scp by it; the loop of
 * scp has to exist. targets[*n] is set to the place to copy to. All is borrowed
 * from *out. Ends the program on an error. */
void direct_end_begin(struct direct_end **out, struct scp *scp,
    struct xfer_target **targets, int *n);
/* The job. If it is a list of files (DIRECT_LIST), direct_list_copy() is to be
 * called. */
const struct direct_job *direct_end_job(const struct direct_end *e);
/* Tell the client that this file of the list is there as a whole, or why it
 * cannot be copied; 0: all of which nothing else is told. */
void direct_end_sent(uint32_t number);
void direct_end_not_sent(uint32_t number, const char *text);
/* Tells the digest of this file of the list (DIRECT_SUM_LEN bytes). */
void direct_end_summed(uint32_t number, const uint8_t *digest);
/* direct-list.c: copies the files of the job's list from or to that host. */
void direct_list_copy(struct scp *scp, const struct direct_job *job,
    const struct xfer_target *host);
/* Tells the client how far the copy is, once it has ended. */
void direct_end_tell(struct direct_end *e);
void direct_end_free(struct direct_end *e);

#endif
