/* SPDX-License-Identifier: ISC */
/*
 * Transfers over several streams that come and go: whatever is cut, reordered
 * or lost at whatever moment, what bears a target's name is the source's
 * content or what was there before, and going on makes it whole.
 */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/serve/sftp-serve-internal.h"

/* ---- whatever happens --------------------------------------------------- */

static const char *const tree[] = { "t/small", "t/empty", "t/d/medium",
	"t/d/s1", "t/d/s2", "t/d/s3", "t/d/s4",
	"t/d/e/large", "t/d/e/larger", "t/d/link", "t/d/e/name",
	"t/d/e/other", "t/d/e/sparse", NULL };

static void
make_tree(void)
{
	int fd;

	assert_int_equal(mkdir("t", 0755) | mkdir("t/d", 0755) |
	    mkdir("t/d/e", 0755), 0);
	host_make_file("t/small", 10, 1);
	host_make_file("t/empty", 0, 2);
	host_make_file("t/d/s1", 1, 6);
	host_make_file("t/d/s2", 65536, 7);
	host_make_file("t/d/s3", 65537, 8);
	host_make_file("t/d/s4", 20000, 9);
	host_make_file("t/d/medium", 300000, 3);
	host_make_file("t/d/e/large", 3000000, 4);
	host_make_file("t/d/e/larger", 9000001, 5);
	/* further names, and holes before, between and behind data */
	assert_int_equal(symlink("medium", "t/d/link"), 0);
	assert_int_equal(link("t/d/medium", "t/d/e/name") |
	    link("t/d/medium", "t/d/e/other"), 0);
	host_make_file("t/d/e/sparse", 0, 6);
	fd = open("t/d/e/sparse", O_WRONLY);
	assert_int_equal(pwrite(fd, "data", 4, 2000000), 4);
	assert_int_equal(pwrite(fd, "more", 4, 4999999), 4);
	assert_int_equal(ftruncate(fd, 6000001), 0);
	close(fd);
}

/* Nothing that bears a target's name is wrong. */
static void
expect_no_lie(unsigned seed)
{
	char copy_name[64];

	for (size_t i = 0; tree[i] != NULL; i++) {
		snprintf(copy_name, sizeof copy_name, "u%s", tree[i] + 1);
		if (access(copy_name, F_OK) == 0 &&
		    !host_same(tree[i], copy_name))
			fail_msg("seed %u: %s is not whole", seed, copy_name);
	}
}

static void
one_story(unsigned seed)
{
	struct host h = { .seed = seed * 7919 + 1 };
	struct xfer_opts opts = { .recursive = true, .retry_wait_ms = 1 };
	bool up = seed % 2 == 0;
	int r, tries = 0;

	opts.connections_max = 1 + host_random(&h, 4);
	opts.preserve = host_random(&h, 2) == 0;
	opts.verify = host_random(&h, 4) == 0;
	opts.block_bytes = host_random(&h, 2) == 0 ? 30000 : 0;
	opts.retries = host_random(&h, 3);
	opts.links = host_random(&h, 2) == 0;
	opts.hard_links = host_random(&h, 2) == 0;
	opts.sparse = host_random(&h, 2) == 0;
	h.no_digests = host_random(&h, 2) == 0;
	h.old_rename = host_random(&h, 4) == 0;
	h.no_small = host_random(&h, 3) != 0;
	h.no_stat_ns = host_random(&h, 2) == 0;
	h.odd_handles = host_random(&h, 3) == 0;
	h.lies.small = host_random(&h, 3) == 0;
	h.uneven = host_random(&h, 2) == 0;
	h.unordered = host_random(&h, 4) == 0;
	do {
		h.deadly = tries < 6 ? 20 + host_random(&h, 400) : 0;
		h.fatal = tries < 6 && host_random(&h, 2) == 0 ?
		    1 + host_random(&h, 200) : 0;
		h.refuse = tries < 6 ? host_random(&h, 2) : 0;
		r = host_copy(&h, up, "t", "u", opts);
		if (r == -1) {
			(void)host_reported("");
			fail_msg("seed %u, try %d", seed, tries);
		}
		expect_no_lie(seed);
		opts.resume = true;
	} while (r < 0 && ++tries < 10);
	if (r != 0)
		fail_msg("seed %u: %d", seed, r);
	/* The same; and parts that could not be told from files of somebody
	 * else. */
	if (system("diff -r -x '.*.hpn*' t u") != 0)
		fail_msg("seed %u", seed);
	assert_int_equal(system("rm -r u"), 0);
	if (host_reports.n != 0)
		fail_msg("seed %u: %s", seed, host_reports.v[0]);
}

