/* SPDX-License-Identifier: ISC */
/*
 * Transfers on file systems that fail, and beside others that write to the
 * same names: what bears a target's name is whole or what was there before,
 * and what a part is believed to hold is there.
 *
 * This program's own close(), fsync() and pwrite() fail where a test says so.
 */
#include "regress/unit/transfer-host.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/part-lock.h"
#include "xfer/part-name.h"

#define PART ".dst.hpnpart"
enum { LARGE = 9000000 }; /* marks are made */

/* ---- system calls that fail --------------------------------------------- */

static struct {
	const char *name; /* of files, the end of it; NULL: of none */
	int close, fsync, write; /* errno; 0: it works */
	long room; /* bytes, then writes fail */
} fault;

enum { PATH_ROOM = 4096 };

static const char *
path_of(int fd, char path[PATH_ROOM])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_ROOM - 1);
	path[n < 0 ? 0 : n] = '\0';
	return path;
}

static bool
is_named(int fd, const char *name)
{
	char path[PATH_ROOM];
	size_t len = strlen(name), n = strlen(path_of(fd, path));

	return n >= len && strcmp(path + n - len, name) == 0;
}

static bool
is_faulty(int fd)
{
	return fault.name != NULL && is_named(fd, fault.name);
}

/* What others could do with a part while something was written to it. */
static bool watched;
static mode_t others_could;
static unsigned writes_seen;

static void
watch(int fd)
{
	char path[PATH_ROOM];
	struct stat st;

	if (!watched || !xfer_is_part(path_of(fd, path)) || fstat(fd, &st) != 0)
		return;
	others_could |= st.st_mode & 077;
	writes_seen++;
}

ssize_t
write(int fd, const void *p, size_t len)
{
	watch(fd);
	return syscall(SYS_write, fd, p, len);
}

static int
fails(int error)
{
	errno = error;
	return -1;
}

int
close(int fd)
{
	bool bad = fault.close != 0 &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && is_faulty(fd);
	int r = (int)syscall(SYS_close, fd);

	return bad ? fails(fault.close) : r;
}

int
fsync(int fd)
{
	if (fault.fsync != 0 && is_faulty(fd))
		return fails(fault.fsync);
	return (int)syscall(SYS_fsync, fd);
}

ssize_t
pwrite(int fd, const void *p, size_t len, off_t offset)
{
	watch(fd);
	if (fault.write != 0 && is_faulty(fd)) {
		if ((long)len > fault.room)
			return fails(fault.write);
		fault.room -= (long)len;
	}
	return syscall(SYS_pwrite64, fd, p, len, offset);
}

static void
works_again(void)
{
	fault.name = NULL;
	fault.close = fault.fsync = fault.write = 0;
}

static bool
exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* ---- what could not be stored ------------------------------------------- */

/* The part goes: what it holds is known by nobody. */
static void
test_close_fails(void **state)
{
	struct host h = { .seed = 1 };

	(void)state;
	host_make_file("src", LARGE, 1);
	for (int i = 0; i < 12; i++) {
		bool up = i % 2 == 0, whole = i < 8;
		struct xfer_opts opts = { .fsync = !whole };

		h.no_digests = i % 4 >= 2;
		opts.connections_max = whole && i >= 4 ? 3 : 1;
		fault.name = PART;
		fault.close = whole ? EIO : 0;
		fault.fsync = whole ? 0 : EIO;
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), -1);
		assert_true(host_reported("dst: Input/output error"));
		assert_false(exists("dst"));
		assert_false(exists(PART));
		works_again();
		opts.resume = true;
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* A target that was written in place is not taken for complete. */
static void
test_close_fails_in_place(void **state)
{
	struct xfer_opts opts = { .in_place = true, .preserve = true };
	struct host h = { .seed = 1, .no_digests = true };
	const struct timespec old[2] = { { .tv_sec = 5000 },
		{ .tv_sec = 5000 } };
	struct stat st;

	(void)state;
	host_make_file("src", LARGE, 1);
	assert_int_equal(utimensat(AT_FDCWD, "src", old, 0), 0);
	for (int up = 0; up < 2; up++) {
		fault.name = "/dst";
		fault.close = EIO;
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), -1);
		strlist_clear(&host_reports);
		works_again();
		assert_int_equal(stat("dst", &st), 0);
		assert_int_not_equal(st.st_mtime, 5000);
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* No room: the part stays, and is gone on with when there is some. Unless
 * the file system has lost what it had taken before. */
