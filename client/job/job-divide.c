/* SPDX-License-Identifier: ISC */
/*
 * Divides the files of a job into lists that take about the same time. A file's
 * weight is its size plus a constant, which stands for the time that any file
 * takes. Large files are dealt first, the largest at the beginning, each to the
 * list with the least weight. Small files are dealt in runs, in the order in
 * which the walk told them, so that those of a directory stay together. Only
 * large files are held in memory, and these are few: each has more than a
 * sixteenth of a list's weight.
 */
#include "client/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"

enum {
	FILE_COST = 100 * 1000, /* bytes */
	STEPS = 16,		/* runs of small files that make up a list's
				 * weight */
	PATH_BYTES_MAX = 65536,
};
/* A size is what a server tells: more than this is no more weight, so that sums
 * of a million files fit. */
#define SIZE_MOST (UINT64_C(1) << 44)

struct large {
	uint64_t size;
	long at; /* in the spool */
};

struct divide {
	int dir;
	FILE *spool;
	struct job_plan *p;
	uint64_t *weights; /* of the lists */
	uint64_t step;
	struct large *large;
	size_t n_large;
	/* A run of small files that is not in a list yet. */
	struct buf names;
	uint64_t count, bytes, weight;
};

static uint64_t
weight(uint64_t size)
{
	return MIN(size, SIZE_MOST) + FILE_COST;
}

int
job_spool(FILE *spool, const char *path, uint64_t size)
{
	size_t len = strlen(path) + 1;

	if (len > PATH_BYTES_MAX)
		return ERR_LIMIT;
	return fwrite(&size, sizeof size, 1, spool) == 1 &&
	    fwrite(path, 1, len, spool) == len ? 0 : ERR_SYSTEM;
}

/* Reads the next record of the spool: size, and path with its NUL. False: there
 * is no more. */
static bool
next(struct divide *d, struct buf *path, uint64_t *size)
{
	int c;

	buf_reset(path);
	if (fread(size, sizeof *size, 1, d->spool) != 1)
		return false;
	while ((c = getc(d->spool)) != EOF) {
		buf_put_u8(path, (uint8_t)c);
		if (c == '\0')
			return buf_err(path) == 0;
	}
	return false;
}

static uint32_t
least(const struct divide *d)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < d->p->n; i++)
		if (d->weights[i] < d->weights[best])
			best = i;
	return best;
}

/* Appends names, with their NULs, to the list with the least weight. */
static int
deal(struct divide *d, const struct buf *names, uint64_t count, uint64_t bytes,
    uint64_t weight_of_all)
{
	uint32_t to = least(d);
	char name[JOB_NAME_MAX];
	int fd, r;

	job_list_name(name, to + 1);
	fd = job_file(d->dir, name, O_WRONLY | O_APPEND);
	r = fd == -1 ? ERR_SYSTEM :
		       fd_write_all(fd, buf_data(names), buf_len(names));
	fd_close(&fd);
	d->weights[to] += weight_of_all;
	d->p->shards[to].names += count;
	d->p->shards[to].bytes += bytes;
	return r;
}

/* Reads the spool twice: to learn the sum of weights, from which follows what
 * counts as large, and to note the large files. ERR_LIMIT: the sum is more than
 * a number has room for; there would be more large files than expected. */
static int
weigh(struct divide *d)
{
	uint64_t all = 0, size;
	struct buf path = { 0 };

	rewind(d->spool);
	while (next(d, &path, &size) && all <= UINT64_MAX - weight(size))
		all += weight(size);
	if (!feof(d->spool)) {
		buf_clear(&path);
		return ferror(d->spool) ? ERR_SYSTEM : ERR_LIMIT;
	}
	d->step = all / d->p->n / STEPS + 1;
	d->large = xcalloc((size_t)d->p->n * STEPS, sizeof *d->large);
	rewind(d->spool);
	for (long at = 0; next(d, &path, &size); at = ftell(d->spool))
		if (weight(size) >= d->step)
			d->large[d->n_large++] = (struct large){ size, at };
	buf_clear(&path);
	return ferror(d->spool) ? ERR_SYSTEM : 0;
}

static int
cmp_large(const void *va, const void *vb)
{
	const struct large *a = va, *b = vb;

	if (a->size != b->size)
		return a->size < b->size ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

static int
deal_large(struct divide *d)
{
	struct buf path = { 0 };
	uint64_t size;
	int r = 0;

	qsort(d->large, d->n_large, sizeof *d->large, cmp_large);
	for (size_t i = 0; r == 0 && i < d->n_large; i++) {
		if (fseek(d->spool, d->large[i].at, SEEK_SET) == -1 ||
		    !next(d, &path, &size))
			r = ERR_SYSTEM;
		else
			r = deal(d, &path, 1, size, weight(size));
	}
	buf_clear(&path);
	return r;
}

static int
deal_waiting(struct divide *d)
{
	int r = d->count > 0 ?
	    deal(d, &d->names, d->count, d->bytes, d->weight) : 0;

	buf_reset(&d->names);
	d->count = d->bytes = d->weight = 0;
	return r;
}

static int
deal_small(struct divide *d)
{
	enum { WAITING_MAX = 1 << 20 }; /* bytes of names */
	struct buf path = { 0 };
	uint64_t size;
	int r = 0;

	rewind(d->spool);
	while (r == 0 && next(d, &path, &size)) {
		if (weight(size) >= d->step)
			continue;
		buf_put_buf(&d->names, &path);
		d->count++;
		d->bytes += size;
		d->weight += weight(size);
		if (d->weight >= d->step ||
		    buf_len(&d->names) > WAITING_MAX)
			r = deal_waiting(d);
	}
	if (r == 0)
		r = deal_waiting(d);
	if (r == 0 && ferror(d->spool))
		r = ERR_SYSTEM;
	buf_clear(&path);
	return r;
}

/* Makes the lists, empty. */
static int
make_lists(const struct divide *d)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i <= d->p->n; i++) {
		char name[JOB_NAME_MAX];

		job_list_name(name, i);
		r = job_put(d->dir, name, "", 0);
	}
	return r;
}

static int
seal_lists(struct divide *d)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i <= d->p->n; i++) {
		char name[JOB_NAME_MAX];
		int fd;

		job_list_name(name, i);
		fd = job_file(d->dir, name, O_RDONLY);
		r = fd == -1 || fsync(fd) == -1 ? ERR_SYSTEM :
		    job_digest(fd, d->p->shards[i - 1].digest);
		fd_close(&fd);
	}
	return r;
}

int
job_divide(int dir, FILE *spool, struct job_plan *p)
{
	struct divide d = { .dir = dir, .spool = spool, .p = p };
	int r;

	p->shards = xcalloc(p->n, sizeof *p->shards);
	d.weights = xcalloc(p->n, sizeof *d.weights);
	if ((r = make_lists(&d)) == 0 && (r = weigh(&d)) == 0 &&
	    (r = deal_large(&d)) == 0 && (r = deal_small(&d)) == 0)
		r = seal_lists(&d);
	buf_clear(&d.names);
	free(d.large);
	free(d.weights);
	return r;
}
