/* SPDX-License-Identifier: ISC */
/*
 * When and by which thread a request is run; see sftp-serve-internal.h.
 *
 * DESIGN. Normally the loop runs a request at once: data in the page cache is
 * read before a thread would have woken up. Workers are used for a READ that is
 * not in the page cache; for a while for everything, after a file system made
 * us wait; and for file systems of other machines. Requests that always take
 * long have a ring of their own, so that they delay no other replies.
 *
 * A request that must not overtake one that a worker has is parked, and all
 * behind it wait in the input. So no queue is needed to keep the order, and
 * requests for different files, as in a large transfer, are not affected.
 */
#include <sys/resource.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/wake.h"
#include "base/worker.h"
#include "compat/proc.h"
#include "xfer/local/local-beneath.h"
#include "xfer/serve/sftp-serve-internal.h"

enum {
	HOLE_COST = 4096, /* a hole counts as so many bytes of a slice */
	SLOTS = 32,	    /* most short requests that workers have; each may
			     * keep the data of a READ */
	LONG_SLOTS = 16,    /* most digests, copies and other long requests */
	SLOW_US = 2000,	    /* a call that took so long waited for a disk */
	SLOW_FOR_US = 1000 * 1000, /* so long calls are then assumed to be
				    * slow */
	SUSPECTS = 64,
};

struct serve_io {
	struct ring *rings[2]; /* short requests, long requests */
	struct worker_pool *pool;
	TAILQ_HEAD(serve_ops, serve_op) running; /* what workers have */
	size_t count;
	struct wake wake;
};

/* ---- ops ---------------------------------------------------------------- */

void
serve_op_init(struct serve_op *op, uint32_t id)
{
	*op = (struct serve_op){ .id = id, .own.fd = -1,
		.file = { .slot = -1, .fd = -1 },
		.to_file = { .slot = -1, .fd = -1 } };
}

void
serve_op_clear(struct serve_op *op)
{
	free(op->path);
	free(op->path2);
	buf_clear(&op->data);
	buf_clear(&op->xattrs.set);
	serve_hash_free(op->hash);
	serve_sums_free(op->sums);
	serve_copy_free(op->copy);
	local_beneath_free(op->made);
	serve_walk_free(op->walk);
	if (op->own.fd >= 0)
		close(op->own.fd);
	if (op->own.dir != NULL)
		closedir(op->own.dir);
	serve_op_init(op, 0);
}

static void
run(struct serve_op *op)
{
	errno = 0;
	op->slice.unfinished = false;
	op->error = op->run(op) == 0 ? 0 : errno != 0 ? errno : EIO;
}

static void
answer(struct sftp_serve *s, struct serve_op *op)
{
	op->done(s, op);
	serve_op_clear(op);
}

bool
serve_slice_has_room(const struct serve_op *op, size_t did)
{
	return did < SERVE_SLICE || (did < SERVE_SLICE_MAX &&
	    op->slice.goes_first != NULL &&
	    !ring_has_ready(op->slice.goes_first));
}

int
serve_slice_blocks(struct serve_op *op, const uint64_t *left,
    int (*pass_hole)(struct serve_op *op),
    int (*next)(struct serve_op *op, size_t *did))
{
	size_t did = 0;
	int hole;

	while (op->flags == 0 && *left > 0 && serve_slice_has_room(op, did)) {
		hole = pass_hole(op);
		if (hole < 0 || (hole == 0 && next(op, &did) != 0))
			return -1;
		did += hole > 0 ? HOLE_COST : 0;
	}
	op->slice.unfinished = op->flags == 0 && *left > 0;
	return 0;
}

/* ---- workers ------------------------------------------------------------ */

static void
run_job(void *job, void **local)
{
	(void)local;
	run(job);
}

static void
wake(void *arg)
{
	const struct serve_io *io = arg;

	wake_up(&io->wake);
}

void
serve_io_free(struct sftp_serve *s)
{
	struct serve_io *io = s->io;
	struct serve_op *op, *next;

	if (io == NULL)
		return;
	worker_stop(io->pool);
	for (op = TAILQ_FIRST(&io->running); op != NULL; op = next) {
		next = TAILQ_NEXT(op, entry);
		serve_op_clear(op);
	}
	ring_free(io->rings[0]);
	ring_free(io->rings[1]);
	wake_close(&io->wake);
	free(io);
	s->io = NULL;
}

