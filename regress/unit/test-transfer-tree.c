/* SPDX-License-Identifier: ISC */
/*
 * Copies of files and trees: to and from our server engine, and from a server
 * whose names and trees are meant to do harm.
 */
#include "regress/unit/memory-carrier.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/transfer/transfer.h"

/* ---- files -------------------------------------------------------------- */

static void
expect_same(const char *one, const char *two)
{
	struct buf a = { 0 }, b = { 0 };

	assert_int_equal(file_read(one, &a, 1 << 26), 0);
	assert_int_equal(file_read(two, &b, 1 << 26), 0);
	assert_int_equal(buf_len(&a), buf_len(&b));
	assert_memory_equal(buf_data(&a), buf_data(&b), buf_len(&a));
	buf_clear(&a);
	buf_clear(&b);
}

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

static bool
reported(const char *line)
{
	bool found = strlist_has(&reports, line);

	if (!found)
		for (size_t i = 0; i < reports.n; i++)
			print_message("reported: %s\n", reports.v[i]);
	strlist_clear(&reports);
	return found;
}

static unsigned long
put(struct memory *m, const char *from, const char *to, struct xfer_opts opts)
{
	unsigned long failures;
	struct xfer *x;

	opts.report = report;
	assert_int_equal(xfer_new(&x, NULL, m->client, &opts), 0);
	assert_int_equal(xfer_put(x, from, to), 0);
	assert_int_equal(xfer_run(x), 0);
	failures = xfer_failures(x);
	xfer_free(x);
	return failures;
}

static unsigned long
get(struct memory *m, const char *from, const char *to, struct xfer_opts opts)
{
	unsigned long failures;
	struct sftp_attrs attrs;
	struct xfer *x;

	opts.report = report;
	assert_int_equal(sftp_call_stat(m->client, from, true, &attrs), 0);
	assert_int_equal(xfer_new(&x, NULL, m->client, &opts), 0);
	assert_int_equal(xfer_get(x, from, &attrs, to), 0);
	assert_int_equal(xfer_run(x), 0);
	failures = xfer_failures(x);
	xfer_free(x);
	return failures;
}

/* ---- tests with an honest server ---------------------------------------- */

static void
test_one_file(void **state)
{
	static const size_t sizes[] = { 0, 1, 261119, 261120, 261121,
		3000000 };
	static const struct xfer_opts variants[] = {
		{ .preserve = false },
		{ .preserve = true, .fsync = true },
		{ .block_bytes = 7000, .requests_max = 3 },
		{ .budget_bytes = 1000 },
	};
	struct memory m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		fill_file("src", sizes[i], (unsigned)i);
		for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
			memory_begin(&m, (unsigned)(i * 10 + v), v != 1,
			    v == 3 ? 1111 : 0);
			assert_int_equal(put(&m, "src", "up", variants[v]),
			    0);
			expect_same("src", "up");
			assert_int_equal(get(&m, "src", "down",
					     variants[v]), 0);
			expect_same("src", "down");
			memory_end(&m);
		}
	}
	assert_int_equal(unlink("src") | unlink("up") | unlink("down"), 0);
}

static void
test_preserve(void **state)
{
	const struct timespec ts[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 2000 } };
	const struct xfer_opts keep = { .preserve = true, .recursive = true };
	const struct xfer_opts plain = { .recursive = true };
	struct memory m;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("p", 0755), 0);
	fill_file("p/f", 10, 1);
	assert_int_equal(chmod("p/f", 0461), 0);
	assert_int_equal(utimensat(AT_FDCWD, "p/f", ts, 0), 0);
	assert_int_equal(chmod("p", 0511), 0);
	assert_int_equal(utimensat(AT_FDCWD, "p", ts, 0), 0);
	memory_begin(&m, 3, false, 0);
	assert_int_equal(put(&m, "p", "p-up", keep), 0);
	assert_int_equal(get(&m, "p", "p-down", keep), 0);
	assert_int_equal(put(&m, "p", "p-plain", plain), 0);
	memory_end(&m);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stat(i ? "p-up/f" : "p-down/f", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0461);
		assert_int_equal(st.st_mtime, 2000);
		assert_int_equal(stat(i ? "p-up" : "p-down", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0511);
		assert_int_equal(st.st_mtime, 2000);
	}
	assert_int_equal(stat("p-plain", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0511);
	assert_int_not_equal(st.st_mtime, 2000);
	assert_int_equal(system("chmod -R u+w p p-up p-down p-plain &&"
				"rm -r p p-up p-down p-plain"), 0);
}