static void
test_quota(void **state)
{
	static const int errors[] = { EDQUOT, ENOSPC, EIO };
	struct host h = { .seed = 1 };
	struct stat st;

	(void)state;
	host_make_file("src", LARGE, 1);
	for (int i = 0; i < 24; i++) {
		bool up = i % 2 == 0, lost = i % 8 >= 4;
		struct xfer_opts opts = { .resume = true };
		char line[200];

		h.no_digests = i % 4 >= 2;
		fault.name = PART;
		fault.write = errors[i / 8];
		fault.room = 5000000;
		fault.fsync = lost ? EIO : 0;
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), -1);
		snprintf(line, sizeof line, "dst: %s",
		    strerror(fault.write));
		assert_true(host_reported(line));
		assert_false(exists("dst"));
		assert_int_equal(exists(PART), !lost);
		if (!lost) {
			assert_int_equal(stat(PART, &st), 0);
			assert_true(st.st_blocks * 512 > 2000000);
		}
		works_again();
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		assert_false(exists(PART));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* ---- what others may read ----------------------------------------------- */

/* What takes the place of a file that only its owner reads is as private from
 * the beginning, though everybody reads its source. Nobody reads the data of
 * a part of which he could not read the target, with any server. */
static void
test_part_is_private(void **state)
{
	static const size_t sizes[] = { 1000, 100000, LARGE };
	struct stat st;

	(void)state;
	watched = true;
	for (unsigned i = 0; i < 24 * ARRAY_LEN(sizes); i++) {
		struct host h = { .seed = 1, .stock = i % 4 == 2,
			.no_small = i % 4 == 1, .no_stat_ns = i % 4 == 1,
			.odd_handles = i % 4 == 3 };
		bool up = i / 4 % 2 == 0;
		struct xfer_opts opts = { .resume = i / 8 % 3 == 1,
			.preserve = i / 8 % 3 == 2 };
		mode_t mode = opts.preserve ? 0640 : 0600;

		host_make_file("src", sizes[i / 24], 1);
		assert_int_equal(chmod("src", opts.preserve ? 0640 : 0644), 0);
		host_make_file("dst", 500, 2);
		assert_int_equal(chmod("dst", 0600), 0);
		others_could = writes_seen = 0;
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(writes_seen > 0);
		assert_int_equal(others_could & ~mode, 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(stat("dst", &st), 0);
		assert_int_equal(st.st_mode & 07777, mode);
		assert_false(exists(PART));
		/* A file that was not there is as its source. */
		assert_int_equal(unlink("dst"), 0);
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_int_equal(stat("dst", &st), 0);
		assert_int_equal(st.st_mode & 07777, opts.preserve ? 0640 :
								      0644);
		assert_int_equal(unlink("src") | unlink("dst"), 0);
	}
	watched = false;
	assert_int_equal(host_reports.n, 0);
}

/* Of a tree nothing more is begun. */
static void
test_full_ends(void **state)
{
	static const int errors[] = { ENOSPC, EDQUOT };
	struct host h = { .seed = 3 };
	char name[32];

	(void)state;
	assert_int_equal(mkdir("src", 0755), 0);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "src/f%03u", i);
		host_make_file(name, 100000, i);
	}
	for (int i = 0; i < 4; i++) {
		struct xfer_opts opts = { .recursive = true, .files_max = 2 };

		fault.name = ".hpnpart";
		fault.write = errors[i / 2];
		fault.room = 0;
		assert_int_equal(host_copy(&h, i % 2 == 0, "src", "dst",
			opts), -1);
		assert_in_range(host_reports.n, 1, 4);
		strlist_clear(&host_reports);
		works_again();
		assert_int_equal(system("rm -rf dst"), 0);
	}
	assert_int_equal(system("rm -rf src"), 0);
}