/* HPN_STORIES=first-last: other ones, and no other test. */
static void
test_kills(void **state)
{
	const char *wanted = getenv("HPN_STORIES");
	unsigned first = 0, last = 49;

	(void)state;
	if (wanted != NULL && sscanf(wanted, "%u-%u", &first, &last) != 2)
		fail_msg("HPN_STORIES is not first-last");
	make_tree();
	for (unsigned seed = first; seed <= last; seed++)
		one_story(seed);
	assert_int_equal(system("rm -r t"), 0);
}

/* ---- parts -------------------------------------------------------------- */

static void
test_part_names(void **state)
{
	char longest[256], path[300];
	char *part = xfer_part_name("a/b.c", 1), *other;

	(void)state;
	assert_string_equal(part, "a/.b.c.hpnpart");
	free(part);
	part = xfer_part_name("x", 1);
	assert_string_equal(part, ".x.hpnpart");
	free(part);
	/* 255 bytes are not exceeded, and two names have two parts. */
	memset(longest, 'n', 255);
	longest[255] = '\0';
	snprintf(path, sizeof path, "/d/%s", longest);
	part = xfer_part_name(path, 1);
	path[strlen(path) - 1] = 'm';
	other = xfer_part_name(path, 1);
	assert_int_equal(strlen(part), 3 + 255);
	assert_string_not_equal(part, other);
	free(part);
	free(other);
	longest[246] = '\0';
	part = xfer_part_name(longest, 1);
	assert_int_equal(strlen(part), 255);
	assert_null(strchr(part, '~'));
	free(part);
}

static ino_t
inode(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	return st.st_ino;
}

static mode_t
mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 07777;
}

/* By another name, in blocks that come in any order, over several streams. */
static void
test_onto_itself(void **state)
{
	const struct xfer_opts ways[] = { { .in_place = true },
		{ .preserve = false }, { .sparse = true, .in_place = true },
		{ .in_place = true, .verify = true },
		{ .resume = true, .in_place = true } };

	(void)state;
	for (unsigned n = 0; n < 6 * ARRAY_LEN(ways); n++) {
		struct host h = { .seed = n + 1, .stock = n % 3 == 1,
			.unordered = n % 3 == 2 };
		size_t size = n % 5 == 0 ? 0 : n * 700001 % 9000000;

		host_make_file("src", size, n);
		host_make_file("same", size, n);
		assert_int_equal(n % 4 < 2 ? link("src", "name") :
			symlink("src", "name"), 0);
		assert_int_equal(host_copy(&h, n % 2 == 0, "src", "name",
		    ways[n % ARRAY_LEN(ways)]), 0);
		assert_true(host_same("src", "same"));
		assert_true(host_same("name", "same"));
		assert_int_equal(unlink("src") | unlink("name") |
		    unlink("same"), 0);
	}
	host_reported("");
}