static void
test_tree(void **state)
{
	static const struct xfer_opts variants[] = {
		{ .recursive = true },
		{ .recursive = true, .files_max = 1 },
		{ .recursive = true, .preserve = true,
		    .budget_bytes = 50000, .block_bytes = 1000 },
	};
	char name[64];
	struct memory m;

	(void)state;
	assert_int_equal(mkdir("t", 0755) | mkdir("t/empty", 0755) |
	    mkdir("t/a b", 0755) | mkdir("t/a b/c", 0755), 0);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "t/%s%u",
		    i % 3 == 0 ? "" : i % 3 == 1 ? "a b/" : "a b/c/", i);
		fill_file(name, i % 100 == 0 ? 100000 : i % 50, i);
	}
	fill_file("t/\n\033[1m\xff", 5, 5);
	assert_int_equal(symlink("0", "t/link"), 0);
	assert_int_equal(symlink("empty", "t/link-to-dir"), 0);
	for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
		memory_begin(&m, (unsigned)v, v == 2, 0);
		assert_int_equal(put(&m, "t", "up", variants[v]), 0);
		assert_int_equal(get(&m, "t", "down", variants[v]), 0);
		/* Again, into what is there. */
		assert_int_equal(get(&m, "t", "down", variants[v]), 0);
		memory_end(&m);
		assert_int_equal(system("diff -r t up && diff -r t down &&"
					"rm -r up down"), 0);
	}
	assert_int_equal(system("rm -r t"), 0);
	assert_int_equal(reports.n, 0);
}

static void
test_failures(void **state)
{
	const struct xfer_opts plain = { .preserve = false };
	const struct xfer_opts tree = { .recursive = true };
	struct memory m;

	(void)state;
	fill_file("f", 10, 1);
	assert_int_equal(mkdir("d", 0755) | mkfifo("d/fifo", 0644), 0);
	fill_file("d/g", 10, 1);
	assert_int_equal(symlink("nowhere", "d/broken"), 0);
	memory_begin(&m, 1, false, 0);
	assert_int_equal(put(&m, "none", "x", plain), 1);
	assert_true(reported("stat local none: No such file or directory"));
	assert_int_equal(put(&m, "f", "none/x", plain), 1);
	assert_true(reported("dest open none/x: No such file or directory"));
	assert_int_equal(put(&m, "d", "x", plain), 1);
	assert_true(reported("d: is a directory (use -r)"));
	assert_int_equal(get(&m, "d", "x", plain), 1);
	assert_true(reported("d: is a directory (use -r)"));
	assert_int_equal(get(&m, "f", "none/x", plain), 1);
	assert_true(reported("open local none/x: No such file or directory"));
	assert_int_equal(put(&m, "f", "d", plain), 1);
	assert_true(reported("dest open d: Is a directory"));
	assert_int_equal(put(&m, "d", "f", tree), 1);
	assert_true(reported("f: Not a directory"));
	assert_int_equal(get(&m, "d", "f", tree), 1);
	assert_true(reported("f: File exists"));
	/* What can be moved is moved. */
	assert_int_equal(put(&m, "d", "e", tree), 2);
	assert_int_equal(reports.n, 2);
	assert_true(reported("d/fifo: not a regular file"));
	expect_same("d/g", "e/g");
	assert_int_equal(system("rm -r e"), 0);
	assert_int_equal(get(&m, "d", "e", tree), 2);
	assert_true(reported("d/broken: No such file or directory"));
	expect_same("d/g", "e/g");
	/* A target that is always full. */
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(get(&m, "f", "/dev/full", plain), 1);
		assert_true(
		    reported("/dev/full: No space left on device"));
		assert_int_equal(put(&m, "f", "/dev/full", plain), 1);
		assert_true(reported("/dev/full: No space left on device"));
	}
	/* A file without a size. */
	assert_int_equal(get(&m, "/proc/version", "v", plain), 0);
	assert_int_equal(put(&m, "/proc/version", "w", plain), 0);
	expect_same("v", "w");
	memory_end(&m);
	assert_int_equal(system("rm -r d e f v w"), 0);
}

/* ---- tests with a server that lies -------------------------------------- */

/* A server that answers from a script, whatever is asked. */
struct script {
	struct sftp *client;
	struct buf wire;
	const char *name; /* of the one entry in its directory */
	uint32_t mode;
	bool listed;
};

