/* SPDX-License-Identifier: ISC */
/*
 * The client engine and the transfers on it: against our server engine over
 * a carrier in memory that cuts and reorders as it likes, and against
 * servers that lie.
 */
#include "regress/unit/help.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/copy-between.h"
#include "xfer/transfer/transfer.h"

/* --- a carrier in memory --- */

struct memory {
	struct sftp_serve *server;
	struct buf wire; /* replies on their way */
	unsigned seed;
	bool shuffle;
	uint32_t data_max; /* READs are answered with at most so much */
	struct sftp *client;
	struct memory *mate; /* of the same driver; NULL: none */
	bool woken;	     /* since the client had no output */
};

static unsigned
random_below(struct memory *m, unsigned n)
{
	m->seed = m->seed * 1103515245 + 12345;
	return (m->seed >> 16) % n;
}

static void
memory_wake(void *arg)
{
	struct memory *m = arg;

	m->woken = true;
}

/* What the server takes at once of what the client has to say. A client that
 * did not wake this carrier has nothing to say. */
static void
memory_send(struct memory *m)
{
	struct buf *out = sftp_output(m->client);
	size_t n = 1 + random_below(m, 300000);
	ssize_t used;

	assert_true(m->woken || buf_len(out) == 0);
	m->woken = buf_len(out) > 0;
	if (sftp_serve_blocked(m->server))
		return;
	used = sftp_serve_input(m->server, buf_data(out),
	    MIN(n, buf_len(out)));
	assert_true(used >= 0);
	buf_consume(out, (size_t)used);
}

/* Takes the replies that are there; of several, any first. */
static void
collect(struct memory *m)
{
	struct buf *out = sftp_serve_output(m->server);
	struct rd r = rd_from_buf(out), replies[64];
	size_t n = 0, pick;

	while (n < ARRAY_LEN(replies) && r.len >= 4)
		replies[n++] = rd_sub(&r);
	assert_int_equal(rd_err(&r), 0);
	while (n > 0) {
		pick = m->shuffle && replies[0].p[0] != SFTP_VERSION_REPLY ?
		    random_below(m, (unsigned)n) : 0;
		if (m->data_max != 0 && replies[pick].p[0] == SFTP_DATA &&
		    replies[pick].len > 9 + m->data_max) {
			buf_put_u32(&m->wire, 9 + m->data_max);
			buf_put(&m->wire, replies[pick].p, 5);
			buf_put_u32(&m->wire, m->data_max);
			buf_put(&m->wire, replies[pick].p + 9, m->data_max);
		} else {
			buf_put_string(&m->wire, replies[pick].p,
			    replies[pick].len);
		}
		memmove(&replies[pick], &replies[pick + 1],
		    (--n - pick) * sizeof *replies);
	}
	buf_consume(out, buf_len(out) - r.len);
}

/* A random part of what there is. Requests that lay in the server's own
 * buffer go on when output is gone. */
static void
move_some(struct memory *m, int timeout_ms)
{
	size_t n = 1 + random_below(m, 200000);
	int r;

	memory_send(m);
	if (buf_len(&m->wire) == 0)
		collect(m);
	n = MIN(n, buf_len(&m->wire));
	r = sftp_feed(m->client, buf_data(&m->wire), n);
	buf_consume(&m->wire, n);
	assert_true(r == 0 || r == sftp_error(m->client));
	assert_true(sftp_serve_input(m->server, (const uint8_t *)"", 0) == 0);
	if (timeout_ms < 0 && n == 0 && buf_len(&m->wire) == 0 &&
	    buf_len(sftp_serve_output(m->server)) == 0 &&
	    buf_len(sftp_output(m->client)) == 0)
		fail_msg("both sides wait for each other");
}

static int
memory_turn(void *arg, int timeout_ms)
{
	struct memory *m = arg;

	move_some(m, m->mate == NULL ? timeout_ms : 0);
	if (m->mate != NULL)
		move_some(m->mate, 0);
	return 0;
}

static const struct xfer_carrier_ops memory_ops = {
	.turn = memory_turn,
	.wake = memory_wake,
};

