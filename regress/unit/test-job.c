/* SPDX-License-Identifier: ISC */
/*
 * Jobs: each name of a plan is in one list, whatever sizes a server tells, the
 * lists take about the same time, and a plan that was changed is none.
 */
#include "regress/unit/help.h"
#include "regress/unit/dice.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/job/job.h"

enum { NAMES_MAX = 3000 };

static int
make_job(void)
{
	int dir;

	assert_int_equal(job_make("job", &dir), 0);
	return dir;
}

static void
remove_job(int dir)
{
	fd_close(&dir);
	assert_int_equal(system("rm -rf job"), 0);
}

/* Counts in seen the names of a list, "N" or "N-xxx...". */
static void
read_list(int dir, uint32_t shard, const struct job_shard *s, unsigned *seen,
    const uint64_t *sizes)
{
	char name[JOB_NAME_MAX];
	uint8_t digest[JOB_DIGEST];
	uint64_t names = 0, bytes = 0;
	struct buf b = { 0 };
	const char *p, *end;
	int fd;

	job_list_name(name, shard);
	fd = job_file(dir, name, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(job_digest(fd, digest), 0);
	assert_memory_equal(digest, s->digest, JOB_DIGEST);
	assert_int_equal(fd_read_file(fd, &b, 1 << 28), 0);
	fd_close(&fd);
	p = (const char *)buf_data(&b);
	for (end = p + buf_len(&b); p < end; p += strlen(p) + 1) {
		unsigned long i = strtoul(p, NULL, 10);

		assert_true(i < NAMES_MAX);
		seen[i]++;
		names++;
		bytes += sizes[i];
	}
	assert_true(names == s->names && bytes == s->bytes);
	buf_clear(&b);
}

/* Divides n names of these sizes. Returns job_divide()'s result. */
static int
divide(struct job_plan *p, int dir, const uint64_t *sizes, size_t n, size_t len)
{
	FILE *spool = tmpfile();
	char *name = xcalloc(1, len + 32);
	int r;

	assert_non_null(spool);
	for (size_t i = 0; i < n; i++) {
		int at = snprintf(name, 32, "%zu-", i);

		memset(name + at, 'x', len);
		name[(size_t)at + len] = '\0';
		assert_int_equal(job_spool(spool, name, sizes[i]), 0);
	}
	r = job_divide(dir, spool, p);
	fclose(spool);
	free(name);
	return r;
}

static void
check(const struct job_plan *p, int dir, const uint64_t *sizes, size_t n)
{
	unsigned *seen = xcalloc(NAMES_MAX, sizeof *seen);

	for (uint32_t i = 0; i < p->n; i++)
		read_list(dir, i + 1, &p->shards[i], seen, sizes);
	for (size_t i = 0; i < NAMES_MAX; i++)
		if (seen[i] != (i < n))
			fail_msg("name %zu is in %u lists", i, seen[i]);
	free(seen);
}

static void
test_random(void **state)
{
	static uint64_t sizes[NAMES_MAX];

	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct dice d = { seed };
		struct job_plan p = { .n = 1 + dice_below(&d, 20) };
		size_t n = dice_below(&d, NAMES_MAX);
		uint64_t most = 0, smallest = UINT64_MAX, biggest = 0, w;
		int dir = make_job();

		for (size_t i = 0; i < n; i++) {
			sizes[i] = dice_below(&d, UINT32_MAX) >>
			    dice_below(&d, 32);
			most = MAX(most, sizes[i]);
		}
		assert_int_equal(divide(&p, dir, sizes, n, seed % 7), 0);
		check(&p, dir, sizes, n);
		/* No list has more than another by more than its largest file
		 * and a run of small ones; a file costs at least 100 KB. */
		for (uint32_t i = 0; i < p.n; i++) {
			w = p.shards[i].bytes + p.shards[i].names * 100000;
			smallest = MIN(smallest, w);
			biggest = MAX(biggest, w);
		}
		assert_true(biggest - smallest <= most + 100000 +
		    smallest / 4 + biggest / 8);
		remove_job(dir);
		job_clear_plan(&p);
	}
}

