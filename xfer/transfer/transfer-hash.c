/* SPDX-License-Identifier: ISC */
/*
 * Digests of whole files, for manifests. A file that is done is kept until a
 * thread has read it on this host, where it is in the page cache: the source of
 * an upload, the target of a download. Before and after the reading it must be
 * the file that was copied; else the copy fails.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "crypto/digest.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	JOBS = 64, /* files open for digests at a time; a power of 2 */
	THREADS_MAX = 4,
	BLOCK = 256 * 1024,
	POLL_MS = 2, /* the loop polls, because a thread does not wake it */
};

struct hash_job {
	struct xfer_hashes *of;
	struct xfer_file *file;
	int fd;
	struct stat before;
	uint8_t digest[DIGEST_MAX_LEN];
	int error; /* errno; ESTALE: the file has changed; 0: none */
};

struct xfer_hashes {
	struct ring *jobs;
	struct worker_pool *pool;
	struct xfer_files waiting;
	size_t count; /* number of files, with those in jobs */
	atomic_bool stop;
};

/* ---- in a thread -------------------------------------------------------- */

static int
read_all(struct hash_job *j, uint8_t *block, struct digest *d)
{
	uint64_t at = 0;
	ssize_t n;

	while ((n = fd_pread(j->fd, block, BLOCK, at)) > 0) {
		if (atomic_load(&j->of->stop))
			return ECANCELED;
		if (digest_update(d, block, (size_t)n) != 0)
			return EIO;
		at += (uint64_t)n;
	}
	if (n < 0)
		return errno;
	return digest_final(d, j->digest) == 0 ? 0 : EIO;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	struct xfer_exact ea, eb;

	xfer_exact_from_stat(&ea, a);
	xfer_exact_from_stat(&eb, b);
	return a->st_size == b->st_size && ea.dev == eb.dev &&
	    ea.ino == eb.ino &&
	    ea.times[1].tv_sec == eb.times[1].tv_sec &&
	    ea.times[1].tv_nsec == eb.times[1].tv_nsec;
}

static void
run(void *job, void **local)
{
	struct hash_job *j = job;
	uint8_t *block = malloc(BLOCK);
	struct digest *d = NULL;
	struct stat after;

	(void)local;
	j->error = ENOMEM;
	if (block != NULL && digest_new(&d, DIGEST_SHA256) == 0)
		j->error = read_all(j, block, d);
	if (j->error == 0 && fstat(j->fd, &after) != 0)
		j->error = errno;
	else if (j->error == 0 && !is_same(&j->before, &after))
		j->error = ESTALE;
	digest_free(d);
	free(block);
}

/* ---- in the loop -------------------------------------------------------- */

static void
wake(void *arg)
{
	(void)arg;
}

static bool
start(struct xfer *x)
{
	struct xfer_hashes *h = calloc(1, sizeof *h);
	struct worker_conf conf = { .run = run, .wake = wake };
	size_t cpus = worker_cpus();

	if (h == NULL)
		return false;
	TAILQ_INIT(&h->waiting);
	conf.threads = MIN(cpus > 2 ? cpus - 1 : cpus, (size_t)THREADS_MAX);
	h->jobs = conf.rings[0] = ring_new(JOBS, sizeof(struct hash_job));
	if (h->jobs == NULL || worker_start(&h->pool, &conf) < 0) {
		ring_free(h->jobs);
		free(h);
		return false;
	}
	x->hashes = h;
	return true;
}

/* Ends f, with its digest or with an errno. */
static void
hashed(struct xfer_file *f, const uint8_t *digest, int error)
{
	struct xfer *x = f->x;

	x->hashes->count--;
	if (error == 0 && !x->over) {
		x->opts.summed(x->opts.report_arg, f->up, f->up ? f->remote :
			f->local, digest);
	} else if (!x->over) {
		xfer_report(x, f->local, local_error_text(error));
		f->failed = true;
	}
	xfer_file_free(f);
}