static void
begin(struct memory *m, unsigned seed, bool shuffle, uint32_t data_max)
{
	const struct sftp_serve_opts opts = { .home = temp_dir };

	*m = (struct memory){ .seed = seed, .shuffle = shuffle,
		.data_max = data_max };
	assert_int_equal(sftp_serve_new(&m->server, &opts), 0);
	assert_int_equal(sftp_new(&m->client), 0);
	sftp_attach(m->client,
	    (struct xfer_carrier){ .ops = &memory_ops, .arg = m });
}

static void
end(struct memory *m)
{
	sftp_free(m->client);
	sftp_serve_free(m->server);
	buf_clear(&m->wire);
}

/* --- files --- */

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
report(void *arg, const char *path, const char *text)
{
	char line[4096];

	(void)arg;
	snprintf(line, sizeof line, "%s: %s", path, text);
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

/* --- tests with an honest server --- */

static void
test_calls(void **state)
{
	struct sftp_attrs a;
	struct sftp_statvfs v;
	struct memory m;
	char *name;

	(void)state;
	begin(&m, 1, true, 0);
	assert_int_equal(sftp_call_stat(m.client, ".", true, &a), 0);
	assert_true(S_ISDIR(a.mode));
	assert_int_equal(sftp_call_stat(m.client, "none", true, &a),
	    SFTP_NO_SUCH_FILE);
	assert_int_equal(sftp_call_name(m.client, SFTP_REALPATH, ".", &name),
	    0);
	assert_string_equal(name, temp_dir);
	free(name);
	assert_int_equal(sftp_call_statvfs(m.client, ".", &v), 0);
	assert_true(sftp_is_ready(m.client));
	assert_int_equal(sftp_read_max(m.client), 261120);
	assert_int_equal(sftp_write_max(m.client), 261120);
	assert_true(sftp_has(m.client, SFTP_EXT_COPY_DATA));
	assert_int_equal(sftp_call_path(m.client, SFTP_MKDIR, "sub"), 0);
	assert_int_equal(sftp_call_path(m.client, SFTP_RMDIR, "sub"), 0);
	assert_int_equal(sftp_call_path(m.client, SFTP_RMDIR, "sub"),
	    SFTP_NO_SUCH_FILE);
	assert_int_equal(sftp_pending(m.client), 0);
	end(&m);
}

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
			begin(&m, (unsigned)(i * 10 + v), v != 1,
			    v == 3 ? 1111 : 0);
			assert_int_equal(put(&m, "src", "up", variants[v]),
			    0);
			expect_same("src", "up");
			assert_int_equal(get(&m, "src", "down",
					     variants[v]), 0);
			expect_same("src", "down");
			end(&m);
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
	begin(&m, 3, false, 0);
	assert_int_equal(put(&m, "p", "p-up", keep), 0);
	assert_int_equal(get(&m, "p", "p-down", keep), 0);
	assert_int_equal(put(&m, "p", "p-plain", plain), 0);
	end(&m);
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
		begin(&m, (unsigned)v, v == 2, 0);
		assert_int_equal(put(&m, "t", "up", variants[v]), 0);
		assert_int_equal(get(&m, "t", "down", variants[v]), 0);
		/* Again, into what is there. */
		assert_int_equal(get(&m, "t", "down", variants[v]), 0);
		end(&m);
		assert_int_equal(system("diff -r t up && diff -r t down &&"
					"rm -r up down"), 0);
	}
	begin(&m, 4, false, 0);
	{
		struct relay_opts opts = { .recursive = true,
			.report = report };
		struct memory n;

		begin(&n, 5, true, 5000);
		m.mate = &n;
		n.mate = &m;
		assert_int_equal(relay_copy(m.client, "t", n.client, "up",
				     &opts), 0);
		end(&n);
		m.mate = NULL;
	}
	end(&m);
	assert_int_equal(system("diff -r t up && rm -r t up"), 0);
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
	begin(&m, 1, false, 0);
	assert_int_equal(put(&m, "none", "x", plain), 1);
	assert_true(reported("none: No such file or directory"));
	assert_int_equal(put(&m, "f", "none/x", plain), 1);
	assert_true(reported("none/x: No such file or directory"));
	assert_int_equal(put(&m, "d", "x", plain), 1);
	assert_true(reported("d: not a regular file"));
	assert_int_equal(get(&m, "d", "x", plain), 1);
	assert_true(reported("d: not a regular file"));
	assert_int_equal(get(&m, "f", "none/x", plain), 1);
	assert_true(reported("none/x: No such file or directory"));
	assert_int_equal(put(&m, "f", "d", plain), 1);
	assert_true(reported("d: Failure"));
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
		assert_true(reported("/dev/full: Failure"));
	}
	/* A file without a size. */
	assert_int_equal(get(&m, "/proc/version", "v", plain), 0);
	assert_int_equal(put(&m, "/proc/version", "w", plain), 0);
	expect_same("v", "w");
	end(&m);
	assert_int_equal(system("rm -r d e f v w"), 0);
}