/* Sizes are what a server tells: their sum may be more than 64 bits. */
static void
test_any_sizes(void **state)
{
	static const uint64_t some[] = { UINT64_MAX, UINT64_C(1) << 63,
		UINT64_MAX - 100000, UINT64_C(1) << 62, INT64_MAX, 1 };
	static uint64_t sizes[NAMES_MAX];
	int r, dir;

	(void)state;
	for (unsigned seed = 1; seed <= 30; seed++) {
		struct dice d = { seed };
		struct job_plan p = { .n = 1 + dice_below(&d, 4) };
		size_t n = seed <= 10 ? 64 * p.n : dice_below(&d, NAMES_MAX);

		for (size_t i = 0; i < n; i++)
			sizes[i] = seed <= 10 ? some[seed % 2] :
			    some[dice_below(&d, sizeof some / sizeof *some)];
		dir = make_job();
		r = divide(&p, dir, sizes, n, 3);
		assert_int_equal(r, 0);
		check(&p, dir, sizes, n);
		remove_job(dir);
		job_clear_plan(&p);
	}
}

/* Names as long as a spool takes, and one that is too long. */
static void
test_long_names(void **state)
{
	static uint64_t sizes[NAMES_MAX];
	struct job_plan p = { .n = 3 };
	char *name = xcalloc(1, 70000);
	FILE *spool = tmpfile();
	int dir = make_job();

	(void)state;
	for (size_t i = 0; i < 60; i++)
		sizes[i] = i;
	assert_int_equal(divide(&p, dir, sizes, 60, 65000), 0);
	check(&p, dir, sizes, 60);
	memset(name, 'x', 65536);
	assert_non_null(spool);
	assert_int_equal(job_spool(spool, name, 1), ERR_LIMIT);
	name[65535] = '\0';
	assert_int_equal(job_spool(spool, name, 1), 0);
	fclose(spool);
	free(name);
	remove_job(dir);
	job_clear_plan(&p);
}

static void
put_back(int dir, const uint8_t *bytes, size_t len)
{
	assert_int_equal(job_put(dir, "plan", bytes, len), 0);
}

/* A plan is what was written; each byte that differs, and each cut, is told. */
static void
test_plan(void **state)
{
	static uint64_t sizes[NAMES_MAX] = { 5, 6, 7 };
	struct job_plan p = { .n = 2 }, got;
	struct buf b = { 0 };
	int dir = make_job(), fd;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(job_get_plan(dir, &got), ERR_SYSTEM); /* none yet */
	assert_int_equal(divide(&p, dir, sizes, 3, 0), 0);
	p.cwd = xstrdup("/a/b");
	xstrlist_add(&p.argv, "hpnsync");
	xstrlist_add(&p.argv, "");
	xstrlist_add(&p.argv, "a b\n");
	assert_int_equal(job_put_plan(dir, &p), 0);
	assert_int_equal(job_get_plan(dir, &got), 0);
	assert_string_equal(got.cwd, "/a/b");
	assert_int_equal(got.argv.n, 3);
	assert_string_equal(got.argv.v[2], "a b\n");
	assert_int_equal(got.n, 2);
	assert_memory_equal(got.shards, p.shards, 2 * sizeof *p.shards);
	assert_false(job_is_marked(dir, &got, 1));
	assert_int_equal(job_mark(dir, &got, 1, 0), 0);
	assert_true(job_is_marked(dir, &got, 1));
	assert_false(job_is_marked(dir, &got, 2));
	/* Another plan in the same directory: the mark is not its own. */
	xstrlist_add(&p.argv, "-v");
	job_clear_plan(&got);
	assert_int_equal(job_put_plan(dir, &p), 0);
	assert_int_equal(job_get_plan(dir, &got), 0);
	assert_false(job_is_marked(dir, &got, 1));
	job_clear_plan(&got);

	fd = job_file(dir, "plan", O_RDONLY);
	assert_int_equal(fd_read_file(fd, &b, 1 << 20), 0);
	fd_close(&fd);
	bytes = malloc(buf_len(&b));
	assert_non_null(bytes);
	for (size_t i = 0; i < buf_len(&b); i++) {
		memcpy(bytes, buf_data(&b), buf_len(&b));
		bytes[i] ^= 0x40;
		put_back(dir, bytes, buf_len(&b));
		assert_int_equal(job_get_plan(dir, &got), ERR_FORMAT);
		put_back(dir, buf_data(&b), i);
		assert_true(job_get_plan(dir, &got) < 0);
	}
	put_back(dir, buf_data(&b), buf_len(&b));
	assert_int_equal(job_get_plan(dir, &got), 0);
	job_clear_plan(&got);
	/* Others may not write what is run. */
	assert_int_equal(fchmodat(dir, "plan", 0620, 0), 0);
	assert_int_equal(job_get_plan(dir, &got), ERR_PERMISSION);
	assert_int_equal(chmod("job", 0770), 0);
	assert_int_equal(job_open("job", &fd), ERR_PERMISSION);
	free(bytes);
	buf_clear(&b);
	remove_job(dir);
	job_clear_plan(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_any_sizes),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_plan),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