/* Starts the workers if they are not running. False: there are none, and the
 * loop does all work. */
static bool
have_workers(struct sftp_serve *s)
{
	struct worker_conf conf = { .threads = s->opts.threads,
		.over_forks = true, .run = run_job, .wake = wake };
	struct serve_io *io = s->io;

	if (io != NULL || s->opts.threads == 0)
		return io != NULL;
	io = s->io = calloc(1, sizeof *io);
	if (io == NULL)
		return false;
	io->rings[0] = ring_new(SLOTS, sizeof(struct serve_op));
	io->rings[1] = ring_new(LONG_SLOTS, sizeof(struct serve_op));
	conf.rings[0] = io->rings[0];
	conf.rings[1] = io->rings[1];
	conf.arg = io;
	if (wake_open(&io->wake) == 0 && io->rings[0] != NULL &&
	    io->rings[1] != NULL && worker_start(&io->pool, &conf) == 0)
		return true;
	serve_io_free(s);
	s->opts.threads = 0; /* starting workers is not tried again */
	return false;
}

int
sftp_serve_fd(const struct sftp_serve *s)
{
	return s->io != NULL ? s->io->wake.fd : -1;
}

long
serve_sleeps(void)
{
	struct rusage ru;

	return getrusage(PROC_USAGE_THREAD, &ru) == 0 ? ru.ru_nvcsw : 0;
}

/*
 * A call that took long either waited for a disk, or other processes used the
 * processor meanwhile. Only the first is a reason to use workers. To tell them
 * apart the sleeps of the thread are counted, which costs a system call; so
 * this is done only for the next SUSPECTS calls after a long one.
 */
void
serve_timer_begin(struct sftp_serve *s, struct serve_timer *t)
{
	*t = (struct serve_timer){ .sleeps = -1 };
	if (s->opts.threads == 0)
		return;
	t->sleeps = s->suspect > 0 ? serve_sleeps() : -1;
	t->since_us = clock_us();
}

void
serve_timer_end(struct sftp_serve *s, const struct serve_timer *t)
{
	uint64_t now;

	if (s->opts.threads == 0)
		return;
	now = clock_us();
	if (s->suspect > 0)
		s->suspect--;
	if (now - t->since_us < SLOW_US)
		return;
	s->suspect = SUSPECTS;
	if (t->sleeps >= 0 && serve_sleeps() > t->sleeps)
		s->slow_until_us = now + SLOW_FOR_US;
}

bool
serve_prefers_worker(struct sftp_serve *s)
{
	return (s->opts.eager || s->remote ||
		   (s->slow_until_us != 0 &&
		       clock_us() < s->slow_until_us)) &&
	    have_workers(s);
}

/* ---- order -------------------------------------------------------------- */

/*
 * Must b wait for the earlier request a? Two requests that only read never wait
 * for each other. Requests for different files may run in any order, but a path
 * may lead to any file. Opening neither sees nor changes data, unless it
 * truncates the file; and opening one path does not affect opening another.
 */
static bool
conflict(const struct serve_op *a, const struct serve_op *b)
{
	if (a->order.alone || b->order.alone)
		return true;
	if (a->order.touches == SERVE_TOUCHES_NOTHING ||
	    b->order.touches == SERVE_TOUCHES_NOTHING ||
	    (!a->order.changes && !b->order.changes))
		return false;
	if (a->order.touches == SERVE_TOUCHES_FILE &&
	    b->order.touches == SERVE_TOUCHES_FILE)
		return a->order.key.dev == b->order.key.dev &&
		    a->order.key.ino == b->order.key.ino &&
		    a->order.from < b->order.to && b->order.from < a->order.to;
	if (a->order.opens && b->order.opens)
		return strcmp(a->path, b->path) == 0;
	if (a->order.opens || b->order.opens)
		return a->order.touches == b->order.touches;
	return true;
}

bool
serve_must_wait(const struct sftp_serve *s, const struct serve_op *op)
{
	const struct serve_op *at;

	if (s->io == NULL)
		return false;
	TAILQ_FOREACH(at, &s->io->running, entry)
		if (conflict(at, op))
			return true;
	return false;
}

bool
sftp_serve_end(struct sftp_serve *s)
{
	s->state = SERVE_ENDS;
	if (s->has_parked)
		serve_op_clear(&s->parked);
	s->has_parked = false;
	buf_reset(&s->out);
	serve_collect(s);
	return !sftp_serve_has_work(s);
}