static void
test_glob(void **state)
{
	static const struct {
		const char *pattern;
		const char *matches[4];
	} rows[] = {
		{ "*.c", { "a.c", "b.c" } },
		{ "?.c", { "a.c", "b.c" } },
		{ "[b-z].*", { "b.c" } },
		{ "*", { "a.c", "b.c", "g1", "g2" } },
		{ ".h*", { ".hidden" } },
		{ "g?/x", { "g1/x" } },
		{ "g?/*", { "g1/x", "g2/y*" } },
		{ "g2/y\\*", { "g2/y*" } },
		{ "*/none", { NULL } },
		{ "none/*", { NULL } },
		{ "a.c/*", { NULL } },
	};
	struct memory m;

	(void)state;
	assert_int_equal(mkdir("g", 0755) | chdir("g"), 0);
	assert_int_equal(mkdir("g1", 0755) | mkdir("g2", 0755), 0);
	fill_file("a.c", 0, 0);
	fill_file("b.c", 0, 0);
	fill_file(".hidden", 0, 0);
	fill_file("g1/x", 0, 0);
	fill_file("g2/y*", 0, 0);
	begin(&m, 1, false, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strlist found = { NULL, 0 };
		size_t n = 0;

		assert_int_equal(
		    remote_glob(m.client, rows[i].pattern, &found), 0);
		while (n < 4 && rows[i].matches[n] != NULL)
			n++;
		assert_int_equal(found.n, n);
		for (n = 0; n < found.n; n++)
			assert_string_equal(found.v[n], rows[i].matches[n]);
		strlist_clear(&found);
	}
	end(&m);
	assert_int_equal(chdir("..") | system("rm -r g"), 0);
}

/* --- tests with a server that lies --- */

/* Feeds hex as if the server had sent it. */
static int
feed(struct sftp *s, const char *hex)
{
	uint8_t raw[512];
	size_t len = hex_decode(hex, raw, sizeof raw);

	return sftp_feed(s, raw, len);
}

static const char version[] = "00000005" "02" "00000003";

struct counts {
	int done, err, pieces;
	uint32_t status;
};

static void
count_done(void *arg, const struct sftp_reply *reply)
{
	struct counts *c = arg;

	c->done++;
	c->err = reply->err;
	c->status = reply->status;
}

static void
count_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct counts *c = arg;

	(void)offset;
	(void)p;
	(void)len;
	c->pieces++;
}

