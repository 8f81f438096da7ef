/* SPDX-License-Identifier: ISC */
/*
 * --grant: one login for the shards of a job. As long as this process runs it
 * keeps some grants ready in the job's directory (client/job/job-grant.h), each
 * for one connection to the target's directory. A shard takes one, and logs in
 * with nothing else: so no shard asks a person, and none has the user's keys.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_GRANTS_H
#define HPN_CLIENT_SYNC_SYNC_GRANTS_H

#include "client/job/job-grant.h"
#include "client/syncopts/sync-exit.h"

struct login_ticket;
struct sync_run;

/* What cannot be done with grants, of the plan's options. Ends the program if
 * there is any. */
void sync_grants_check(const struct sync_run *run);
/* Gives grants until all shards of the job are marked as done, or the run is
 * to end. dir: the job's directory; borrowed until the process ends, as is
 * plan. */
enum sync_exit sync_grants_give(struct sync_run *run, int dir,
    const struct job_plan *plan) must_check;
/* Takes back what nobody has taken. */
void sync_grants_end(void);

/* Of a shard: takes a grant, and sets the run's target, connection and options
 * by it; where the job has none, nothing is set, and the shard logs in by
 * itself. Ends the program if there should be a grant, and none comes. */
void sync_grant_take(struct sync_run *run, int dir);
/* The grant that was taken; NULL: none. */
const struct login_ticket *sync_grant_taken(void);
/* Wipes the grant, once the shard's connection has ended. */
void sync_grant_wipe(void);
/* What the session at the target may do (xfer/sftp/sftp-rights.h). */
uint32_t sync_grant_rights(void);

#endif