bool
sftp_serve_has_work(const struct sftp_serve *s)
{
	return s->has_parked || (s->io != NULL && s->io->count > 0);
}

/* ---- from the request to the reply -------------------------------------- */

static bool
post(struct sftp_serve *s, const struct serve_op *op)
{
	struct serve_io *io = s->io;
	struct ring *r = io->rings[op->duration == SERVE_LONG];
	struct serve_op *job = ring_next(r);

	if (job == NULL)
		return false;
	*job = *op;
	job->slice.goes_first =
	    op->duration == SERVE_LONG ? io->rings[0] : NULL;
	/* A digest waits for earlier writes, but once it runs no request has to
	 * wait for it. */
	if (op->hash != NULL || op->sums != NULL)
		job->order.touches = SERVE_TOUCHES_NOTHING;
	TAILQ_INSERT_HEAD(&io->running, job, entry);
	io->count++;
	ring_post(r);
	worker_kick(io->pool);
	return true;
}

static void
run_here(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_timer t;

	op->near = &s->near;
	serve_timer_begin(s, &t);
	run(op);
	while (op->slice.unfinished && op->error == 0) {
		if (s->opts.gone != NULL && s->opts.gone(s->opts.gone_arg))
			op->error = ECANCELED;
		else
			run(op);
	}
	serve_timer_end(s, &t);
	answer(s, op);
}

/* Runs the request or gives it to a worker. False: it cannot begin yet, since
 * it must wait for an earlier request, or all slots are in use. */
static bool
begin(struct sftp_serve *s, struct serve_op *op)
{
	bool worker;

	if (serve_must_wait(s, op))
		return false;
	/* A request that must be alone changes the state of the engine, so the
	 * loop runs it. */
	worker = !op->order.alone && (op->duration != SERVE_QUICK ?
	    have_workers(s) : serve_prefers_worker(s));
	if (worker)
		return post(s, op);
	run_here(s, op);
	return true;
}

void
serve_submit(struct sftp_serve *s, struct serve_op *op)
{
	ENSURE(!s->has_parked);
	if (!op->stays_near)
		serve_near_drop(&s->near);
	if (!begin(s, op)) {
		s->parked = *op;
		s->has_parked = true;
	}
	serve_op_init(op, 0);
}

static void
collect_one(struct sftp_serve *s, struct ring *r, struct serve_op *job)
{
	struct serve_op op = *job;

	TAILQ_REMOVE(&s->io->running, job, entry);
	s->io->count--;
	/* The next request in this slot must not find pointers of this one. */
	serve_op_init(job, 0);
	ring_release(r);
	if (s->state == SERVE_ENDS)
		serve_op_clear(&op);
	else if (op.slice.unfinished && op.error == 0)
		ENSURE(post(s, &op)); /* its slot is free again */
	else
		answer(s, &op);
}

static void
collect_done(struct sftp_serve *s)
{
	struct serve_io *io = s->io;
	struct serve_op *job;
	size_t turns;

	for (int i = 0; i < 2; i++)
		/* Only the requests that are pending now: unfinished slices are
		 * posted again, and could keep this loop busy for ever. */
		for (turns = ring_pending(io->rings[i]); turns > 0 &&
		    buf_len(&s->out) < SFTP_SERVE_OUTPUT_MAX &&
		    (job = ring_oldest(io->rings[i])) != NULL; turns--)
			collect_one(s, io->rings[i], job);
}

void
serve_collect(struct sftp_serve *s)
{
	struct serve_io *io = s->io;
	struct serve_op op;

	if (io == NULL)
		return;
	/* Called even if nothing is pending: a worker may signal a request that
	 * was collected already. */
	wake_seen(&io->wake);
	do {
		collect_done(s);
		if (buf_len(&s->out) >= SFTP_SERVE_OUTPUT_MAX)
			return; /* the caller calls again when output was
				 * sent */
		if (s->has_parked) {
			op = s->parked;
			s->has_parked = false;
			serve_op_init(&s->parked, 0);
			serve_submit(s, &op);
		}
		/* A worker signals only when the oldest request of its ring is
		 * done. So collect until ring_await() says that this one is not
		 * done yet. */
	} while ((ring_pending(io->rings[0]) > 0 &&
		     !ring_await(io->rings[0])) ||
	    (ring_pending(io->rings[1]) > 0 && !ring_await(io->rings[1])));
}