static void
test_lies(void **state)
{
	/* The request is a READ of 16 bytes with the id 00010000. */
	static const struct {
		const char *hex;
		int result;
	} rows[] = {
		{ "00000011" "65" "00010000" "00000001" "00000000"
		  "00000000", 0 },
		{ "0000000a" "67" "00010000" "00000001" "aa", 0 },
		/* an id of nobody, or of before */
		{ "00000011" "65" "00000000" "00000001" "00000000"
		  "00000000", ERR_PROTOCOL },
		{ "0000000a" "67" "00010001" "00000001" "aa", ERR_PROTOCOL },
		/* more data than was asked for, none, other lengths */
		{ "0000001a" "67" "00010000" "00000011", ERR_PROTOCOL },
		{ "00000009" "67" "00010000" "00000000", ERR_PROTOCOL },
		{ "0000000c" "67" "00010000" "00000001", ERR_PROTOCOL },
		{ "00000006" "67" "00010000", ERR_PROTOCOL },
		/* another kind of answer */
		{ "0000000d" "66" "00010000" "00000004" "00000000",
		    ERR_PROTOCOL },
		{ "0000000d" "69" "00010000" "00000000" "00000000",
		    ERR_PROTOCOL },
		/* success, but no data */
		{ "00000011" "65" "00010000" "00000000" "00000000"
		  "00000000", ERR_PROTOCOL },
		/* lengths */
		{ "00000000" "00", ERR_PROTOCOL },
		{ "00040001" "65", ERR_PROTOCOL },
		{ "ffffffff" "67", ERR_PROTOCOL },
		/* twice */
		{ "0000000a" "67" "00010000" "00000001" "aa"
		  "0000000a" "67" "00010000" "00000001" "aa", ERR_PROTOCOL },
		/* not ended: nothing yet */
		{ "0000000a" "67" "00010000", 0 },
	};
	const struct sftp_handle h = { .len = 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct counts c = { 0 };
		struct sftp *s;

		assert_int_equal(sftp_new(&s), 0);
		assert_int_equal(feed(s, version), 0);
		sftp_read(s, &h, 0, 16, count_data, count_done, &c);
		if (feed(s, rows[i].hex) != rows[i].result)
			fail_msg("row %zu gave %s", i,
			    err_text(sftp_error(s)));
		if (rows[i].result != 0)
			assert_int_equal(c.done, 1);
		sftp_free(s);
		assert_int_equal(c.done, 1);
	}
}

/* What was said about a WRITE. */
static void
source_done(void *arg, const struct sftp_reply *reply)
{
	*(struct sftp_reply *)arg = *reply;
}

/* All output but INIT, taken in pieces of at most max bytes. */
static void
take_all(struct sftp *s, size_t max, struct buf *out)
{
	size_t n;

	while (sftp_output_len(s) > 0) {
		n = sftp_take(s, buf_reserve(out, max), max);
		assert_in_range(n, 1, max);
		buf_commit(out, n);
	}
	buf_consume(out, 9);
}

/* Requests of all lengths; fd: the data of most is still in a file. */
static void
ask_writes(struct sftp *s, const uint8_t *data, int fd)
{
	const struct sftp_handle h = { .len = 4, .bytes = "hand" };

	for (unsigned i = 0; i < 40; i++) {
		uint32_t len = i * 977 + 1;

		if (i % 7 == 0)
			sftp_path_request(s, SFTP_STAT, "between", NULL, NULL);
		if (fd >= 0 && i % 3 != 0) {
			sftp_write_file(s, &h, i, len, fd, NULL, NULL);
			continue;
		}
		memcpy(sftp_write_begin(s, &h, i, len), data + i, len);
		sftp_write_finish(s, len, NULL, NULL);
	}
}

static void
test_write_file(void **state)
{
	static const size_t pieces[] = { 1, 13, 4096, 100000, 1 << 24 };
	static uint8_t data[50000];
	struct buf want = { 0 }, got = { 0 };
	struct sftp *s;
	int fd;

	(void)state;
	fill_file("src", sizeof data, 1);
	fd = open("src", O_RDONLY);
	assert_int_equal(read(fd, data, sizeof data), sizeof data);
	assert_int_equal(sftp_new(&s), 0);
	ask_writes(s, data, -1);
	take_all(s, 1 << 24, &want);
	sftp_free(s);
	/* The same bytes, however they are taken. */
	for (size_t i = 0; i <= ARRAY_LEN(pieces); i++) {
		assert_int_equal(sftp_new(&s), 0);
		ask_writes(s, data, fd);
		assert_int_equal(sftp_output_len(s), buf_len(&want) + 9);
		if (i == ARRAY_LEN(pieces))
			assert_int_equal(buf_len(sftp_output(s)),
			    buf_len(&want) + 9);
		take_all(s, i < ARRAY_LEN(pieces) ? pieces[i] : 1 << 24,
		    &got);
		assert_int_equal(buf_len(&got), buf_len(&want));
		assert_memory_equal(buf_data(&got), buf_data(&want),
		    buf_len(&want));
		sftp_free(s);
		buf_reset(&got);
	}
	buf_clear(&want);
	buf_clear(&got);
	close(fd);
	assert_int_equal(unlink("src"), 0);
}

