/* SPDX-License-Identifier: ISC */
/*
 * Signatures that helper processes of tokens make, as far as libraries
 * (agent/providers.h) and FIDO keys (agent/fido-keys.h) are alike: a line of
 * jobs that wait for their turns, and a call of a helper, which is watched, has
 * its time, and shows the user what to do.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_HELPER_JOBS_H
#define HPN_AGENT_HELPER_JOBS_H

#include "agent/signer.h"
#include "base/buf.h"
#include "base/loop.h"
#include "compat/queue.h"

struct agentd;
struct dialog;

/* A signature that is wanted. Each kind of job has a struct of its own, whose
 * first field is this one. */
struct helper_job {
	struct helper_line *line;
	char *alg;
	struct buf data;
	signer_done_fn done; /* NULL: nobody waits for it any more */
	void *arg;
	TAILQ_ENTRY(helper_job) entry;
};

/* What the source of a kind of jobs (providers.c, fido-keys.c) does for it. */
struct helper_kind {
	/* Begins the first job of the line, whose turn it is. */
	void (*run)(void *owner);
	/* Called when the job ends and is out of its line: ends its call of the
	 * helper, and frees the fields that the kind added, but not the job
	 * itself. */
	void (*ended)(struct helper_job *j);
};

/* Jobs in the order of their turns. */
struct helper_line {
	struct agentd *a;
	const struct helper_kind *kind;
	void *owner;
	TAILQ_HEAD(helper_jobs, helper_job) jobs;
	struct loop_timer *turn; /* NULL: no turn is due */
};

void helper_line_init(struct helper_line *line, struct agentd *a,
    const struct helper_kind *kind, void *owner);
/* Frees the jobs without calling their done(). */
void helper_line_clear(struct helper_line *line);
/* If the line has jobs, the loop calls run() in its next turn. */
void helper_line_schedule(struct helper_line *line);

/* Fills j, which is on the heap and otherwise zero, and puts it at the end of
 * the line. After an error the caller frees j. */
int helper_job_start(struct helper_job *j, struct helper_line *line,
    const char *alg, struct span data, signer_done_fn done,
    void *arg) must_check;
void helper_job_end(struct helper_job *j);
/* Ends the job, and calls j->done with its result. */
void helper_job_finish(struct helper_job *j, int r, struct span signature);
void helper_job_fail(struct helper_job *j, int r);

/* A helper that is working for us. Zeroed: none is. */
struct helper_call {
	struct agentd *a;
	struct loop_fd *watch;
	struct loop_timer *limit;
	struct dialog *notice; /* what the user is shown meanwhile */
};

/* Watches the descriptor fd of a helper: on_events() is called when it can be
 * read. */
int helper_call_watch(struct helper_call *c, int fd,
    void (*on_events)(void *arg, int fd, int events), void *arg) must_check;
/* Sets what is waited for: that the helper can be written to, or that it can be
 * read. */
void helper_call_want(struct helper_call *c, bool writes);
/* Calls on_limit after ms, the time that a user or a card has; tests set
 * another time for all of them (agent_params.token_limit_ms). */
struct loop_timer *helper_timer(struct agentd *a, unsigned ms,
    void (*on_limit)(void *arg), void *arg) must_check;
int helper_call_limit(struct helper_call *c, unsigned ms,
    void (*on_limit)(void *arg), void *arg) must_check;
/* Shows a notice, if it can be shown. */
void helper_call_show(struct helper_call *c, const char *text);
/* The helper has answered: ends the limit, and takes the notice away. */
void helper_call_over(struct helper_call *c);
/* As helper_call_over(), and the helper is no longer watched. */
void helper_call_end(struct helper_call *c);

#endif