static void
script_reply(struct script *sc, uint8_t type, uint32_t id)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
		.mode = sc->mode, .size = 4 };
	struct buf *b = &sc->wire;
	size_t mark = buf_open_string(b);
	bool end = type == SFTP_READDIR && sc->listed;

	if (type == SFTP_OPENDIR || type == SFTP_OPEN) {
		buf_put_u8(b, SFTP_HANDLE);
		buf_put_u32(b, id);
		buf_put_cstring(b, "h");
		sc->listed = false;
	} else if (type == SFTP_READDIR && !end) {
		buf_put_u8(b, SFTP_NAME);
		buf_put_u32(b, id);
		buf_put_u32(b, 1);
		buf_put_cstring(b, sc->name);
		buf_put_cstring(b, sc->name);
		sftp_put_attrs(b, &a);
		sc->listed = true;
	} else if (type == SFTP_READ) {
		buf_put_u8(b, SFTP_DATA);
		buf_put_u32(b, id);
		buf_put_cstring(b, "evil");
	} else {
		buf_put_u8(b, SFTP_STATUS);
		buf_put_u32(b, id);
		buf_put_u32(b, end ? SFTP_EOF : SFTP_OK);
		buf_put_cstring(b, "");
		buf_put_cstring(b, "");
	}
	buf_close_string(b, mark);
}

static int
script_turn(void *arg, int timeout_ms)
{
	struct script *sc = arg;
	struct buf *out = sftp_output(sc->client);
	struct rd r = rd_from_buf(out), m;
	uint8_t type;

	(void)timeout_ms;
	while (r.len > 0) {
		m = rd_sub(&r);
		assert_int_equal(r.err, 0);
		type = rd_u8(&m);
		if (type != SFTP_INIT)
			script_reply(sc, type, rd_u32(&m));
		else
			buf_put(&sc->wire, "\0\0\0\5\2\0\0\0\3", 9);
	}
	buf_reset(out);
	(void)!sftp_feed(sc->client, buf_data(&sc->wire), buf_len(&sc->wire));
	buf_reset(&sc->wire);
	return 0;
}

static void
script_wake(void *arg)
{
	(void)arg; /* each turn takes what there is */
}

static const struct xfer_carrier_ops script_ops = {
	.turn = script_turn,
	.wake = script_wake,
};

static unsigned long
get_from_script(struct script *sc)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = S_IFDIR | 0755 };
	const struct xfer_opts opts = { .recursive = true, .report = report };
	unsigned long failures;
	struct sftp *s;
	struct xfer *x;

	assert_int_equal(sftp_new(&s), 0);
	sc->client = s;
	sftp_attach(s, (struct xfer_carrier){ &script_ops, sc });
	assert_int_equal(xfer_new(&x, NULL, s, &opts), 0);
	assert_int_equal(xfer_get(x, "src", &attrs, "jail"), 0);
	assert_int_equal(xfer_run(x), 0);
	failures = xfer_failures(x);
	xfer_free(x);
	sftp_free(s);
	buf_clear(&sc->wire);
	return failures;
}

static void
test_hostile_names(void **state)
{
	static const char *const names[] = { "../escaped", "/tmp/escaped",
		"a/../../escaped", "..", ".", "", "sub/escaped" };
	struct script sc;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		sc = (struct script){ .name = names[i],
			.mode = S_IFREG | 0644 };
		(void)get_from_script(&sc);
		assert_int_not_equal(access("escaped", F_OK), 0);
		assert_int_not_equal(access("/tmp/escaped", F_OK), 0);
		/* It is empty. */
		assert_int_equal(rmdir("jail"), 0);
	}
	strlist_clear(&reports);
	sc = (struct script){ .name = "fine", .mode = S_IFREG | 0644 };
	assert_int_equal(get_from_script(&sc), 0);
	assert_int_equal(unlink("jail/fine") | rmdir("jail"), 0);
}

/* Directories without end end somewhere. */
static void
test_endless_tree(void **state)
{
	struct script sc = { .name = "d", .mode = S_IFDIR | 0755 };

	(void)state;
	assert_true(get_from_script(&sc) > 0);
	assert_true(reports.n > 0);
	strlist_clear(&reports);
	assert_int_equal(system("rm -r jail"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_file),
		cmocka_unit_test(test_preserve),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_endless_tree),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