/* ---- names that are taken ----------------------------------------------- */

/* A part that is another name of something is not written through. */
static void
test_part_of_two_names(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 5000 },
		{ .tv_sec = 5000 } };
	struct host h = { .seed = 1 };

	(void)state;
	host_make_file("src", LARGE, 1);
	host_make_file("copy", LARGE + 500, 2);
	for (int i = 0; i < 8; i++) {
		struct xfer_opts opts = { .resume = true,
			.hard_links = i >= 4 };
		bool up = i % 2 == 0;

		h.no_digests = i % 4 >= 2;
		host_make_file("other", LARGE + 500, 2);
		assert_int_equal(link("other", PART), 0);
		assert_int_equal(utimensat(AT_FDCWD, "other", old, 0), 0);
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		assert_true(host_same("copy", "other"));
		assert_true(host_same("copy", PART));
		assert_int_equal(unlink("dst") | unlink("other") |
		    unlink(PART), 0);
	}
	assert_int_equal(unlink("src") | unlink("copy"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* Whenever a copy of hard links is killed, no part is a name of a file that
 * is there: a server that cannot tell would have it written. */
static void
test_killed_at_a_link(void **state)
{
	struct xfer_opts opts = { .recursive = true, .hard_links = true };
	int r = ERR_CANCELLED;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	host_make_file("t/a", 1000, 1);
	assert_int_equal(link("t/a", "t/b") | link("t/a", "t/c"), 0);
	for (unsigned turns = 2; r != 0; turns++) {
		for (int up = 0; up < 2; up++) {
			struct host h = { .seed = turns, .fatal = turns,
				.no_stat_ns = up };
			struct stat st;

			assert_int_equal(mkdir("u", 0755), 0);
			host_make_file("u/b", 10, 2);
			host_make_file("u/c", 10, 3);
			r = host_copy(&h, up, "t", "u", opts);
			if (stat("u/.b.hpnpart", &st) == 0)
				assert_int_equal(st.st_nlink, 1);
			if (stat("u/.c.hpnpart", &st) == 0)
				assert_int_equal(st.st_nlink, 1);
			h.fatal = 0;
			opts.resume = true;
			assert_int_equal(host_copy(&h, up, "t", "u", opts),
			    0);
			opts.resume = false;
			assert_int_equal(system("diff -r -x '.*' t u"), 0);
			assert_int_equal(system("test $(find u ! -name '.*' "
			    "-samefile u/a | wc -l) = 3"), 0);
			assert_int_equal(system("rm -r u"), 0);
		}
		assert_true(turns < 500);
	}
	assert_int_equal(system("rm -r t"), 0);
}

/* A file that only has the name of a part, or of a link that is being made, is
 * left alone, also where a link is made. */
static void
test_old_links(void **state)
{
	const struct xfer_opts opts = { .recursive = true, .hard_links = true,
		.links = true, .resume = true };

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	host_make_file("t/a", 1000, 1);
	assert_int_equal(link("t/a", "t/b") | symlink("a", "t/c"), 0);
	for (int up = 0; up < 2; up++) {
		struct host h = { .seed = 1 };

		assert_int_equal(mkdir("u", 0755), 0);
		host_make_file("u/.a.hpnlink", 10, 2);
		host_make_file("u/.b.hpnlink", 10, 3);
		host_make_file("u/.c.hpnlink", 10, 3);
		host_make_file("u/.b.hpnpart", 10, 3);
		host_make_file("u/.c.hpnpart", 10, 3);
		assert_int_equal(host_copy(&h, up, "t", "u", opts), 0);
		assert_int_equal(system("diff -r -x '.*' t u && "
		    "test $(ls -A u | wc -l) = 8"), 0);
		assert_int_equal(system("rm -r u"), 0);
	}
	assert_int_equal(system("rm -r t"), 0);
}

static void
make_links(const char *dir, unsigned n, const char *to, bool hard)
{
	char name[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/l%02u", dir, i);
		assert_int_equal(hard ? link(to, name) : symlink(to, name), 0);
	}
}

/* Streams end at random, when the server has answered once. */
static void
breaks(struct host *h, struct xfer *x)
{
	struct xfer_stream *l = xfer_stream_first(x);

	if (l != NULL && sftp_has_version(l->s))
		h->deadly = 60;
}

/* An answer that is lost when a link was renamed already, or made: the copy
 * ends right, and tells no failure. */
static void
test_links_over_breaks(void **state)
{
	const struct xfer_opts opts = { .recursive = true, .links = true,
		.hard_links = true, .preserve = true, .retry_wait_ms = 1,
		.connections_max = 3, .retries = 12 };

	(void)state;
	for (unsigned i = 0; i < 24; i++) {
		struct host h = { .seed = i, .old_rename = i % 4 == 1,
			.watch = breaks };

		assert_int_equal(mkdir("t", 0755) | mkdir("t/s", 0755) |
		    mkdir("t/h", 0755) | mkdir("u", 0755) |
		    mkdir("u/s", 0755) | mkdir("u/h", 0755), 0);
		host_make_file("t/a", 100, 1);
		host_make_file("u/x", 50, 2);
		make_links("t/s", 20, "to", false);
		make_links("t/h", 5, "t/a", true);
		make_links("u/s", 20, "from", false);
		make_links("u/h", 5, "u/x", true);
		assert_int_equal(host_copy(&h, true, "t", "u", opts), 0);
		assert_int_equal(host_reports.n, 0);
		assert_int_equal(unlink("u/x"), 0);
		assert_int_equal(system("test \"$(find u -name '.*')\" = '' &&"
		    " diff -r --no-dereference t u"), 0);
		assert_int_equal(system("rm -r t u"), 0);
	}
}

static void
put_in(const char *dir, char *name, const char *link_to, const char *text)
{
	char path[200];
	int fd;

	assert_non_null(name);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	free(name);
	if (link_to != NULL) {
		assert_int_equal(symlink(link_to, path), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* What a killed copy has left where it made links goes with the next one. A
 * file that is not one, or is in the tree itself, stays. */
static void
test_left_links(void **state)
{
	const struct xfer_opts opts = { .recursive = true, .links = true,
		.hard_links = true, .preserve = true };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct host h = { .seed = i, .stock = i == 1 };
		bool planned = i % 3 == 2;

		assert_int_equal(mkdir("t", 0755) | mkdir("u", 0755), 0);
		host_make_file("t/a", 1000, 1);
		assert_int_equal(link("t/a", "t/b") | symlink("a", "t/c") |
		    symlink("a", "t/d") | symlink("x", "u/c") |
		    symlink("x", "u/d"), 0);
		host_make_file("u/a", 1000, 2);
		host_make_file("u/b", 1000, 2);
		/* a, b, c: left; d: his own, of that name, and the next
		 * one. Of a and b one is the link. */
		put_in("u", xfer_link_name("a", 1), "any", NULL);
		put_in("u", xfer_link_name("b", 1), "any", NULL);
		put_in("u", xfer_link_name("c", 1), "any", NULL);
		put_in("u", xfer_link_name("d", 1), NULL, "his");
		put_in("u", xfer_link_name("d", 2), "left", NULL);
		if (planned) /* in the tree: whatever it is */
			put_in("t", xfer_link_name("c", 1), "planned", NULL);
		if (i % 3 == 0)
			assert_int_equal(system("for l in u/.[ab].*; do cp -p "
			    "--remove-destination t/a \"$l\"; done"), 0);
		assert_int_equal(host_copy(&h, i < 3, "t", "u", opts), 0);
		assert_int_equal(system("diff -r --no-dereference -x '.*' t u "
		    "&& test u/a -ef u/b"), 0);
		assert_int_equal(system("test $(ls -A u | grep -c hpnlink) = "
		    "$(($(ls -A t | grep -c hpnlink) + 2)) && "
		    "test \"$(cat u/.d.*)\" = his"), 0);
		if (planned)
			assert_int_equal(system(
			    "test $(readlink u/.c.*) = planned"), 0);
		assert_int_equal(system("rm -r t u"), 0);
	}
	assert_int_equal(host_reports.n, 0);
}

/* Somebody else's part, of a copy that is under way: it is held. */
static int
others_part(const char *name, const char *text)
{
	int fd = xfer_part_make(AT_FDCWD, name, 0600, 1);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void
expect_text(const char *name, const char *text)
{
	struct buf b = { 0 };

	assert_int_equal(file_read(name, &b, 1000), 0);
	assert_int_equal(buf_len(&b), strlen(text));
	assert_memory_equal(buf_data(&b), text, strlen(text));
	buf_clear(&b);
}

/* A copy beside another to the same name, which has a part, or had one: that is
 * let be, and another name taken. -Z does not take it over either: it is not
 * of this source. */
static void
test_two_copies(void **state)
{
	struct host h = { .seed = 1 };

	(void)state;
	for (int i = 0; i < 24; i++) {
		const struct xfer_opts opts = { .resume = i % 2 == 1 };
		bool up = i % 4 >= 2;
		int fd;

		h.no_digests = i % 8 >= 4;
		h.no_small = i >= 16;
		host_make_file("src", i < 12 ? LARGE : 100, 1);
		fd = others_part(PART, "his");
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		expect_text(PART, "his");
		assert_false(exists(PART "2"));
		close(fd); /* it has ended, by whatever */
		assert_int_equal(unlink("dst"), 0);
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
		assert_true(host_same("src", "dst"));
		expect_text(PART, "his");
		assert_int_equal(unlink("dst") | unlink("src") | unlink(PART),
		    0);
	}
	assert_int_equal(host_reports.n, 0);
}

/* ---- sources that change ------------------------------------------------ */

enum { BULK = 20000000 };

static void
source_vanishes(void)
{
	assert_int_equal(unlink("src"), 0);
}

static void
source_is_replaced(void)
{
	const struct timespec old[2] = { { .tv_sec = 5000 },
		{ .tv_sec = 5000 } };

	host_make_file("new", BULK, 2);
	assert_int_equal(utimensat(AT_FDCWD, "new", old, 0), 0);
	assert_int_equal(rename("new", "src"), 0);
}

static void
source_is_cut(void)
{
	assert_int_equal(truncate("src", 1000000), 0);
}

static void
source_grows(void)
{
	int fd = open("src", O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
}

/* Between the listing and its opening. */
static void
test_vanished(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		const struct xfer_opts opts = { .resume = i >= 4 };
		struct host h = { .seed = 1, .added = source_vanishes,
			.no_small = i % 4 >= 2 };
		bool up = i % 2 == 0;

		host_make_file("src", 1000, 1);
		assert_int_equal(host_copy(&h, up, "src", "dst", opts), -1);
		assert_true(host_reported(up ?
			"open local src: No such file or directory" :
			"remote open src: No such file or directory"));
		assert_false(exists("dst"));
		assert_false(exists(PART));
	}
}

/*
 * While it moves, when more streams would open it: what has one name is never
 * made of two files. Downloads open by name; uploads hold it open.
 */
static void
test_changed_meanwhile(void **state)
{
	static void (*const happens[])(void) = { source_vanishes,
		source_is_replaced, source_grows, source_is_cut };
	const struct xfer_opts opts = { .connections_max = 4 };

	(void)state;
	host_make_file("was", BULK, 1);
	for (size_t i = 0; i < 2 * ARRAY_LEN(happens); i++) {
		struct host h = { .seed = 1, .second = happens[i / 2] };
		bool up = i % 2 == 1, cut = happens[i / 2] == source_is_cut;
		int r;

		host_make_file("src", BULK, 1);
		r = host_copy(&h, up, "src", "dst", opts);
		assert_true(h.opened > 1);
		/* It may all have been read when it was cut, or nothing that
		 * was cut off: then the copy is one of these versions. */
		if (cut && r != 0) {
			assert_true(host_reported(
			    "src: changed while it was being read"));
			assert_false(exists("dst"));
			assert_int_equal(unlink(PART), 0);
		} else {
			assert_int_equal(r, 0);
			assert_true(host_same("was", "dst") ||
			    (cut && host_same("src", "dst")));
			assert_int_equal(unlink("dst"), 0);
		}
		if (exists("src"))
			assert_int_equal(unlink("src"), 0);
	}
	assert_int_equal(unlink("was"), 0);
	assert_int_equal(host_reports.n, 0);
}

static struct host *dying;

static void
replaced_at_its_end(void)
{
	source_is_replaced();
	dying->deadly = 0;
}

/* The stream is lost, and what is opened anew is another file: digests make the
 * copy that of the new one, and marks are of no use. */
static void
test_replaced_between_tries(void **state)
{
	const struct xfer_opts opts = { .retries = 3, .retry_wait_ms = 1,
		.connections_max = 1 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct host h = { .seed = 1, .deadly = 30,
			.second = replaced_at_its_end, .no_digests = i };
		int r;

		dying = &h;
		host_make_file("src", BULK, 1);
		r = host_copy(&h, false, "src", "dst", opts);
		assert_int_equal(h.opened, 2);
		assert_int_equal(r, i == 0 ? 0 : -1);
		if (i == 0) {
			assert_true(host_same("src", "dst"));
			assert_int_equal(unlink("dst"), 0);
			continue;
		}
		assert_true(host_reported(
		    "src: changed while it was being read"));
		assert_false(exists("dst"));
		assert_int_equal(unlink(PART), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* ---- sizes -------------------------------------------------------------- */

/* File systems differ in how large a file may be. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = MIN(bytes, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
}

/* What a server says of sizes may be anything. */
static void
test_sizes(void **state)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 33333333,
		(uint64_t)INT64_MAX + 1, INT64_MAX, INT64_MAX - 1,
		(UINT64_C(1) << 62) + 1 };
	struct host h = { .seed = 1 };

	(void)state;
	limit_files((rlim_t)1 << 40);
	host_make_file("src", 3000000, 1);
	for (int i = 0; i < 24; i++) {
		const struct xfer_opts opts = { .resume = i % 2 == 1,
			.sparse = i >= 12 };
		bool possible = sizes[i % 6] <= INT64_MAX;
		int r;

		h.no_digests = true;
		h.no_stat_ns = i % 4 < 2;
		h.lies.size = sizes[i % 6];
		r = host_copy(&h, false, "src", "dst", opts);
		if (!possible) {
			assert_int_equal(r, -1);
			assert_true(host_reported("src: File too large"));
			assert_false(exists("dst"));
			continue;
		}
		/* A hole at the end is believed, but no file can be so
		 * large here. */
		if (opts.sparse && r == -1) {
			assert_true(host_reported("dst: File too large"));
			assert_int_equal(unlink(PART), 0);
			continue;
		}
		assert_int_equal(r, 0);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	limit_files(RLIM_INFINITY);
	assert_int_equal(unlink("src"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_fails),
		cmocka_unit_test(test_close_fails_in_place),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_part_is_private),
		cmocka_unit_test(test_full_ends),
		cmocka_unit_test(test_part_of_two_names),
		cmocka_unit_test(test_killed_at_a_link),
		cmocka_unit_test(test_old_links),
		cmocka_unit_test(test_links_over_breaks),
		cmocka_unit_test(test_left_links),
		cmocka_unit_test(test_two_copies),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_replaced_between_tries),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
