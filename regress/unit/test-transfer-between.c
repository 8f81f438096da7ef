/* SPDX-License-Identifier: ISC */
/*
 * Copies between two hosts, each of which is a server engine of ours: what
 * arrives, what is told of what does not, how much is kept in memory, and that
 * the end of either session ends the copy.
 */
#include "regress/unit/memory-carrier.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/transfer/transfer.h"

static struct strlist reports;

static void
report(void *arg, const char *tried, const char *path, const char *text)
{
	char line[4096];

	(void)arg;
	snprintf(line, sizeof line, "%s%s%s: %s", tried ? tried : "",
	    tried ? " " : "", path, text);
	assert_int_equal(strlist_add(&reports, line), 0);
}

/* Two hosts; or one, if they are the same. */
struct hosts {
	struct memory from, to;
	struct sftp *a, *b;
};

static void
hosts_begin(struct hosts *h, unsigned seed, uint32_t data_max)
{
	memory_begin(&h->from, seed, seed % 2 == 1, data_max);
	memory_begin(&h->to, seed + 1, seed % 2 == 0, 0);
	h->from.mate = &h->to;
	h->to.mate = &h->from;
	h->a = h->from.client;
	h->b = h->to.client;
}

static void
hosts_end(struct hosts *h)
{
	h->from.mate = h->to.mate = NULL;
	memory_end(&h->from);
	memory_end(&h->to);
}

/* The result of the run, or how many have failed. */
static long
copy(struct hosts *h, const char *source, const char *target,
    struct xfer_opts opts)
{
	struct sftp_attrs attrs;
	struct xfer *x;
	long r;

	opts.report = report;
	opts.in_place = true;
	assert_int_equal(sftp_call_stat(h->a, source, true, &attrs), 0);
	assert_int_equal(xfer_new_between(&x, h->a, h->b, &opts), 0);
	assert_int_equal(xfer_copy(x, source, &attrs, target), 0);
	r = xfer_run(x);
	if (r == 0)
		r = (long)xfer_failures(x);
	xfer_free(x);
	return r;
}

/* ---- what arrives ------------------------------------------------------- */

static void
test_files(void **state)
{
	static const size_t sizes[] = { 0, 1, 261119, 261120, 261121,
		3000000 };
	static const struct xfer_opts variants[] = {
		{ .preserve = false },
		{ .preserve = true, .budget_bytes = 1000 },
		{ .block_bytes = 7000, .requests_max = 3 },
	};
	struct hosts h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(variants); i++) {
		fill_file("src", sizes[i / 3], (unsigned)i);
		hosts_begin(&h, (unsigned)i, i % 3 == 1 ? 1111 : 0);
		/* A longer target does not show behind the end. */
		fill_file("out", 300000, 9);
		assert_int_equal(copy(&h, "src", "out", variants[i % 3]), 0);
		hosts_end(&h);
		assert_true(same_files("src", "out"));
	}
	assert_int_equal(unlink("src") | unlink("out"), 0);
}

/* The sources may be on the host that has the targets. */
static void
test_one_host(void **state)
{
	struct hosts h;
	char name[32];

	(void)state;
	assert_int_equal(mkdir("t", 0755) | mkdir("t/d", 0755), 0);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "t/%s%u", i % 2 ? "d/" : "", i);
		fill_file(name, i * 100, i);
	}
	memory_begin(&h.from, 3, false, 0);
	h.a = h.b = h.from.client;
	assert_int_equal(copy(&h, "t", "up", (struct xfer_opts){
				 .recursive = true, .preserve = true }), 0);
	memory_end(&h.from);
	assert_int_equal(system("diff -r t up && rm -r t up"), 0);
}

