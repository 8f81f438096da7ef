/* SPDX-License-Identifier: ISC */
/*
 * What a run has to do with a job (client/job/job.h): whether it is the plan, a
 * shard or the end of one.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_JOB_H
#define HPN_CLIENT_SYNC_SYNC_JOB_H

#include "base/err.h"
#include "client/sync/sync-exit.h"

struct sync_run;
struct walk_item;

/* Reads the options of a job, with the words and names of the run. For a shard
 * and the end it puts the plan's in their place. Ends the program on an error.
 */
void sync_job_read(struct sync_run *run, int argc, char **argv, char ***names,
    int *n);
/* Begins a plan, now that the names are read. */
void sync_job_begin(struct sync_run *run);
/* An item of a plan's run. */
void sync_job_item(struct sync_run *run, const char *letters,
    const char *path, const struct walk_item *source);
/* The program is to run anew, from where it began. */
void sync_job_leave(void);
/* Ends the run's part of the job. Returns the exit status. */
enum sync_exit sync_job_end(struct sync_run *run,
    enum sync_exit status) must_check;

#endif
