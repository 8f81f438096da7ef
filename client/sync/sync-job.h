/* SPDX-License-Identifier: ISC */
/*
 * The part of a run in a job (client/job/job.h): it makes the plan, is a shard,
 * or finishes the job.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_JOB_H
#define HPN_CLIENT_SYNC_SYNC_JOB_H

#include <stdbool.h>

#include "base/err.h"
#include "client/syncopts/sync-exit.h"

struct sync_run;
struct walk_item;

/* Reads the options of a job. For a shard and for --finish, run, names and n
 * are set to those of the plan. Ends the program on an error. */
void sync_job_read(struct sync_run *run, int argc, char **argv, char ***names,
    int *n);
/* Once the names of the command line are read: makes the directory of a plan's
 * job; a shard takes a grant, where the job has any. */
void sync_job_begin(struct sync_run *run);
/* Takes an item of a plan's run: a file that has to be copied goes to the
 * spool. */
void sync_job_item(struct sync_run *run, const char *letters,
    const char *path, const struct walk_item *source);
/* True if the run is to give grants, which sync_job_give() does. */
bool sync_job_gives(void);
enum sync_exit sync_job_give(struct sync_run *run) must_check;
/* Goes back to the directory in which the program was started, before the
 * program executes itself again. */
void sync_job_leave(void);
/* Ends the run's part of the job. Returns the exit status. */
enum sync_exit sync_job_end(struct sync_run *run,
    enum sync_exit status) must_check;

#endif