static void
test_attributes(void **state)
{
	const struct timespec ts[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 2000 } };
	struct hosts h;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("p", 0755), 0);
	fill_file("p/f", 10, 1);
	assert_int_equal(chmod("p/f", 0461) |
	    utimensat(AT_FDCWD, "p/f", ts, 0) | chmod("p", 0511) |
	    utimensat(AT_FDCWD, "p", ts, 0), 0);
	hosts_begin(&h, 1, 0);
	assert_int_equal(copy(&h, "p", "kept", (struct xfer_opts){
				 .recursive = true, .preserve = true }), 0);
	assert_int_equal(copy(&h, "p/f", "plain", (struct xfer_opts){
				 .recursive = false }), 0);
	hosts_end(&h);
	assert_int_equal(stat("kept/f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0461);
	assert_int_equal(st.st_mtime, 2000);
	assert_int_equal(stat("kept", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0511);
	assert_int_equal(st.st_mtime, 2000);
	assert_int_equal(stat("plain", &st), 0);
	assert_int_not_equal(st.st_mtime, 2000);
	assert_int_equal(system("chmod -R u+w p kept && rm -r p kept plain"),
	    0);
}

/* Its size is told as 0, so it is read until it ends. */
static void
test_no_size(void **state)
{
	struct hosts h;

	(void)state;
	hosts_begin(&h, 2, 10);
	assert_int_equal(copy(&h, "/proc/version", "v",
			     (struct xfer_opts){ .preserve = false }), 0);
	hosts_end(&h);
	assert_true(same_files("/proc/version", "v"));
	assert_int_equal(unlink("v"), 0);
}

/* ---- what does not ------------------------------------------------------ */

static void
expect(const char *line)
{
	if (!strlist_has(&reports, line) || reports.n != 1) {
		for (size_t i = 0; i < reports.n; i++)
			print_message("reported: %s\n", reports.v[i]);
		fail_msg("not reported, or not alone: %s", line);
	}
	strlist_clear(&reports);
}

static void
test_failures(void **state)
{
	const struct xfer_opts plain = { .preserve = false };
	const struct xfer_opts tree = { .recursive = true };
	struct hosts h;

	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir("d/sub", 0755) |
	    mkdir("busy", 0755) | mkfifo("d/fifo", 0644), 0);
	fill_file("d/sub/g", 10, 1);
	fill_file("f", 10, 1);
	hosts_begin(&h, 1, 0);
	assert_int_equal(copy(&h, "f", "none/x", plain), 1);
	expect("dest open none/x: No such file or directory");
	assert_int_equal(copy(&h, "f", "busy", plain), 1);
	expect("dest open busy: Is a directory");
	assert_int_equal(copy(&h, "d", "x", plain), 1);
	expect("d: is a directory (use -r)");
	assert_int_equal(copy(&h, "d/fifo", "x", plain), 1);
	expect("d/fifo: not a regular file");
	/* What can be moved is moved. */
	assert_int_equal(copy(&h, "d", "e", tree), 1);
	expect("d/fifo: not a regular file");
	assert_true(same_files("d/sub/g", "e/sub/g"));
	assert_int_equal(system("rm -r e d/fifo"), 0);
	/* Not even the target is made of what cannot be read. */
	assert_int_equal(symlink("nowhere", "d/broken"), 0);
	assert_int_equal(copy(&h, "d", "e", tree), 1);
	expect("d/broken: No such file or directory");
	assert_int_not_equal(access("e/broken", F_OK), 0);
	assert_int_equal(system("rm -r e d/broken"), 0);
	assert_int_equal(copy(&h, "d", "f", tree), 1);
	expect("f: Not a directory");
	hosts_end(&h);
	assert_int_equal(system("rm -r d f busy"), 0);
}

/* A file that cannot be opened although it is there, for whoever runs this. */
static void
test_unreadable(void **state)
{
	const struct sftp_attrs gone = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
		.mode = S_IFREG | 0644, .size = 10 };
	const struct sftp_attrs huge = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
		.mode = S_IFREG | 0644, .size = UINT64_MAX };
	const struct xfer_opts opts = { .in_place = true, .report = report };
	struct hosts h;
	struct xfer *x;

	(void)state;
	hosts_begin(&h, 1, 0);
	assert_int_equal(xfer_new_between(&x, h.a, h.b, &opts), 0);
	assert_int_equal(xfer_copy(x, "gone", &gone, "out"), 0);
	assert_int_equal(xfer_run(x), 0);
	expect("remote open gone: No such file or directory");
	assert_int_equal(xfer_copy(x, "huge", &huge, "out"), 0);
	assert_int_equal(xfer_run(x), 0);
	expect("huge: File too large");
	assert_int_equal(xfer_failures(x), 2);
	xfer_free(x);
	hosts_end(&h);
	assert_int_not_equal(access("out", F_OK), 0);
}

/* Nothing can compare, or read again, so what needs that is refused. */
static void
test_refused_options(void **state)
{
	static const struct xfer_opts refused[] = {
		{ .in_place = false },
		{ .in_place = true, .links = true },
		{ .in_place = true, .hard_links = true },
		{ .in_place = true, .sparse = true },
		{ .in_place = true, .resume = true },
		{ .in_place = true, .append = true },
		{ .in_place = true, .verify = true },
		{ .in_place = true, .retries = 1 },
	};
	struct hosts h;
	struct xfer *x;

	(void)state;
	hosts_begin(&h, 1, 0);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_int_equal(xfer_new_between(&x, h.a, h.b, &refused[i]),
		    ERR_UNSUPPORTED);
	hosts_end(&h);
}

/* ---- sessions that stop, or end ----------------------------------------- */