/* True if st is of the file that was copied. */
static bool
is_copied(const struct xfer_file *f, const struct stat *st)
{
	const struct xfer_exact *e = &f->source.exact;
	const struct sftp_attrs *a = &f->source.attrs;

	if (!S_ISREG(st->st_mode))
		return false;
	if ((a->flags & SFTP_A_SIZE) && f->source.size != 0 &&
	    (uint64_t)st->st_size != a->size)
		return false;
	return !f->up || !e->known || e->ino == 0 ||
	    (e->ino == (uint64_t)st->st_ino &&
		e->dev == (uint64_t)st->st_dev &&
		e->times[1].tv_sec == st->st_mtime);
}

/* Opens f for a thread. 0, or an errno; ESTALE: it is another file. */
static int
open_file(struct xfer_file *f, struct hash_job *j)
{
	enum local_links links = f->up ? f->links : xfer_target_links(f->x);

	*j = (struct hash_job){ .of = f->x->hashes, .file = f, .fd = -1 };
	if (f->at == NULL)
		return EINVAL;
	j->fd = local_open_source(f->at, f->name, links, &j->before);
	if (j->fd < 0)
		return errno;
	if (is_copied(f, &j->before))
		return 0;
	fd_close(&j->fd);
	return ESTALE;
}

bool
xfer_hash_takes(struct xfer_file *f)
{
	struct xfer *x = f->x;

	if (x->opts.summed == NULL || x->over || f->failed ||
	    f->state != XFER_DONE || f->source.symlink ||
	    x->origin.stream != NULL)
		return false;
	if (x->hashes == NULL && !start(x)) {
		xfer_report_errno(x, f->local, ENOMEM);
		f->failed = true;
		return false;
	}
	x->hashes->count++;
	TAILQ_INSERT_TAIL(&x->hashes->waiting, f, entry);
	return true;
}

static void
collect(struct xfer *x, const struct hash_job *job)
{
	struct hash_job j = *job;

	ring_release(x->hashes->jobs);
	fd_close(&j.fd);
	hashed(j.file, j.digest, j.error);
}

/* Gives waiting files to the threads, as far as there is room. */
static void
post(struct xfer *x)
{
	struct xfer_hashes *h = x->hashes;
	struct xfer_file *f;
	struct hash_job *j;
	bool posted = false;
	int error;

	while ((f = TAILQ_FIRST(&h->waiting)) != NULL &&
	    (j = ring_next(h->jobs)) != NULL) {
		error = open_file(f, j);
		if ((error == EMFILE || error == ENFILE) &&
		    ring_pending(h->jobs) > 0)
			break;
		TAILQ_REMOVE(&h->waiting, f, entry);
		if (error != 0) {
			hashed(f, NULL, error);
			continue;
		}
		ring_post(h->jobs);
		posted = true;
	}
	if (posted)
		worker_kick(h->pool);
}

bool
xfer_hash_turn(struct xfer *x)
{
	struct hash_job *j;
	size_t before;

	if (x->hashes == NULL)
		return false;
	before = x->hashes->count;
	while ((j = ring_oldest(x->hashes->jobs)) != NULL)
		collect(x, j);
	post(x);
	return x->hashes->count < before;
}

size_t
xfer_hash_count(const struct xfer *x)
{
	return x->hashes != NULL ? x->hashes->count : 0;
}

int
xfer_hash_wait_ms(const struct xfer *x)
{
	return xfer_hash_count(x) > 0 ? POLL_MS : -1;
}

void
xfer_hash_free(struct xfer *x)
{
	struct xfer_hashes *h = x->hashes;
	struct xfer_file *f;
	struct hash_job *j;

	if (h == NULL)
		return;
	atomic_store(&h->stop, true);
	while (ring_pending(h->jobs) > 0)
		if ((j = worker_wait(h->pool, h->jobs)) != NULL)
			collect(x, j);
	while ((f = TAILQ_FIRST(&h->waiting)) != NULL) {
		TAILQ_REMOVE(&h->waiting, f, entry);
		hashed(f, NULL, ECANCELED);
	}
	worker_stop(h->pool);
	ring_free(h->jobs);
	free(h);
	x->hashes = NULL;
}
