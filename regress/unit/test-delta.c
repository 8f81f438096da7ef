/* SPDX-License-Identifier: ISC */
/* Files of a plan that are copied over old ones: what both have is not sent,
 * and whatever happens meanwhile, the target is the source. */
#include "regress/unit/help.h"
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/delta/delta-internal.h"

enum { SIZE = 2 * 1024 * 1024 + 12345, MORE = 100000, CUT = 1000003 };

static uint8_t old[SIZE], new[SIZE + MORE];

static void
write_file(const char *name, const uint8_t *p, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(fd_pwrite_all(fd, p, len, 0), 0);
	close(fd);
}

static bool
same(void)
{
	return system("cmp -s from/f to/f") == 0;
}

/* A file with something put into it, over what it was before. */
static void
make_ends(void)
{
	plan_dir("from", 0755);
	plan_dir("to", 0755);
	fill_bytes(old, SIZE, 1);
	memcpy(new, old, CUT);
	fill_bytes(new + CUT, MORE, 2);
	memcpy(new + CUT + MORE, old + CUT, SIZE - CUT);
	write_file("from/f", new, SIZE + MORE);
	write_file("to/f", old, SIZE);
}

static struct host
own_host(void)
{
	return (struct host){ .seed = 1, .in_order = true };
}

/* Copies from/f over to/f. */
static int
copy(struct host *h, bool up, bool below, struct xfer_opts opts)
{
	struct xfer_order *o;

	plan_begin(up, below);
	o = plan_add(XFER_ORDER_COPY, "f", SFTP_A_MODE | SFTP_A_TIMES);
	plan_was(o, "f");
	opts.delta = true;
	return plan_run(h, opts);
}

/* Nothing but the file is at the target. */
static void
expect_target(void)
{
	assert_true(same());
	assert_int_equal(system("test \"$(ls -A to)\" = f"), 0);
}

static void
test_inserted(void **state)
{
	(void)state;
	for (int way = 0; way < 4; way++) {
		struct host h = own_host();
		struct xfer_opts opts = { .report = NULL };

		make_ends();
		assert_int_equal(copy(&h, way & 1, way & 2, opts), 0);
		expect_target();
		/* what was put in, two blocks, and the sums */
		assert_true(h.moved > MORE && h.moved < MORE + 60000);
		plan_end();
		plan_clean();
	}
}

/* A host without sums, an old file that is small: whole. */
static void
test_whole(void **state)
{
	(void)state;
	for (int up = 0; up < 2; up++) {
		struct xfer_opts opts = { .report = NULL };
		struct host h = plan_host(1);

		make_ends();
		assert_int_equal(copy(&h, up, true, opts), 0);
		expect_target();
		assert_true(h.moved > SIZE);
		plan_end();
		plan_clean();
		make_ends();
		h = own_host();
		assert_int_equal(truncate("to/f", DELTA_FILE_MIN - 1), 0);
		assert_int_equal(copy(&h, up, true, opts), 0);
		expect_target();
		assert_true(h.moved > SIZE);
		plan_end();
		plan_clean();
	}
}

/* Other shapes: the same, shorter, longer, all zeros, nothing in common. */
static void
test_shapes(void **state)
{
	static const size_t lens[] = { DELTA_FILE_MIN, 300000, SIZE, SIZE +
		MORE };

	(void)state;
	for (unsigned n = 0; n < 2 * ARRAY_LEN(lens) * ARRAY_LEN(lens) * 3;
	     n++) {
		size_t from = lens[n / 2 % 4], to = lens[n / 8 % 4];
		struct xfer_opts opts = { .sparse = n % 5 == 0 };
		struct host h = own_host();

		make_ends();
		if (n / 32 == 1)
			memset(new, 0, sizeof new);
		if (n / 32 == 2)
			fill_bytes(new, sizeof new, 3);
		write_file("from/f", new, from);
		write_file("to/f", n / 32 == 1 ? new : old, MIN(to,
		    (size_t)SIZE));
		assert_int_equal(copy(&h, n & 1, true, opts), 0);
		expect_target();
		if (n / 32 == 1 && !opts.sparse)
			assert_true(h.moved < 60000);
		plan_end();
		plan_clean();
	}
}

/* Holes of a source stay holes with -S. */
static void
test_sparse(void **state)
{
	struct xfer_opts opts = { .sparse = true };
	struct host h = own_host();
	struct stat st;

	(void)state;
	make_ends();
	memset(new + 500000, 0, 1000000);
	write_file("from/f", new, 500000);
	assert_int_equal(truncate("from/f", 1500000), 0);
	memset(old + 500000, 0, 1000000);
	memcpy(old, new, 400000);
	write_file("to/f", old, 1500000);
	assert_int_equal(copy(&h, true, true, opts), 0);
	expect_target();
	assert_int_equal(stat("to/f", &st), 0);
	assert_true(st.st_blocks * 512 < 600000);
	assert_true(h.moved < 200000);
	plan_end();
	plan_clean();
}

/* Another writes to the basis all the time. */
static void
change_basis(struct host *h, struct xfer *x)
{
	uint8_t byte = (uint8_t)h->turns;
	int fd = open("to/f", O_WRONLY);
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);

	if (f != NULL && xfer_delta_of(f) != NULL && fd >= 0) {
		h->most++;
		for (uint64_t at = 0; at < SIZE; at += 4000)
			assert_int_equal(fd_pwrite_all(fd, &byte, 1, at), 0);
	}
	fd_close(&fd);
}