/* The carrier of the target's session. */
struct bad {
	struct hosts *h;
	unsigned every;	   /* it is moved in one turn of so many; 0: each */
	unsigned moves;	   /* turns until nothing is taken from it any more */
	unsigned turns;	   /* until `ends` ends */
	struct sftp *ends;
	size_t most;	   /* output of the target's session */
};

static int
bad_turn(void *arg, int timeout_ms)
{
	struct bad *bad = arg;

	(void)timeout_ms;
	bad->h->from.mate = bad->moves > 0 &&
		(bad->every == 0 || bad->turns % bad->every == 0) ?
	    &bad->h->to : NULL;
	bad->moves -= bad->moves > 0;
	if (bad->turns-- == 0)
		(void)!sftp_feed_end(bad->ends, ERR_CLOSED);
	else
		(void)!sftp_step(bad->h->a, false, 0);
	bad->most = MAX(bad->most, sftp_output_len(bad->h->b));
	return 0;
}

static void
bad_wake(void *arg)
{
	struct bad *bad = arg;

	bad->h->to.woken = true;
}

static const struct xfer_carrier_ops bad_ops = {
	.turn = bad_turn,
	.wake = bad_wake,
};

static long
copy_badly(struct hosts *h, struct bad *bad, const char *source,
    const char *target, struct xfer_opts opts)
{
	bad->h = h;
	sftp_attach(h->b, (struct xfer_carrier){ &bad_ops, bad });
	return copy(h, source, target, opts);
}

/* A directory that cannot be made: whenever that is known, what is in it does
 * not wait for it. */
static void
test_failed_directory(void **state)
{
	struct hosts h;
	char name[32];

	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir("d/sub", 0755) |
	    mkdir("d/sub/below", 0755) | mkdir("e", 0755), 0);
	fill_file("d/sub/below/f", 10, 1);
	fill_file("e/sub", 3, 3);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "d/sub/%u", i);
		assert_int_equal(symlink("below/f", name), 0);
	}
	for (unsigned every = 1; every < 8; every++) {
		struct bad bad = { .every = every, .moves = UINT_MAX,
			.turns = UINT_MAX };

		hosts_begin(&h, every, 0);
		assert_int_equal(copy_badly(&h, &bad, "d", "e",
				     (struct xfer_opts){ .recursive = true }),
		    1);
		expect("e/sub: Not a directory");
		hosts_end(&h);
	}
	assert_int_equal(system("rm -r d e"), 0);
}

/* A target that takes nothing: what is read ahead of it has a limit, and does
 * come that far. */
static void
test_memory(void **state)
{
	enum { BUDGET = 1024 * 1024, HEADS = 256 * 1024 };
	struct hosts h;
	struct bad bad = { .moves = 20, .turns = 300 };

	(void)state;
	fill_file("src", 16 * BUDGET, 1);
	hosts_begin(&h, 0, 0);
	bad.ends = h.b;
	assert_int_equal(copy_badly(&h, &bad, "src", "out",
			     (struct xfer_opts){ .budget_bytes = BUDGET }),
	    ERR_CLOSED);
	hosts_end(&h);
	assert_in_range(bad.most, BUDGET / 2, BUDGET + HEADS);
	assert_int_equal(unlink("src") | unlink("out"), 0);
}

/* Either session ends in any turn. The other one is over then as well, and
 * nothing is left that refers to the transfer: ASan would tell. */
static void
test_ends(void **state)
{
	struct hosts h;
	char name[32];

	(void)state;
	assert_int_equal(mkdir("t", 0755) | mkdir("t/d", 0755), 0);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "t/%s%u", i % 2 ? "d/" : "", i);
		fill_file(name, i % 7 * 50000, i);
	}
	assert_int_equal(symlink("0", "t/link"), 0);
	for (unsigned turns = 0; turns < 60; turns++) {
		struct bad bad = { .moves = UINT_MAX, .turns = turns / 2 };

		hosts_begin(&h, turns, 0);
		bad.ends = turns % 2 ? h.a : h.b;
		assert_int_equal(copy_badly(&h, &bad, "t", "out",
				     (struct xfer_opts){ .recursive = true }),
		    ERR_CLOSED);
		assert_int_equal(sftp_error(h.a), ERR_CLOSED);
		assert_int_equal(sftp_error(h.b), ERR_CLOSED);
		assert_int_equal(sftp_pending(h.a) + sftp_pending(h.b), 0);
		hosts_end(&h);
		assert_int_equal(system("rm -rf out"), 0);
	}
	assert_int_equal(reports.n, 0);
	assert_int_equal(system("rm -r t"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_one_host),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_refused_options),
		cmocka_unit_test(test_failed_directory),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
