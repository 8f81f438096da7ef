/* SPDX-License-Identifier: ISC */
/*
 * Reads the attributes of a walk's names ahead, by threads. On a remote file
 * system each takes a round trip, and a walk that asks for one after the other
 * only waits. Threads get names and the descriptor of their directory, and only
 * call fstatat(2); small directories they also read (sftp-serve-walk-early.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "xfer/serve/sftp-serve-walk.h"

enum {
	THREADS = 32,
	JOBS = 64,
	DIRS = 128,
	POLL_US = 50, /* how long the walk sleeps before it looks again */
	AHEAD = JOBS * 8, /* names at a time */
};

struct ahead_job {
	struct walk_early *dir; /* the directory to be read; NULL: attributes
				 * are read for names of an open directory */
	bool help;		/* another thread reads dir already */
	int fd;
	const char *const *names; /* borrowed, as all else here */
	struct walk_stat *out;
	size_t count;
};

struct walk_ahead {
	struct ring *ring, *dirs; /* of names; of directories */
	struct worker_pool *pool;
	/* What was read: of `count` names from number `from` on, of the load of
	 * names with this number. */
	uint64_t load;
	size_t from, count;
	struct walk_stat stats[AHEAD];
};

static void
run(void *arg, void **local)
{
	struct ahead_job *job = arg;

	(void)local;
	if (job->dir != NULL) {
		if (job->help)
			walk_early_help(job->dir);
		else
			walk_early_read(job->dir);
		return;
	}
	for (size_t i = 0; i < job->count; i++) {
		struct walk_stat *s = &job->out[i];

		s->error = fstatat(job->fd, job->names[i], &s->st,
			       AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
	}
}

/* Never called, since nobody sleeps until a job is done. */
static void
wake(void *arg)
{
	(void)arg;
}

struct walk_ahead *
walk_ahead_new(void)
{
	struct walk_ahead *a = calloc(1, sizeof *a);
	struct worker_conf conf = { .threads = THREADS, .over_forks = true,
		.run = run, .wake = wake };

	if (a == NULL)
		return NULL;
	conf.rings[0] = a->ring = ring_new(JOBS, sizeof(struct ahead_job));
	conf.rings[1] = a->dirs = ring_new(DIRS, sizeof(struct ahead_job));
	if (a->ring == NULL || a->dirs == NULL ||
	    worker_start(&a->pool, &conf) != 0) {
		walk_ahead_free(a);
		return NULL;
	}
	return a;
}

void
walk_ahead_free(struct walk_ahead *a)
{
	if (a == NULL)
		return;
	worker_stop(a->pool);
	ring_free(a->ring);
	ring_free(a->dirs);
	free(a);
}

static void
fill(struct walk_ahead *a, const struct walk_dirs *w, size_t from)
{
	int fd = walk_dirs_fd(w);
	size_t each, n;

	a->load = w->loads;
	a->from = from;
	a->count = MIN(w->names_count - from, (size_t)AHEAD);
	each = (a->count + JOBS - 1) / JOBS;
	for (size_t i = 0; i < a->count; i += n) {
		struct ahead_job *job = ring_next(a->ring);

		n = MIN(a->count - i, each);
		*job = (struct ahead_job){ .fd = fd,
			.names = w->names + from + i, .out = a->stats + i,
			.count = n };
		ring_post(a->ring);
	}
	worker_kick(a->pool);
	while (worker_wait(a->pool, a->ring) != NULL)
		ring_release(a->ring);
}

int
walk_ahead_stat(struct walk_ahead *a, const struct walk_dirs *w,
    struct stat *st)
{
	size_t at = w->next - 1;
	const struct walk_stat *s;

	if (w->early == NULL && (a->load != w->loads || at < a->from ||
	    at >= a->from + a->count))
		fill(a, w, at);
	s = w->early != NULL ? &w->early->stats[at] : &a->stats[at - a->from];
	*st = s->st;
	errno = s->error;
	return s->error == 0 ? 0 : -1;
}

/* Directories that the threads are done with make room for others. */
static void
collect(struct walk_ahead *a)
{
	const struct ahead_job *job;

	while ((job = ring_oldest(a->dirs)) != NULL) {
		job->dir->done = true;
		ring_release(a->dirs);
	}
}

bool
walk_ahead_read(struct walk_ahead *a, struct walk_early *e)
{
	struct ahead_job *job;

	collect(a);
	job = ring_next(a->dirs);
	if (job == NULL)
		return false;
	*job = (struct ahead_job){ .dir = e };
	ring_post(a->dirs);
	return true;
}

void
walk_ahead_go(struct walk_ahead *a)
{
	worker_kick(a->pool);
}

/* Has further threads read attributes of the directory, before they begin with
 * another one. */
static void
share(struct walk_ahead *a, struct walk_early *e)
{
	struct ahead_job *job;

	for (size_t n = walk_early_left(e); n > 1; n--) {
		job = ring_next(a->ring);
		if (job == NULL || !walk_early_hold(e))
			break;
		*job = (struct ahead_job){ .dir = e, .help = true };
		ring_post(a->ring);
	}
	worker_kick(a->pool);
}

/* The walk itself takes no directory: while it read one, nobody would tell the
 * others. */
void
walk_ahead_wait(struct walk_ahead *a, struct walk_early *e)
{
	const struct timespec poll = { .tv_nsec = POLL_US * 1000L };
	bool shared = false;

	for (collect(a); !e->done; collect(a)) {
		if (!shared && walk_early_left(e) > 1) {
			share(a, e);
			shared = true;
		}
		nanosleep(&poll, NULL);
	}
	while (worker_wait(a->pool, a->ring) != NULL)
		ring_release(a->ring);
}