/* A source that has less, or cannot be read: zeros, and it is told. */
static void
test_write_short(void **state)
{
	static const char ok[] = "00000011" "65" "00010000" "00000000"
				 "00000000" "00000000";
	const struct sftp_handle h = { .len = 1 };
	struct sftp_reply reply;
	struct buf got = { 0 };
	struct sftp *s;
	int fd;

	(void)state;
	fill_file("src", 100, 1);
	for (int i = 0; i < 4; i++) {
		fd = open(i == 1 ? "." : "src", O_RDONLY);
		assert_int_equal(sftp_new(&s), 0);
		assert_int_equal(feed(s, version), 0);
		sftp_write_file(s, &h, i == 2 ? 0 : 70, 100, fd, source_done,
		    &reply);
		if (i == 3) {
			/* answered before it is sent */
			assert_int_equal(feed(s, ok), ERR_PROTOCOL);
			assert_int_equal(reply.err, ERR_PROTOCOL);
			assert_int_equal(sftp_output_len(s), 0);
		} else {
			take_all(s, 64, &got);
			assert_int_equal(buf_len(&got), 26 + 100);
			assert_int_equal(feed(s, ok), 0);
			assert_int_equal(reply.source_len,
			    i == 0 ? 30 : i == 1 ? 0 : 100);
			assert_int_equal(reply.source_errno,
			    i == 1 ? EISDIR : 0);
			for (size_t at = 26 + reply.source_len; at < 126; at++)
				assert_int_equal(buf_data(&got)[at], 0);
		}
		sftp_free(s);
		buf_reset(&got);
		close(fd);
	}
	buf_clear(&got);
	assert_int_equal(unlink("src"), 0);
}

static void
test_bad_version(void **state)
{
	static const struct {
		const char *hex;
		int result;
	} rows[] = {
		{ "00000005" "02" "00000002", ERR_UNSUPPORTED },
		{ "00000005" "65" "00000003", ERR_PROTOCOL },
		{ "00000007" "02" "00000003" "0000", ERR_PROTOCOL },
		{ "48656c6c6f2c206920616d206e6f20736674702d736572766572",
		    ERR_PROTOCOL },
	};
	struct counts c;
	struct sftp *s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		c = (struct counts){ 0 };
		assert_int_equal(sftp_new(&s), 0);
		sftp_path_request(s, SFTP_STAT, "x", count_done, &c);
		assert_int_equal(feed(s, rows[i].hex), rows[i].result);
		assert_int_equal(c.done, 1);
		assert_int_equal(c.err, rows[i].result);
		/* The end is told to later requests as well. */
		sftp_path_request(s, SFTP_STAT, "x", count_done, &c);
		assert_int_equal(c.done, 2);
		assert_null(sftp_write_begin(s, &(struct sftp_handle){
			.len = 1 }, 0, 5));
		sftp_free(s);
	}
}

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

/* --- waking the carrier --- */

static void
count_wake(void *arg)
{
	unsigned *wakes = arg;

	++*wakes;
}

/* Nothing is ever sent by this one. */
static const struct xfer_carrier_ops count_ops = { .wake = count_wake };

static void
ask_again(void *arg, const struct sftp_reply *reply)
{
	struct sftp *s = arg;

	(void)reply;
	sftp_path_request(s, SFTP_STAT, "again", NULL, NULL);
}