static void
test_basis_changes(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 20; n++) {
		struct xfer_opts opts = { .report = NULL };
		struct host h = own_host();

		h.seed = n + 1;
		make_ends();
		h.watch = change_basis;
		assert_int_equal(copy(&h, n & 1, true, opts), 0);
		expect_target();
		assert_true(h.most > 0);
		plan_end();
		plan_clean();
	}
}

/* Once all sums are known, and before anything is copied, a byte of an upload's
 * basis changes; that of a download once it has been copied. */
static void
change_once(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);
	const struct xfer_delta *d = f != NULL ? xfer_delta_of(f) : NULL;
	int fd;

	if (h->most > 0 || d == NULL || d->copied == f->up ||
	    (f->up && (d->work.sums == NULL ||
		d->work.sums->filled < d->work.sums->count)))
		return;
	fd = open("to/f", O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(fd_pwrite_all(fd, (const uint8_t *)"?", 1, 77), 0);
	close(fd);
	h->most = 1;
}

static void
test_not_the_same(void **state)
{
	(void)state;
	for (int up = 0; up < 2; up++) {
		struct xfer_opts opts = { .report = NULL };
		struct host h = own_host();

		make_ends();
		h.watch = change_once;
		assert_int_equal(copy(&h, up, true, opts), 0);
		assert_int_equal(h.most, 1);
		expect_target();
		/* The server refuses the block, and nothing is digested. */
		if (up)
			assert_true(h.moved > SIZE / 2);
		plan_end();
		plan_clean();
	}
}

/* A server that lies: wrong sums, too few, too many. */
static void
test_bad_sums(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 6; n++) {
		struct xfer_opts opts = { .report = NULL };
		struct host h = own_host();

		h.lies.sums = n / 2 + 1;
		make_ends();
		assert_int_equal(copy(&h, n & 1, true, opts), 0);
		expect_target();
		assert_true(h.moved > SIZE);
		plan_end();
		plan_clean();
	}
}

static void
count_searching(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);
	const struct xfer_delta *d = f != NULL ? xfer_delta_of(f) : NULL;

	if (d != NULL && d->state == DELTA_SEARCHING) {
		assert_null(x->deltas->pool);
		h->most++;
	}
}

/* With one processor the loop searches, a MiB in a turn. Not every system lets
 * a process keep to one. */
static void
test_one_processor(void **state)
{
#ifdef CPU_SET
	cpu_set_t all, one;
	int cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	for (int up = 0; up < 2; up++) {
		struct xfer_opts opts = { .report = NULL };
		struct host h = own_host();

		make_ends();
		h.watch = count_searching;
		assert_int_equal(copy(&h, up, true, opts), 0);
		assert_true(h.most >= 2);
		expect_target();
		plan_end();
		plan_clean();
	}
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
#else
	(void)state;
	(void)count_searching;
	skip();
#endif
}

static void
count_handles(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);
	const struct xfer_handle *e;
	size_t n = 0;

	if (f == NULL || xfer_delta_of(f) == NULL)
		return;
	/* What is only waited for holds no memory of the search. */
	if (xfer_delta_of(f)->state == DELTA_OVER)
		assert_null(xfer_delta_of(f)->work.sums);
	TAILQ_FOREACH(e, &f->handles, entry)
		n++;
	h->most = MAX(h->most, n);
}

/* What is not at the basis moves over all streams, as a whole file does. It is
 * slow enough that the streams are there before its end, also on a machine that
 * has other work. */
static void
test_several_streams(void **state)
{
	enum { LARGE = 12 * 1024 * 1024 };
	uint8_t *p = malloc(LARGE);

	(void)state;
	assert_non_null(p);
	for (int up = 0; up < 2; up++) {
		struct xfer_opts opts = { .connections_max = 4,
			.rate_bytes = 15000000 };
		struct host h = own_host();

		make_ends();
		fill_bytes(p, LARGE, 9);
		memcpy(p + LARGE / 2, old, SIZE);
		write_file("from/f", p, LARGE);
		h.watch = count_handles;
		assert_int_equal(copy(&h, up, true, opts), 0);
		expect_target();
		assert_true(h.most > 1);
		plan_end();
		plan_clean();
	}
	free(p);
}

/* Streams end at any byte. */
static void
test_breaks(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 120; n++) {
		struct xfer_opts opts = { .retries = 5, .retry_wait_ms = 1,
			.connections_max = 1 + n / 2 % 2 * 3 };
		struct host h = own_host();

		h.seed = n;
		h.in_order = n % 3 != 0;
		h.greeted = true;
		h.cut_at = n & 1 ? 200 + n * n * 15 % (MORE + 20000) :
				   100 + 5 * n;
		make_ends();
		assert_int_equal(copy(&h, n & 1, true, opts), 0);
		expect_target();
		plan_end();
		plan_clean();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inserted),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_basis_changes),
		cmocka_unit_test(test_not_the_same),
		cmocka_unit_test(test_bad_sums),
		cmocka_unit_test(test_one_processor),
		cmocka_unit_test(test_several_streams),
		cmocka_unit_test(test_breaks),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