/* What a link or another name leads to is written, a file is replaced. */
static void
test_targets(void **state)
{
	const struct xfer_opts plain = { .preserve = false };
	const struct xfer_opts in_place = { .in_place = true };
	struct host h = { .seed = 1 };

	(void)state;
	for (int up = 0; up < 2; up++) {
		ino_t before;

		host_make_file("src", 2000000, 1);
		host_make_file("dst", 3000000, 2);
		assert_int_equal(chmod("dst", 0604), 0);
		before = inode("dst");
		assert_int_equal(host_copy(&h, up, "src", "dst", plain), 0);
		assert_true(host_same("src", "dst"));
		assert_int_not_equal(inode("dst"), before);
		assert_int_equal(mode_of("dst"), 0604);
		/* in place */
		host_make_file("src", 1000, 3);
		before = inode("dst");
		assert_int_equal(host_copy(&h, up, "src", "dst", in_place), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(inode("dst"), before);
		/* a link */
		host_make_file("src", 2000, 4);
		assert_int_equal(symlink("dst", "link"), 0);
		assert_int_equal(host_copy(&h, up, "src", "link", plain), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(inode("dst"), before);
		/* a file with two names; of a server's only one with stat-ns
		 * tells */
		if (!up) {
			assert_int_equal(link("dst", "second"), 0);
			host_make_file("src", 2000000, 5);
			assert_int_equal(host_copy(&h, up, "src", "dst", plain),
			    0);
			assert_true(host_same("src", "second"));
			assert_int_equal(unlink("second"), 0);
		}
		/* a device */
		assert_int_equal(
		    host_copy(&h, up, "src", "/dev/null", plain), 0);
		assert_int_not_equal(access("/dev/.null.hpnpart", F_OK), 0);
		/* a source that may not be written, of many blocks */
		assert_int_equal(chmod("src", 0444) | unlink("dst"), 0);
		assert_int_equal(host_copy(&h, up, "src", "dst", plain), 0);
		assert_int_equal(mode_of("dst"), up ? 0444 : 0644);
		assert_int_equal(chmod("dst", 0644), 0);
		/* an old part is no obstacle, nor used, and stays */
		host_make_file(".dst.hpnpart", 3000000, 6);
		assert_int_equal(host_copy(&h, up, "src", "dst", plain), 0);
		assert_true(host_same("src", "dst"));
		host_make_file("same", 3000000, 6);
		assert_true(host_same("same", ".dst.hpnpart"));
		assert_int_equal(unlink(".dst.hpnpart") | unlink("same"), 0);
		assert_int_equal(unlink("src") | unlink("dst") |
		    unlink("link"), 0);
	}
	assert_int_equal(host_reports.n, 0);
}

static bool
is_part_left(void)
{
	return access(".dst.hpnpart", F_OK) == 0;
}

/* A part is used if it is of the source, as far as can be seen; a file that
 * only has its name is left alone. */
static void
test_resume_other(void **state)
{
	const struct xfer_opts resume = { .resume = true };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct host h = { .seed = 1 };

	(void)state;
	host_make_file("src", 5000000, 1);
	for (int i = 0; i < 4; i++) {
		bool up = i % 2 == 0;

		h.no_digests = i >= 2;
		for (size_t len = 0; len < 7000000; len += 2500000) {
			host_make_file(".dst.hpnpart", len, 1);
			assert_int_equal(
			    host_copy(&h, up, "src", "dst", resume), 0);
			assert_true(host_same("src", "dst"));
			assert_false(is_part_left());
			if (len == 0)
				continue;
			host_make_file(".dst.hpnpart", len, 2);
			host_make_file("other", len, 2);
			assert_int_equal(unlink("dst"), 0);
			assert_int_equal(
			    host_copy(&h, up, "src", "dst", resume), 0);
			assert_true(host_same("src", "dst"));
			assert_true(host_same("other", ".dst.hpnpart"));
			assert_int_equal(unlink(".dst.hpnpart"), 0);
		}
		/* complete, or of the same size only */
		assert_int_equal(host_copy(&h, up, "src", "dst", resume), 0);
		host_make_file("dst", 5000000, 2);
		assert_int_equal(utimensat(AT_FDCWD, "dst", old, 0), 0);
		assert_int_equal(host_copy(&h, up, "src", "dst", resume), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src") | unlink("other"), 0);
	assert_int_equal(host_reports.n, 0);
}

static uint64_t shown; /* most that was shown of a file before it was compared
			* to its end */

static void
see_progress(struct host *h, struct xfer *x)
{
	const struct xfer_file *f;

	(void)h;
	TAILQ_FOREACH(f, &x->files.comparing, compare.entry) {
		assert_true(f->item.done <= f->source.size);
		shown = MAX(shown, f->item.done);
	}
}

/* While a target is compared the progress shows how far. What differs in the
 * end is taken back. */
static void
test_comparing_shows(void **state)
{
	enum { SIZE = 40000000 }; /* two requests for digests */
	const struct xfer_opts resume = { .resume = true };
	struct host h = { .seed = 1, .watch = see_progress };
	int fd;

	(void)state;
	host_make_file("src", SIZE, 1);
	host_make_file("dst", SIZE, 1);
	for (int i = 0; i < 4; i++) {
		fd = open("dst", O_WRONLY);
		assert_true(fd >= 0);
		if (i >= 2)
			assert_int_equal(pwrite(fd, "x", 1, SIZE - 1), 1);
		close(fd);
		shown = 0;
		assert_int_equal(host_copy(&h, i % 2 == 0, "src", "dst",
		    resume), 0);
		assert_true(host_same("src", "dst"));
		assert_in_range(shown, 1000000, SIZE);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(unlink("dst"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* A part of several requests for digests, with a hole, a wrong byte and no
 * end; and with an end that the source has no more. */
static void
test_resume_holes(void **state)
{
	const struct xfer_opts resume = { .resume = true };
	const size_t size = 40000000, hole = 1500000, there = 36000000;
	struct host h = { .seed = 1 };
	struct buf src = { 0 };
	int fd;

	(void)state;
	host_make_file("src", size, 1);
	assert_int_equal(file_read("src", &src, size), 0);
	for (int i = 0; i < 8; i++) {
		h.no_digests = i >= 4;
		fd = open(".dst.hpnpart", O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		assert_int_equal(fd_write_all(fd, buf_data(&src), hole), 0);
		assert_int_equal(lseek(fd, 6000000, SEEK_SET), 6000000);
		assert_int_equal(fd_write_all(fd, buf_data(&src) + 6000000,
		    there - 6000000), 0);
		assert_int_equal(pwrite(fd, "x", 1, 35000000), 1);
		if (i % 2 == 1)
			assert_int_equal(ftruncate(fd, 50000000), 0);
		close(fd);
		assert_int_equal(host_copy(&h, i % 4 < 2, "src", "dst", resume),
		    0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(is_part_left(), h.no_digests);
		(void)unlink(".dst.hpnpart");
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	buf_clear(&src);
}

static void
test_verify(void **state)
{
	const struct xfer_opts verify = { .verify = true };
	struct host h = { .seed = 1 };

	(void)state;
	host_make_file("src", 2000000, 1);
	for (int i = 0; i < 4; i++) {
		h.no_digests = i >= 2;
		assert_int_equal(
		    host_copy(&h, i % 2 == 0, "src", "dst", verify), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	for (int i = 0; i < 2; i++) {
		h.no_digests = i == 0;
		h.corrupt = 2;
		assert_int_equal(
		    host_copy(&h, false, "src", "dst", verify), -1);
		assert_true(host_reported("src: NOT THE SAME at both ends"));
		assert_int_not_equal(access("dst", F_OK), 0);
		assert_int_not_equal(access(".dst.hpnpart", F_OK), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* A source that becomes shorter, after all of it was asked for. */
static void
test_shrinks(void **state)
{
	struct host h = { .seed = 1, .shrink = "src" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct xfer_opts opts = { .in_place = i == 1 };

		host_make_file("src", 3000000, 1);
		h.shrink = "src";
		assert_int_equal(host_copy(&h, true, "src", "dst", opts), -1);
		assert_true(host_reported(
		    "src: changed while it was being read"));
		if (i == 0)
			assert_int_not_equal(access("dst", F_OK), 0);
		assert_int_equal(unlink(i == 0 ? ".dst.hpnpart" : "dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* Nor is anything put where a source ends before its size: no marks, no end
 * of an old part, no zeros. */
static void
test_shorter_than_told(void **state)
{
	struct host h = { .seed = 1, .lies.size = 20000000 };

	(void)state;
	host_make_file("src", 3000000, 1);
	for (int i = 0; i < 8; i++) {
		const struct xfer_opts opts = { .resume = i % 2 == 1,
			.verify = i >= 4 };

		h.no_digests = i % 4 >= 2;
		host_make_file(".dst.hpnpart", 5000000, 2);
		assert_int_equal(host_copy(&h, false, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst") | unlink(".dst.hpnpart"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* ---- servers that do requests in any order ------------------------------ */

static void
expect_copied(const char *from, const char *to)
{
	struct stat a, b;

	assert_true(host_same(from, to));
	assert_int_equal(stat(from, &a) | stat(to, &b), 0);
	assert_int_equal(a.st_mtime, b.st_mtime);
	assert_int_equal(a.st_mode, b.st_mode);
}

/* What is set is set when the data is there, and the size before the time.
 * Golang's pkg/sftp does WRITE beside what follows it. */
static void
test_unordered(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 5000 },
		{ .tv_sec = 6000 } };

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		struct host h = { .seed = i, .unordered = true,
			.old_rename = i % 3 == 0, .odd_handles = i % 2 == 0 };
		struct xfer_opts opts = { .preserve = true, .fsync = i % 4 < 2,
			.connections_max = 1 + i % 3, .resume = i % 5 >= 3,
			.block_bytes = 100000, .verify = i % 7 == 6 };
		bool up = i % 6 != 5, cut = i % 5 == 4;

		/* With marks behind it, from 8 MiB on. */
		host_make_file("src", i % 2 == 0 ? 1000000 : 9000000, i);
		assert_int_equal(chmod("src", 0640), 0);
		assert_int_equal(utimensat(AT_FDCWD, "src", old, 0), 0);
		if (cut)
			host_make_file(".dst.hpnpart", 9500000, i + 1);
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		expect_copied("src", "dst");
		assert_int_equal(is_part_left(), cut);
		if (cut)
			assert_int_equal(unlink(".dst.hpnpart"), 0);
		assert_int_equal(unlink("src") | unlink("dst"), 0);
	}
	assert_int_equal(host_reports.n, 0);
}

/* ---- a guessed handle --------------------------------------------------- */

/* Handles of files that the server has open before the last turn of a run. */
static void
count_handles(struct host *h, struct xfer *x)
{
	const struct sftp_serve *s = h->streams[0].server;

	(void)x;
	h->most = 0;
	for (int i = 0; i < s->handles_cap; i++)
		h->most += s->handles[i].kind == SERVE_FILE;
}

/* The guess is another file's handle, so its CLOSE succeeds: the handle that
 * the server has given is closed all the same. */
static void
test_wrong_guess(void **state)
{
	const struct xfer_opts opts = { .preserve = true };

	(void)state;
	host_make_file("src", 1000, 1);
	for (int i = 0; i < 4; i++) {
		struct host h = { .seed = 1, .stock = true, .no_small = true,
			.odd_handles = i >= 2, .watch = count_handles };
		bool up = i % 2 == 0;

		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		/* A download does not wait for the answer to its CLOSE. */
		assert_true(h.most <= (up ? 0 : 1));
		assert_true(host_same("src", "dst") && !is_part_left());
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* Round trips of the upload of one small file of that mode to a stock server
 * whose version is known. */
static unsigned
trips_of(bool is_new, mode_t mode, mode_t there)
{
	const struct xfer_opts opts = { .connections_max = 1 };
	struct host h = { .seed = 1, .stock = true, .steady = true,
		.greeted = true, .is_new = is_new };
	unsigned before;
	struct stat st;

	host_make_file("src", 1000, 1);
	assert_int_equal(chmod("src", mode), 0);
	if (there != 0) {
		host_make_file("dst", 500, 2);
		assert_int_equal(chmod("dst", there), 0);
	}
	before = h.turns;
	assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
	assert_true(host_same("src", "dst") && !is_part_left());
	assert_int_equal(stat("dst", &st), 0);
	assert_int_equal(st.st_mode & 0777,
	    there != 0 ? there : mode & ~(mode_t)022);
	assert_int_equal(unlink("src") | unlink("dst"), 0);
	assert_int_equal(host_reports.n, 0);
	return h.turns - before;
}

/* The data leaves with the OPEN of its part where the server has just said that
 * there is no target, or where nobody else could read it; only the rename waits
 * for that. It never does so for a target that has come meanwhile and may not
 * be read by others. */
static void
test_trips_of_small_files(void **state)
{
	unsigned private, fresh;

	(void)state;
	private = trips_of(false, 0600, 0);
	fresh = trips_of(true, 0666, 0);
	assert_int_equal(fresh, private);
	assert_int_equal(trips_of(false, 0644, 0), fresh + 1);
	assert_true(trips_of(true, 0644, 0600) > fresh + 1);
}

/* To STAT a link to nothing is no target either. It is written through, as
 * ever. */
static void
test_new_behind_a_link(void **state)
{
	const struct xfer_opts opts = { .connections_max = 1 };
	struct host h = { .seed = 1, .stock = true, .is_new = true };

	(void)state;
	host_make_file("src", 1000, 1);
	assert_int_equal(symlink("to", "dst"), 0);
	assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
	assert_true(host_same("src", "to") && !is_part_left());
	assert_int_equal(unlink("src") | unlink("dst") | unlink("to"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* ---- streams ------------------------------------------------------------ */

static void
test_several_streams(void **state)
{
	const struct xfer_opts opts = { .connections_max = 4 };
	struct host h = { .seed = 1 };

	(void)state;
	host_make_file("src", 20000000, 1);
	assert_int_equal(host_copy(&h, true, "src", "up", opts), 0);
	assert_int_equal(h.opened, 4);
	assert_int_equal(host_copy(&h, false, "src", "down", opts), 0);
	assert_int_equal(h.opened, 8);
	/* Three are refused: the first does it alone. */
	h.refuse = 4;
	assert_true(host_same("src", "up") && host_same("src", "down"));
	assert_int_equal(unlink("src") | unlink("up") | unlink("down"), 0);
}

/* An upload of a second or so over a path that pays for more of both kinds,
 * one of which (or none: 2) is refused. */
static void
copy_refusing(struct host *h, int kind, unsigned connections)
{
	const struct xfer_opts opts = { .rate_bytes = 15000000,
		.connections_max = connections, .retries = 1,
		.retry_wait_ms = 1 };

	h->seed = 1;
	h->path = (struct xfer_stream_stats){ .rtt_us = 20000,
		.send_window = 64 * 1024 };
	if (kind < 2)
		h->refuses[kind] = true;
	host_make_file("src", 20000000, 1);
	assert_int_equal(host_copy(h, true, "src", "up", opts), 0);
	assert_true(host_same("src", "up"));
	assert_int_equal(unlink("src") | unlink("up"), 0);
}

/* A connection that is refused says nothing of channels. */
static void
test_connections_refused(void **state)
{
	struct host h = { .seed = 1 };

	(void)state;
	copy_refusing(&h, XFER_STREAM_CONNECTION, 4);
	/* The first, and those that were asked for at once: no more. */
	assert_int_equal(h.asked[XFER_STREAM_CONNECTION], 1 + 3);
	assert_int_equal(h.asked[XFER_STREAM_CHANNEL], 7);
}

/* And the other way round. */
static void
test_channels_refused(void **state)
{
	struct host h = { .seed = 1 };

	(void)state;
	copy_refusing(&h, XFER_STREAM_CHANNEL, 0);
	assert_int_equal(h.asked[XFER_STREAM_CHANNEL], 7);
	assert_true(h.asked[XFER_STREAM_CONNECTION] >= 1 + 3);
}

/* A copy that goes on after a break is as fast as it was: what was refused,
 * or had, before the break does not count. */
static void
test_growth_after_a_break(void **state)
{
	struct host h = { .seed = 1, .cut_at = 10000000 };

	(void)state;
	copy_refusing(&h, 2, 1);
	assert_int_equal(h.asked[XFER_STREAM_CHANNEL], 2 * 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_names),
		cmocka_unit_test(test_onto_itself),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_wrong_guess),
		cmocka_unit_test(test_trips_of_small_files),
		cmocka_unit_test(test_new_behind_a_link),
		cmocka_unit_test(test_several_streams),
		cmocka_unit_test(test_connections_refused),
		cmocka_unit_test(test_channels_refused),
		cmocka_unit_test(test_growth_after_a_break),
		cmocka_unit_test(test_resume_other),
		cmocka_unit_test(test_resume_holes),
		cmocka_unit_test(test_comparing_shows),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_shorter_than_told),
		cmocka_unit_test(test_kills),
	};

	if (getenv("HPN_STORIES") != NULL)
		cmocka_set_test_filter("test_kills");
	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