static void
count_each_request(struct sftp *s, const unsigned *wakes)
{
	const struct sftp_handle h = { .len = 4 };
	const struct sftp_attrs attrs = { .flags = 0 };
	const uint32_t id = 1000;
	const struct timespec times[2] = { { 1, 2 }, { 3, 4 } };
	unsigned want = *wakes;

#define WAKES_ONCE(request)                                                   \
	do {                                                                  \
		request;                                                      \
		assert_int_equal(*wakes, ++want);                             \
	} while (0)
	WAKES_ONCE(sftp_open(s, "f", SFTP_O_READ, &attrs, NULL, NULL));
	WAKES_ONCE(sftp_read(s, &h, 0, 10, NULL, NULL, NULL));
	WAKES_ONCE(sftp_write_file(s, &h, 0, 10, -1, NULL, NULL));
	WAKES_ONCE(sftp_close(s, &h, NULL, NULL));
	WAKES_ONCE(sftp_path_request(s, SFTP_STAT, "f", NULL, NULL));
	WAKES_ONCE(sftp_attrs_request(s, SFTP_MKDIR, "f", &attrs, NULL, NULL));
	WAKES_ONCE(sftp_two_paths(s, SFTP_RENAME, "f", "g", NULL, NULL));
	WAKES_ONCE(sftp_handle_request(s, SFTP_FSTAT, &h, NULL, NULL));
	WAKES_ONCE(sftp_fsetstat(s, &h, &attrs, NULL, NULL));
	WAKES_ONCE(sftp_ext_path(s, SFTP_EXT_STATVFS, "f", NULL, NULL, NULL));
	WAKES_ONCE(sftp_ext_handle(s, SFTP_EXT_FSYNC, &h, NULL, NULL));
	WAKES_ONCE(sftp_lsetstat(s, "f", &attrs, NULL, NULL));
	WAKES_ONCE(sftp_copy_data(s, &h, 0, 1, &h, 2, NULL, NULL));
	WAKES_ONCE(sftp_check_file(s, &h, 0, 1, 256, NULL, NULL));
	WAKES_ONCE(sftp_stat_ns(s, "f", true, NULL, NULL));
	WAKES_ONCE(sftp_put_file(s, "f", true, &attrs, (const uint8_t *)"x", 1,
	    NULL, NULL));
	WAKES_ONCE(sftp_get_file(s, "f", 1, NULL, NULL));
	WAKES_ONCE(sftp_users_groups(s, &id, 1, &id, 1, NULL, NULL));
	WAKES_ONCE(sftp_times_ns(s, &h, times, NULL, NULL));
	WAKES_ONCE(sftp_sparse_map(s, &h, 0, NULL, NULL));
#undef WAKES_ONCE
}

/* Each request wakes the carrier once, wherever it is made: in front of the
 * first turn, between turns, and in a callback. What queues nothing does not
 * wake. */
static void
test_wakes(void **state)
{
	const struct sftp_handle h = { .len = 4 };
	const struct xfer_carrier carrier = { &count_ops, &(unsigned){ 0 } };
	const unsigned *wakes = carrier.arg;
	uint8_t status[] = { 0, 0, 0, 9, SFTP_STATUS, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct sftp *s;

	(void)state;
	assert_int_equal(sftp_new(&s), 0);
	sftp_path_request(s, SFTP_REMOVE, "before there is a carrier",
	    ask_again, s);
	memcpy(status + 5, buf_data(sftp_output(s)) + 9 + 5, 4);
	sftp_attach(s, carrier);
	assert_int_equal(*wakes, 1);
	count_each_request(s, wakes);

	/* A WRITE wakes when it is finished, and only if it has data. */
	buf_reset(sftp_output(s));
	*(unsigned *)carrier.arg = 0;
	assert_non_null(sftp_write_begin(s, &h, 0, 10));
	assert_int_equal(*wakes, 0);
	sftp_write_finish(s, 0, NULL, NULL);
	assert_int_equal(*wakes, 0);
	assert_non_null(sftp_write_begin(s, &h, 0, 10));
	sftp_write_finish(s, 10, NULL, NULL);
	assert_int_equal(*wakes, 1);

	assert_int_equal(sftp_feed(s, (const uint8_t *)"\0\0\0\5\2\0\0\0\3",
			     9), 0);
	assert_int_equal(*wakes, 1);
	assert_int_equal(sftp_feed(s, status, sizeof status), 0);
	assert_int_equal(*wakes, 2);
	/* A session that is over has no output, whatever is asked of it. */
	(void)!sftp_feed_end(s, ERR_CLOSED);
	sftp_path_request(s, SFTP_STAT, "too late", NULL, NULL);
	assert_int_equal(*wakes, 2);
	sftp_free(s);
}

static int
setup(void **state)
{
	struct rlimit rl;

	/* both ends are in this process, and each may take half */
	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return 1;
	rl.rlim_cur = MIN(rl.rlim_max, (rlim_t)4096);
	if (setrlimit(RLIMIT_NOFILE, &rl) != 0)
		return 1;
	return temp_enter(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_one_file),
		cmocka_unit_test(test_preserve),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_write_file),
		cmocka_unit_test(test_write_short),
		cmocka_unit_test(test_bad_version),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_endless_tree),
		cmocka_unit_test(test_wakes),
	};

	return cmocka_run_group_tests(tests, setup, temp_leave);
}
