/* SPDX-License-Identifier: ISC */
#include "agent/helper-jobs.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent-internal.h"
#include "base/log.h"

/* ---- the line ------------------------------------------------------------ */

void
helper_line_init(struct helper_line *line, struct agentd *a,
    const struct helper_kind *kind, void *owner)
{
	line->a = a;
	line->kind = kind;
	line->owner = owner;
	TAILQ_INIT(&line->jobs);
}

static void
on_turn(void *arg)
{
	struct helper_line *line = arg;

	line->turn = NULL;
	line->kind->run(line->owner);
}

void
helper_line_schedule(struct helper_line *line)
{
	if (TAILQ_EMPTY(&line->jobs) || line->turn != NULL)
		return;
	line->turn = loop_after(line->a->loop, 0, on_turn, line);
	if (line->turn == NULL)
		log_error("no timer for a token");
}

void
helper_line_clear(struct helper_line *line)
{
	while (!TAILQ_EMPTY(&line->jobs))
		helper_job_end(TAILQ_FIRST(&line->jobs));
	loop_cancel(line->a->loop, line->turn);
	line->turn = NULL;
}

/* ---- jobs ---------------------------------------------------------------- */

int
helper_job_start(struct helper_job *j, struct helper_line *line,
    const char *alg, struct span data, signer_done_fn done, void *arg)
{
	int r;

	*j = (struct helper_job){ .line = line, .done = done, .arg = arg };
	j->alg = strdup(alg);
	buf_put(&j->data, data.p, data.len);
	r = j->alg == NULL ? ERR_NOMEM : buf_err(&j->data);
	if (r != 0) {
		free(j->alg);
		buf_clear(&j->data);
		return r;
	}
	TAILQ_INSERT_TAIL(&line->jobs, j, entry);
	return 0;
}

void
helper_job_end(struct helper_job *j)
{
	TAILQ_REMOVE(&j->line->jobs, j, entry);
	j->line->kind->ended(j);
	free(j->alg);
	buf_clear(&j->data);
	free(j);
}

void
helper_job_finish(struct helper_job *j, int r, struct span signature)
{
	signer_done_fn done = j->done;
	void *arg = j->arg;

	helper_job_end(j);
	if (done != NULL)
		done(arg, r, signature);
}

void
helper_job_fail(struct helper_job *j, int r)
{
	helper_job_finish(j, r, (struct span){ 0 });
}

/* ---- calls --------------------------------------------------------------- */

int
helper_call_watch(struct helper_call *c, int fd,
    void (*on_events)(void *arg, int fd, int events), void *arg)
{
	c->watch = loop_watch(c->a->loop, fd, LOOP_READ, on_events, arg);
	return c->watch != NULL ? 0 : ERR_NOMEM;
}

void
helper_call_want(struct helper_call *c, bool writes)
{
	loop_fd_want(c->watch, writes ? LOOP_WRITE : LOOP_READ);
}

struct loop_timer *
helper_timer(struct agentd *a, unsigned ms, void (*on_limit)(void *arg),
    void *arg)
{
	if (a->p.token_limit_ms != 0)
		ms = a->p.token_limit_ms;
	return loop_after(a->loop, ms, on_limit, arg);
}

int
helper_call_limit(struct helper_call *c, unsigned ms,
    void (*on_limit)(void *arg), void *arg)
{
	loop_cancel(c->a->loop, c->limit);
	c->limit = helper_timer(c->a, ms, on_limit, arg);
	return c->limit != NULL ? 0 : ERR_NOMEM;
}

static void
on_notice_gone(void *arg, bool agreed, const char *answer)
{
	struct helper_call *c = arg;

	(void)agreed;
	(void)answer;
	c->notice = NULL;
}

void
helper_call_show(struct helper_call *c, const char *text)
{
	if (dialog_refusal(c->a) == NULL)
		c->notice = dialog_ask(c->a, ASKPASS_NOTICE, text,
		    on_notice_gone, c);
}

void
helper_call_over(struct helper_call *c)
{
	loop_cancel(c->a->loop, c->limit);
	c->limit = NULL;
	dialog_drop(c->notice);
	c->notice = NULL;
}

void
helper_call_end(struct helper_call *c)
{
	helper_call_over(c);
	loop_unwatch(c->a->loop, c->watch);
	c->watch = NULL;
}
