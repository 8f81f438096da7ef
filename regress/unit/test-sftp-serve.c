/* SPDX-License-Identifier: ISC */
/* The SFTP server engine, request by request, in a private directory: all
 * that it does alone, with threads that do what they may, and with replies
 * that are taken straight. */
#include "regress/unit/help.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sftp-proto.h"
#include "xfer/sftp-serve.h"

enum { PLACE_BYTES = 32768 };

static struct sftp_serve *s;
static struct sftp_serve_opts mode; /* how all of them are run this time */
static struct buf message;
static struct buf replies; /* taken from it */

struct reply {
	uint8_t type;
	uint32_t id, status;
	struct rd body; /* behind the id */
};

/* --- asking --- */

static size_t mark;

static struct buf *
ask(uint8_t type)
{
	buf_reset(&message);
	mark = buf_open_string(&message);
	buf_put_u8(&message, type);
	if (type != SFTP_INIT)
		buf_put_u32(&message, 42);
	return &message;
}

static struct buf *
ask_ext(const char *name)
{
	struct buf *b = ask(SFTP_EXTENDED);

	buf_put_cstring(b, name);
	return b;
}

static int
start(const struct sftp_serve_opts *opts)
{
	struct sftp_serve_opts with = *opts;

	with.threads = mode.threads;
	with.eager = mode.eager;
	with.direct = mode.direct;
	buf_reset(&replies);
	return sftp_serve_new(&s, &with);
}

/* Moves what there is of replies. */
static void
collect(void)
{
	static uint8_t place[PLACE_BYTES];
	struct buf *out = sftp_serve_output(s);
	ssize_t n;

	if (!mode.direct) {
		buf_put_buf(&replies, out);
		buf_consume(out, buf_len(out));
		return;
	}
	while ((n = sftp_serve_take(s, place, sizeof place)) > 0)
		buf_put(&replies, place, (size_t)n);
	assert_int_equal(n, 0);
}

/* Gives it bytes, and waits until all is answered. */
static ssize_t
feed(const uint8_t *p, size_t len)
{
	size_t used = 0;
	ssize_t n;

	for (;;) {
		struct pollfd pfd = { .events = POLLIN };

		n = sftp_serve_input(s, p + used, len - used);
		if (n < 0)
			return n;
		used += (size_t)n;
		collect();
		if (used == len && sftp_serve_idle(s))
			return (ssize_t)used;
		if (n > 0 || !sftp_serve_under_way(s))
			continue;
		pfd.fd = sftp_serve_fd(s);
		assert_int_equal(poll(&pfd, 1, 10000), 1);
	}
}

static struct reply
take_reply(void)
{
	static uint8_t raw[SFTP_MESSAGE_MAX + 4];
	struct rd r = rd_from_buf(&replies);
	struct rd m = rd_sub(&r);
	size_t len = m.len;
	struct reply reply = { 0 };

	assert_int_equal(rd_err(&r), 0);
	memcpy(raw, m.p, len);
	buf_consume(&replies, len + 4);
	m = rd_from(raw, len);
	reply.type = rd_u8(&m);
	if (reply.type != SFTP_VERSION_REPLY)
		reply.id = rd_u32(&m);
	reply.body = m;
	if (reply.type == SFTP_STATUS)
		reply.status = rd_u32(&m);
	return reply;
}

static struct reply
answer(void)
{
	struct reply reply;

	buf_close_string(&message, mark);
	assert_int_equal(buf_err(&message), 0);
	assert_int_equal(feed(buf_data(&message), buf_len(&message)),
	    buf_len(&message));
	reply = take_reply();
	assert_int_equal(buf_len(&replies), 0);
	if (reply.type != SFTP_VERSION_REPLY)
		assert_int_equal(reply.id, 42);
	return reply;
}

static void
expect_status(uint32_t status)
{
	struct reply reply = answer();

	assert_int_equal(reply.type, SFTP_STATUS);
	assert_int_equal(reply.status, status);
}

static uint32_t
answer_handle(void)
{
	struct reply reply = answer();
	struct rd h;

	assert_int_equal(reply.type, SFTP_HANDLE);
	h = rd_sub(&reply.body);
	assert_int_equal(h.len, 4);
	return rd_u32(&h);
}

static void
put_handle(struct buf *b, uint32_t handle)
{
	buf_put_u32(b, 4);
	buf_put_u32(b, handle);
}

static void
ask_open(const char *path, uint32_t pflags)
{
	struct buf *b = ask(SFTP_OPEN);

	buf_put_cstring(b, path);
	buf_put_u32(b, pflags);
	sftp_put_attrs(b, NULL);
}

static void
ask_path(uint8_t type, const char *path)
{
	buf_put_cstring(ask(type), path);
}

static void
ask_paths(uint8_t type, const char *one, const char *two)
{
	struct buf *b = ask(type);

	buf_put_cstring(b, one);
	buf_put_cstring(b, two);
}

static void
ask_write(uint32_t handle, uint64_t offset, const void *p, size_t len)
{
	struct buf *b = ask(SFTP_WRITE);

	put_handle(b, handle);
	buf_put_u64(b, offset);
	buf_put_string(b, p, len);
}

static void
ask_read(uint32_t handle, uint64_t offset, uint32_t len)
{
	struct buf *b = ask(SFTP_READ);

	put_handle(b, handle);
	buf_put_u64(b, offset);
	buf_put_u32(b, len);
}

static void
close_handle(uint32_t handle, uint32_t status)
{
	put_handle(ask(SFTP_CLOSE), handle);
	expect_status(status);
}

static void
make_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void
expect_file(const char *name, const char *text)
{
	struct buf b = { 0 };

	assert_int_equal(file_read(name, &b, 1 << 20), 0);
	assert_int_equal(buf_len(&b), strlen(text));
	assert_memory_equal(buf_data(&b), text, strlen(text));
	buf_clear(&b);
}

static void
restart(const struct sftp_serve_opts *opts)
{
	sftp_serve_free(s);
	assert_int_equal(start(opts), 0);
	buf_put_u32(ask(SFTP_INIT), 3);
	assert_int_equal(answer().type, SFTP_VERSION_REPLY);
}

/* --- tests --- */

static void
test_version(void **state)
{
	static const char *const want[] = { "posix-rename@openssh.com",
		"statvfs@openssh.com", "fstatvfs@openssh.com",
		"hardlink@openssh.com", "fsync@openssh.com",
		"lsetstat@openssh.com", "limits@openssh.com",
		"expand-path@openssh.com", "copy-data", "home-directory",
		"users-groups-by-id@openssh.com", "check-file",
		"times-ns@hpnssh.org", "stat-ns@hpnssh.org",
		"sparse-map@hpnssh.org", "put-file@hpnssh.org",
		"get-file@hpnssh.org" };
	const struct sftp_serve_opts opts = { .read_only = false };
	struct reply reply;
	size_t n = 0;

	(void)state;
	sftp_serve_free(s);
	assert_int_equal(start(&opts), 0);
	buf_put_u32(ask(SFTP_INIT), 6);
	reply = answer();
	assert_int_equal(reply.type, SFTP_VERSION_REPLY);
	assert_int_equal(rd_u32(&reply.body), 3);
	while (reply.body.len > 0) {
		assert_true(n < ARRAY_LEN(want));
		assert_true(span_equals(rd_string(&reply.body), want[n++]));
		(void)rd_string(&reply.body);
	}
	assert_int_equal(n, ARRAY_LEN(want));
	assert_int_equal(rd_end(&reply.body), 0);
	/* Anything else at the start ends the session. */
	sftp_serve_free(s);
	assert_int_equal(start(&opts), 0);
	ask_path(SFTP_STAT, "/");
	buf_close_string(&message, mark);
	assert_int_equal(sftp_serve_input(s, buf_data(&message),
			     buf_len(&message)),
	    ERR_PROTOCOL);
	restart(&opts);
}

static void
test_file(void **state)
{
	struct reply reply;
	uint32_t h;

	(void)state;
	ask_open("f", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	h = answer_handle();
	ask_write(h, 6, "world", 5);
	expect_status(SFTP_OK);
	ask_write(h, 0, "hello ", 6);
	expect_status(SFTP_OK);
	ask_write(h, 0, "", 0);
	expect_status(SFTP_OK);
	ask_read(h, 0, 5);
	expect_status(SFTP_NO_SUCH_FILE); /* opened for writing */
	close_handle(h, SFTP_OK);
	close_handle(h, SFTP_FAILURE);
	expect_file("f", "hello world");
	ask_open("f", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	expect_status(SFTP_FAILURE);
	ask_open("f", SFTP_O_READ);
	h = answer_handle();
	ask_read(h, 3, 4);
	reply = answer();
	assert_int_equal(reply.type, SFTP_DATA);
	assert_true(span_equals(rd_string(&reply.body), "lo w"));
	assert_int_equal(rd_end(&reply.body), 0);
	ask_read(h, 9, 1000000);
	reply = answer();
	assert_true(span_equals(rd_string(&reply.body), "ld"));
	ask_read(h, 11, 1);
	expect_status(SFTP_EOF);
	put_handle(ask(SFTP_FSTAT), h);
	reply = answer();
	assert_int_equal(reply.type, SFTP_ATTRS);
	assert_int_equal(rd_u32(&reply.body), 15);
	assert_int_equal(rd_u64(&reply.body), 11);
	close_handle(h, SFTP_OK);
	ask_open("f", SFTP_O_WRITE | SFTP_O_APPEND);
	h = answer_handle();
	ask_write(h, 0, "!", 1);
	expect_status(SFTP_OK);
	close_handle(h, SFTP_OK);
	expect_file("f", "hello world!");
	ask_open("f", SFTP_O_WRITE | SFTP_O_TRUNC);
	close_handle(answer_handle(), SFTP_OK);
	expect_file("f", "");
	ask_open("nothing", SFTP_O_READ);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_path(SFTP_REMOVE, "f");
	expect_status(SFTP_OK);
	ask_path(SFTP_REMOVE, "f");
	expect_status(SFTP_NO_SUCH_FILE);
}

static void
test_attributes(void **state)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_TIMES |
		    SFTP_A_SIZE, .size = 2, .mode = 0600, .atime = 1000,
		.mtime = 2000 };
	struct stat st;
	uint32_t h;

	(void)state;
	make_file("a", "12345");
	ask_path(SFTP_SETSTAT, "a");
	sftp_put_attrs(&message, &a);
	expect_status(SFTP_OK);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_mtime, 2000);
	assert_int_equal(st.st_atime, 1000);
	assert_int_equal(st.st_size, 2);
	ask_open("a", SFTP_O_WRITE);
	h = answer_handle();
	a.mode = 0640;
	a.size = 1;
	a.mtime = 3000;
	put_handle(ask(SFTP_FSETSTAT), h);
	sftp_put_attrs(&message, &a);
	expect_status(SFTP_OK);
	close_handle(h, SFTP_OK);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtime, 3000);
	assert_int_equal(st.st_size, 1);
	/* lsetstat does not follow */
	assert_int_equal(symlink("a", "link"), 0);
	a = (struct sftp_attrs){ .flags = SFTP_A_TIMES, .mtime = 7 };
	buf_put_cstring(ask_ext("lsetstat@openssh.com"), "link");
	sftp_put_attrs(&message, &a);
	expect_status(SFTP_OK);
	assert_int_equal(lstat("link", &st), 0);
	assert_int_equal(st.st_mtime, 7);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mtime, 3000);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("a"), 0);
}

static void
test_names(void **state)
{
	struct reply reply;

	(void)state;
	make_file("one", "1");
	make_file("two", "2");
	ask_paths(SFTP_RENAME, "one", "two");
	expect_status(SFTP_FAILURE);
	expect_file("two", "2");
	ask_paths(SFTP_RENAME, "one", "three");
	expect_status(SFTP_OK);
	buf_put_cstring(ask_ext("posix-rename@openssh.com"), "three");
	buf_put_cstring(&message, "two");
	expect_status(SFTP_OK);
	expect_file("two", "1");
	/* target first, as OpenSSH has it */
	ask_paths(SFTP_SYMLINK, "two", "link");
	expect_status(SFTP_OK);
	ask_path(SFTP_READLINK, "link");
	reply = answer();
	assert_int_equal(reply.type, SFTP_NAME);
	assert_int_equal(rd_u32(&reply.body), 1);
	assert_true(span_equals(rd_string(&reply.body), "two"));
	ask_path(SFTP_READLINK, "two");
	assert_int_equal(answer().type, SFTP_STATUS);
	buf_put_cstring(ask_ext("hardlink@openssh.com"), "two");
	buf_put_cstring(&message, "hard");
	expect_status(SFTP_OK);
	expect_file("hard", "1");
	assert_int_equal(unlink("hard"), 0);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("two"), 0);
}

static void
test_realpath(void **state)
{
	static const struct {
		const char *path, *below; /* of dir; NULL: no such */
	} rows[] = {
		{ ".", "" },
		{ "", "" },
		{ "new", "/new" },
		{ "new/", "/new" },
		{ "./d/../new", "/new" },
		{ "d", "/d" },
		{ "d/x", "/d/x" },
		{ "none/x", NULL },
		{ "none/..", NULL },
	};
	struct reply reply;
	char full[128];

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ask_path(SFTP_REALPATH, rows[i].path);
		if (rows[i].below == NULL) {
			expect_status(SFTP_NO_SUCH_FILE);
			continue;
		}
		reply = answer();
		assert_int_equal(reply.type, SFTP_NAME);
		snprintf(full, sizeof full, "%s%s", temp_dir, rows[i].below);
		(void)rd_u32(&reply.body);
		assert_true(span_equals(rd_string(&reply.body), full));
	}
	ask_path(SFTP_REALPATH, "/");
	reply = answer();
	(void)rd_u32(&reply.body);
	assert_true(span_equals(rd_string(&reply.body), "/"));
	ask_path(SFTP_REALPATH, "/no-such-name-here");
	reply = answer();
	(void)rd_u32(&reply.body);
	assert_true(
	    span_equals(rd_string(&reply.body), "/no-such-name-here"));
	buf_put_cstring(ask_ext("expand-path@openssh.com"), "~/d");
	reply = answer();
	(void)rd_u32(&reply.body);
	snprintf(full, sizeof full, "%s/d", temp_dir);
	assert_true(span_equals(rd_string(&reply.body), full));
	assert_int_equal(rmdir("d"), 0);
}

static void
test_directory(void **state)
{
	struct reply reply;
	uint32_t h, count, seen = 0;
	char name[32];
	struct rd r;

	(void)state;
	ask_path(SFTP_MKDIR, "many");
	sftp_put_attrs(&message, NULL);
	expect_status(SFTP_OK);
	for (int i = 0; i < 700; i++) {
		snprintf(name, sizeof name, "many/file-%d", i);
		make_file(name, "");
	}
	ask_path(SFTP_OPENDIR, "many");
	h = answer_handle();
	for (;;) {
		put_handle(ask(SFTP_READDIR), h);
		reply = answer();
		if (reply.type == SFTP_STATUS)
			break;
		assert_int_equal(reply.type, SFTP_NAME);
		r = reply.body;
		assert_true(r.len < 34000);
		count = rd_u32(&r);
		for (uint32_t i = 0; i < count; i++) {
			struct sftp_attrs a;
			struct span n = rd_string(&r), l = rd_string(&r);

			sftp_get_attrs(&r, &a);
			assert_true(l.len > n.len + 40);
			assert_memory_equal(l.p + l.len - n.len, n.p, n.len);
			assert_int_equal(a.flags, 15);
			seen++;
		}
		assert_int_equal(rd_end(&r), 0);
	}
	assert_int_equal(reply.status, SFTP_EOF);
	assert_int_equal(seen, 702);
	ask_read(h, 0, 10); /* it is no file */
	expect_status(SFTP_FAILURE);
	close_handle(h, SFTP_OK);
	ask_path(SFTP_RMDIR, "many");
	expect_status(SFTP_FAILURE);
	for (int i = 0; i < 700; i++) {
		snprintf(name, sizeof name, "many/file-%d", i);
		assert_int_equal(unlink(name), 0);
	}
	ask_path(SFTP_RMDIR, "many");
	expect_status(SFTP_OK);
}

static void
test_extensions(void **state)
{
	struct reply reply;
	struct sftp_statvfs v;
	uint32_t from, to;
	struct rd r;

	(void)state;
	ask_ext("limits@openssh.com");
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	assert_int_equal(rd_u64(&reply.body), 262144);
	assert_int_equal(rd_u64(&reply.body), 261120);
	assert_int_equal(rd_u64(&reply.body), 261120);
	assert_true(rd_u64(&reply.body) > 0);
	buf_put_cstring(ask_ext("statvfs@openssh.com"), ".");
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	sftp_get_statvfs(&reply.body, &v);
	assert_int_equal(rd_end(&reply.body), 0);
	make_file("from", "0123456789");
	ask_open("from", SFTP_O_READ);
	from = answer_handle();
	ask_open("to", SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	to = answer_handle();
	put_handle(ask_ext("copy-data"), from);
	buf_put_u64(&message, 2);
	buf_put_u64(&message, 5);
	put_handle(&message, to);
	buf_put_u64(&message, 1);
	expect_status(SFTP_OK);
	put_handle(ask_ext("copy-data"), from);
	buf_put_u64(&message, 8);
	buf_put_u64(&message, 0); /* to the end */
	put_handle(&message, to);
	buf_put_u64(&message, 6);
	expect_status(SFTP_OK);
	put_handle(ask_ext("copy-data"), from);
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 0);
	put_handle(&message, from);
	buf_put_u64(&message, 0);
	expect_status(SFTP_FAILURE);
	put_handle(ask_ext("fsync@openssh.com"), to);
	expect_status(SFTP_OK);
	close_handle(from, SFTP_OK);
	close_handle(to, SFTP_OK);
	assert_int_equal(unlink("from"), 0);
	assert_int_equal(truncate("to", 8), 0);
	{
		struct buf b = { 0 };

		assert_int_equal(file_read("to", &b, 100), 0);
		assert_memory_equal(buf_data(&b), "\0" "2345689", 8);
		buf_clear(&b);
	}
	assert_int_equal(unlink("to"), 0);
	buf_put_cstring(ask_ext("home-directory"), "root");
	reply = answer();
	assert_int_equal(reply.type, SFTP_NAME);
	buf_put_u32(ask_ext("users-groups-by-id@openssh.com"), 8);
	buf_put_u32(&message, 0);
	buf_put_u32(&message, 0xfffffff0);
	buf_put_u32(&message, 4);
	buf_put_u32(&message, 0);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	r = rd_sub(&reply.body);
	assert_true(span_equals(rd_string(&r), "root"));
	assert_int_equal(rd_string(&r).len, 0);
	assert_int_equal(rd_end(&r), 0);
	r = rd_sub(&reply.body);
	assert_true(span_equals(rd_string(&r), "root"));
	buf_put_cstring(ask_ext("nothing@example.com"), "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_path(99, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
}

static void
test_refusals(void **state)
{
	const struct sftp_serve_opts usual = { .home = temp_dir };
	const struct sftp_serve_opts readonly = { .read_only = true };
	const struct sftp_serve_opts denied = { .denied = "remove,statvfs" };
	const struct sftp_serve_opts allowed = { .allowed = "stat,open,close",
		.denied = "open" };
	uint32_t h;

	(void)state;
	make_file("x", "x");
	restart(&readonly);
	ask_open("x", SFTP_O_READ | SFTP_O_WRITE);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_open("x", SFTP_O_READ | SFTP_O_TRUNC);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_path(SFTP_REMOVE, "x");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_path(SFTP_MKDIR, "y");
	sftp_put_attrs(&message, NULL);
	expect_status(SFTP_PERMISSION_DENIED);
	buf_put_cstring(ask_ext("posix-rename@openssh.com"), "x");
	buf_put_cstring(&message, "y");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_open("x", SFTP_O_READ);
	h = answer_handle();
	ask_write(h, 0, "y", 1);
	expect_status(SFTP_PERMISSION_DENIED);
	put_handle(ask(SFTP_FSETSTAT), h);
	sftp_put_attrs(&message, NULL);
	expect_status(SFTP_PERMISSION_DENIED);
	close_handle(h, SFTP_OK);
	restart(&denied);
	ask_path(SFTP_REMOVE, "x");
	expect_status(SFTP_PERMISSION_DENIED);
	buf_put_cstring(ask_ext("statvfs@openssh.com"), ".");
	expect_status(SFTP_PERMISSION_DENIED);
	restart(&allowed);
	ask_path(SFTP_LSTAT, "x");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_path(SFTP_STAT, "x");
	assert_int_equal(answer().type, SFTP_ATTRS);
	ask_open("x", SFTP_O_READ);
	expect_status(SFTP_PERMISSION_DENIED);
	expect_file("x", "x");
	restart(&usual);
	assert_int_equal(unlink("x"), 0);
	assert_true(sftp_serve_names_valid("open,users-groups-by-id"));
	assert_true(sftp_serve_names_valid(""));
	assert_false(sftp_serve_names_valid("open,opem"));
}

/* Wrong in itself, but the session goes on. */
static void
test_malformed(void **state)
{
	uint32_t h;

	(void)state;
	buf_put_u32(ask(SFTP_STAT), 100);
	expect_status(SFTP_BAD_MESSAGE);
	buf_put_string(ask(SFTP_STAT), "a\0b", 3);
	expect_status(SFTP_BAD_MESSAGE);
	ask(SFTP_OPEN);
	expect_status(SFTP_BAD_MESSAGE);
	ask_read(0xdeadbeef, 0, 1);
	expect_status(SFTP_FAILURE);
	ask_write(0xdeadbeef, 0, "x", 1);
	expect_status(SFTP_NO_SUCH_FILE);
	buf_put_string(ask(SFTP_WRITE), "not our handle", 14);
	buf_put_u64(&message, 0);
	buf_put_string(&message, "some data", 9);
	expect_status(SFTP_NO_SUCH_FILE);
	/* A handle is not the next file's after it was closed. */
	make_file("x", "x");
	ask_open("x", SFTP_O_READ);
	h = answer_handle();
	close_handle(h, SFTP_OK);
	ask_open("x", SFTP_O_READ);
	assert_int_not_equal(answer_handle(), h);
	ask_read(h, 0, 1);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("x"), 0);
}

static void
test_framing_errors(void **state)
{
	static const char *const rows[] = {
		"00000000",		     /* no type */
		"00000004" "11000000",	     /* no id */
		"00040001" "11000000",	     /* too long */
		"ffffffff" "11000000",
		/* a WRITE whose data is longer than the message */
		"00000019" "06" "0000002a" "00000004" "00000000"
		"0000000000000000" "00000005",
	};
	const struct sftp_serve_opts opts = { .home = temp_dir };
	uint8_t raw[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = hex_decode(rows[i], raw, sizeof raw);

		restart(&opts);
		assert_int_equal(sftp_serve_input(s, raw, len), ERR_PROTOCOL);
	}
	restart(&opts);
}

/* The same session byte by byte, and in pieces of other sizes. */
static void
test_pieces(void **state)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 28, 29, 30, 1000, 70000 };
	uint8_t *data = malloc(100000);
	struct buf all = { 0 };
	uint32_t h;

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		data[i] = (uint8_t)(i * 31 >> 3);
	for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
		struct buf got = { 0 };
		size_t at = 0;

		ask_open("p", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_TRUNC);
		h = answer_handle();
		buf_reset(&all);
		for (int i = 0; i < 4; i++) {
			ask_write(h, (uint64_t)i * 25000, data + i * 25000,
			    25000);
			/* Trailing bytes are passed over. */
			if (i == 2)
				buf_put_u32(&message, 0x01020304);
			buf_close_string(&message, mark);
			buf_put_buf(&all, &message);
			ask_path(SFTP_STAT, "p");
			buf_close_string(&message, mark);
			buf_put_buf(&all, &message);
		}
		while (at < buf_len(&all)) {
			size_t n = MIN(pieces[p], buf_len(&all) - at);

			assert_int_equal(feed(buf_data(&all) + at, n), n);
			at += n;
		}
		for (int i = 0; i < 4; i++) {
			struct reply r = take_reply();

			assert_int_equal(r.type, SFTP_STATUS);
			assert_int_equal(r.status, SFTP_OK);
			assert_int_equal(take_reply().type, SFTP_ATTRS);
		}
		close_handle(h, SFTP_OK);
		assert_int_equal(file_read("p", &got, 200000), 0);
		assert_int_equal(buf_len(&got), 100000);
		assert_memory_equal(buf_data(&got), data, 100000);
		buf_clear(&got);
	}
	assert_int_equal(unlink("p"), 0);
	buf_clear(&all);
	free(data);
}

/* A peer that asks without reading cannot make the output grow. */
static void
test_back_pressure(void **state)
{
	struct buf all = { 0 };
	struct buf *out = sftp_serve_output(s);
	size_t at = 0, answers = 0, most = 0;
	ssize_t used;
	uint32_t h;

	(void)state;
	if (mode.threads > 0)
		skip(); /* test_overtaking() */
	make_file("big", "");
	assert_int_equal(truncate("big", 1 << 20), 0);
	ask_open("big", SFTP_O_READ);
	h = answer_handle();
	for (int i = 0; i < 1000; i++) {
		ask_read(h, (uint64_t)(i % 4) << 18, 261120);
		buf_close_string(&message, mark);
		buf_put_buf(&all, &message);
	}
	while (at < buf_len(&all) || buf_len(out) > 0) {
		used = sftp_serve_input(s, buf_data(&all) + at,
		    MIN(buf_len(&all) - at, (size_t)777));
		assert_true(used >= 0);
		at += (size_t)used;
		most = MAX(most, buf_len(out));
		if (sftp_serve_blocked(s) || at == buf_len(&all)) {
			collect();
			while (buf_len(&replies) > 0) {
				assert_int_equal(take_reply().type, SFTP_DATA);
				answers++;
			}
		}
	}
	assert_int_equal(answers, 1000);
	assert_true(most < SFTP_SERVE_OUTPUT_MAX + 270000);
	close_handle(h, SFTP_OK);
	assert_int_equal(unlink("big"), 0);
	buf_clear(&all);
}

/* --- check-file and the extensions of our own --- */

static void
ask_check(const char *name, const char *algs, uint64_t offset, uint64_t len,
    uint32_t block)
{
	struct buf *b = ask_ext("check-file-name");

	buf_put_cstring(b, name);
	buf_put_cstring(b, algs);
	buf_put_u64(b, offset);
	buf_put_u64(b, len);
	buf_put_u32(b, block);
}

static void
expect_digests(const char *alg, const char *hex)
{
	struct reply reply = answer();

	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	assert_true(span_equals(rd_string(&reply.body), alg));
	assert_hex(reply.body.p, reply.body.len, hex);
}

/* Digests as coreutils give them. */
static void
test_check_file(void **state)
{
	uint32_t h;

	(void)state;
	make_file("abc", "abc");
	ask_check("abc", "crc32,md5,sha256", 0, 0, 0);
	expect_digests("md5", "900150983cd24fb0d6963f7d28e17f72");
	ask_check("abc", "sha256", 0, 3, 0);
	expect_digests("sha256", "ba7816bf8f01cfea414140de5dae2223"
				 "b00361a396177a9cb410ff61f20015ad");
	ask_check("abc", "sha1", 3, 0, 0); /* nothing */
	expect_digests("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	ask_check("abc", "sha1", 3, 0, 256);
	expect_digests("sha1", "");
	ask_check("abc", "sha1", 2, 2, 0);
	expect_status(SFTP_EOF);
	ask_check("abc", "sha1", 4, 0, 0);
	expect_status(SFTP_EOF);
	ask_check("abc", "crc32", 0, 0, 0);
	expect_status(SFTP_FAILURE);
	ask_check("abc", "sha1", 0, 0, 255);
	expect_status(SFTP_BAD_MESSAGE);
	ask_check("none", "sha1", 0, 0, 0);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_check(".", "sha1", 0, 0, 0);
	expect_status(SFTP_FAILURE);
	/* 1000 zeros: three blocks of 300, one of 100 */
	assert_int_equal(truncate("abc", 0), 0);
	assert_int_equal(truncate("abc", 1000), 0);
	ask_open("abc", SFTP_O_READ);
	h = answer_handle();
	put_handle(ask_ext("check-file-handle"), h);
	buf_put_cstring(&message, "md5");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 300);
	expect_digests("md5", "4aa09c46db228e7f610ad440cd89c103"
			      "4aa09c46db228e7f610ad440cd89c103"
			      "4aa09c46db228e7f610ad440cd89c103"
			      "6d0bb00954ceb7fbee436bb55a8397a9");
	close_handle(h, SFTP_OK);
	ask_open("abc", SFTP_O_WRITE);
	h = answer_handle();
	put_handle(ask_ext("check-file-handle"), h);
	buf_put_cstring(&message, "md5");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 0);
	expect_status(SFTP_NO_SUCH_FILE); /* EBADF: opened for writing */
	close_handle(h, SFTP_OK);
	/* 8160 digests of SHA-256 are the most that fit. */
	assert_int_equal(truncate("abc", 8160 * 256), 0);
	ask_check("abc", "sha256", 0, 0, 256);
	assert_int_equal(answer().body.len, 4 + 6 + 8160 * 32);
	assert_int_equal(truncate("abc", 8160 * 256 + 1), 0);
	ask_check("abc", "sha256", 0, 0, 256);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("abc"), 0);
}

static void
test_times_ns(void **state)
{
	static const uint64_t before_1970 = (uint64_t)INT64_C(-5);
	struct reply reply;
	struct stat st;
	uint32_t h;

	(void)state;
	make_file("t", "12345");
	assert_int_equal(link("t", "u"), 0);
	assert_int_equal(symlink("t", "l"), 0);
	ask_open("t", SFTP_O_READ);
	h = answer_handle();
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	buf_put_u64(&message, 1700000000);
	buf_put_u32(&message, 123456789);
	buf_put_u64(&message, before_1970);
	buf_put_u32(&message, 999999999);
	expect_status(SFTP_OK);
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 1000000000);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
	close_handle(h, SFTP_OK);
	assert_int_equal(stat("t", &st), 0);
	for (uint32_t follow = 0; follow < 2; follow++) {
		buf_put_cstring(ask_ext("stat-ns@hpnssh.org"), "l");
		buf_put_u32(&message, follow);
		reply = answer();
		assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
		if (!follow)
			continue;
		assert_int_equal(rd_u64(&reply.body), 1700000000);
		assert_int_equal(rd_u32(&reply.body), 123456789);
		assert_int_equal(rd_u64(&reply.body), before_1970);
		assert_int_equal(rd_u32(&reply.body), 999999999);
		assert_int_equal(rd_u32(&reply.body), 2);
		assert_int_equal(rd_u64(&reply.body), st.st_dev);
		assert_int_equal(rd_u64(&reply.body), st.st_ino);
		assert_int_equal(rd_u64(&reply.body), st.st_blocks);
		assert_int_equal(rd_end(&reply.body), 0);
	}
	assert_int_equal(unlink("t"), 0);
	assert_int_equal(unlink("u"), 0);
	assert_int_equal(unlink("l"), 0);
}

static void
ask_put(const char *path, bool exact, uint32_t perms, const char *text)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_TIMES,
		.mode = perms, .atime = 5, .mtime = 1000000007 };
	struct buf *b = ask_ext("put-file@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, exact);
	sftp_put_attrs(b, &a);
	buf_put_cstring(b, text);
}

static void
expect_mode(const char *name, mode_t perms)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, perms);
}

/* Whole, or not at all, and nothing is left beside it. */
static void
test_put_file(void **state)
{
	struct stat st;

	(void)state;
	ask_put("p", false, 0666, "new");
	expect_status(SFTP_OK);
	expect_file("p", "new");
	expect_mode("p", 0644); /* by the umask */
	/* What is there keeps its mode; an old part is no obstacle. */
	assert_int_equal(chmod("p", 0600), 0);
	make_file(".p.hpnpart", "a longer text of an older one");
	ask_put("p", false, 0444, "over");
	expect_status(SFTP_OK);
	expect_file("p", "over");
	expect_mode("p", 0600);
	ask_put("p", true, 04555, "");
	expect_status(SFTP_OK);
	expect_file("p", "");
	expect_mode("p", 04555);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_mtime, 1000000007);
	/* What cannot be replaced is left alone. */
	assert_int_equal(symlink("p", "l"), 0);
	ask_put("l", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	assert_int_equal(link("p", "q"), 0);
	ask_put("q", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	expect_file("p", "");
	ask_put(".", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_put("none/p", false, 0644, "x");
	expect_status(SFTP_NO_SUCH_FILE);
	ask_put("p/x", false, 0644, "x");
	(void)answer();
	ask_put("", false, 0644, "x");
	expect_status(SFTP_NO_SUCH_FILE);
	/* A part that cannot be removed. */
	assert_int_equal(unlink("q") | mkdir(".p.hpnpart", 0755), 0);
	ask_put("p", false, 0644, "x");
	(void)answer();
	expect_file("p", "");
	assert_int_equal(rmdir(".p.hpnpart"), 0);
	/* Cut short */
	ask_put("p", false, 0644, "x");
	buf_truncate(&message, buf_len(&message) - 2);
	expect_status(SFTP_BAD_MESSAGE);
	expect_file("p", "");
	assert_int_not_equal(access(".p.hpnpart", F_OK), 0);
	assert_int_equal(unlink("p") | unlink("l"), 0);
}

static void
ask_get(const char *path, uint32_t most)
{
	buf_put_cstring(ask_ext("get-file@hpnssh.org"), path);
	buf_put_u32(&message, most);
}

static void
expect_got(const char *text)
{
	struct reply reply = answer();
	struct sftp_attrs a;
	struct span data;

	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	sftp_get_attrs(&reply.body, &a);
	data = rd_string(&reply.body);
	assert_int_equal(rd_end(&reply.body), 0);
	assert_true(span_equals(data, text));
	assert_int_equal(a.size, strlen(text));
	assert_int_equal(a.mode, S_IFREG | 0644);
}

static void
test_get_file(void **state)
{
	(void)state;
	make_file("g", "some text");
	ask_get("g", 9);
	expect_got("some text");
	ask_get("g", UINT32_MAX);
	expect_got("some text");
	ask_get("g", 8);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_get(".", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_get("none", 100);
	expect_status(SFTP_NO_SUCH_FILE);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	ask_get("fifo", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	/* It says that it is empty, and is not. */
	ask_get("/proc/self/status", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	make_file("g", "");
	ask_get("g", 0);
	expect_got("");
	assert_int_equal(unlink("g") | unlink("fifo"), 0);
}

/* Who may not open, read or write may not do it by these either. */
static void
test_small_refusals(void **state)
{
	static const struct {
		struct sftp_serve_opts opts;
		bool put, get;
	} cases[] = {
		{ { .read_only = true }, false, true },
		{ { .denied = "write" }, false, true },
		{ { .denied = "posix-rename" }, false, true },
		{ { .denied = "open" }, false, false },
		{ { .denied = "read" }, true, false },
		{ { .denied = "put-file,get-file" }, false, false },
		{ { .allowed = "put-file,get-file" }, false, false },
		{ { .allowed = "open,read,close,fstat,get-file" }, false,
		    true },
	};
	const struct sftp_serve_opts all = { .read_only = false };

	(void)state;
	make_file("g", "text");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		restart(&cases[i].opts);
		ask_put("p", false, 0644, "x");
		expect_status(cases[i].put ? SFTP_OK :
					     SFTP_PERMISSION_DENIED);
		assert_int_equal(unlink("p") == 0, cases[i].put);
		ask_get("g", 100);
		if (cases[i].get)
			expect_got("text");
		else
			expect_status(SFTP_PERMISSION_DENIED);
	}
	restart(&all);
	assert_int_equal(unlink("g"), 0);
}

static struct reply
sparse_map(uint32_t h, uint64_t offset)
{
	struct reply reply;

	put_handle(ask_ext("sparse-map@hpnssh.org"), h);
	buf_put_u64(&message, offset);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	return reply;
}

/* As lseek() tells it; the file system may know no holes. */
static void
test_sparse_map(void **state)
{
	struct reply reply;
	uint32_t h, count;
	off_t at = 0;
	int fd;

	(void)state;
	make_file("s", "start");
	assert_int_equal(truncate("s", 1 << 20), 0);
	fd = open("s", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 500000), 1);
	ask_open("s", SFTP_O_READ);
	h = answer_handle();
	reply = sparse_map(h, 0);
	count = rd_u32(&reply.body);
	assert_true(count > 0);
	for (; count > 0; count--) {
		at = lseek(fd, at, SEEK_DATA);
		assert_int_equal(rd_u64(&reply.body), at);
		assert_int_equal(rd_u64(&reply.body),
		    lseek(fd, at, SEEK_HOLE) - at);
		at = lseek(fd, at, SEEK_HOLE);
	}
	assert_int_equal(rd_u8(&reply.body), 0);
	assert_int_equal(rd_end(&reply.body), 0);
	reply = sparse_map(h, 1 << 20);
	assert_int_equal(rd_u32(&reply.body), 0);
	assert_int_equal(rd_u8(&reply.body), 0);
	close_handle(h, SFTP_OK);
	close(fd);
	assert_int_equal(unlink("s"), 0);
}

/* More extents than a reply has room for. */
static void
test_sparse_map_more(void **state)
{
	enum { STEP = 256 * 1024, COUNT = 1030 };
	struct reply reply;
	uint64_t end = 0;
	uint32_t h, n;
	int fd;

	(void)state;
	fd = open("s", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)i * STEP), 1);
	if (lseek(fd, 0, SEEK_HOLE) != STEP * (off_t)(COUNT - 1) + 1) {
		ask_open("s", SFTP_O_READ);
		h = answer_handle();
		reply = sparse_map(h, 0);
		n = rd_u32(&reply.body);
		assert_int_equal(n, 1024);
		for (; n > 0; n--) {
			end = rd_u64(&reply.body);
			end += rd_u64(&reply.body);
		}
		assert_int_equal(rd_u8(&reply.body), 1);
		reply = sparse_map(h, end);
		assert_int_equal(rd_u32(&reply.body), COUNT - 1024);
		close_handle(h, SFTP_OK);
	}
	close(fd);
	assert_int_equal(unlink("s"), 0);
}

/* --- order --- */

/* What the next message is appended to. */
static void
queue(struct buf *all)
{
	buf_close_string(&message, mark);
	buf_put_buf(all, &message);
}

/*
 * Everything sent ahead, without waiting for a reply: each sees what those
 * before it did, and nothing of those behind.
 */
static void
test_order(void **state)
{
	enum { ROUNDS = 200, SIZE = 5000 };
	static size_t starts[ROUNDS]; /* of what is expected, by id */
	uint8_t *model = calloc(1, 2 * SIZE);
	const uint8_t *want;
	struct buf all = { 0 }, expected = { 0 };
	uint32_t h, at = 0, seed = 7, reads = 0;
	struct reply reply;

	(void)state;
	ask_open("o", SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	h = answer_handle();
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t where = (seed = seed * 1103515245 + 12345) >> 8;

		where %= SIZE;
		memset(model + where, i, SIZE / 4);
		ask_write(h, where, model + where, SIZE / 4);
		queue(&all);
		at = MAX(at, where + SIZE / 4); /* size of the file */
		where = (seed = seed * 1103515245 + 12345) >> 8;
		where %= SIZE / 2;
		if (where >= at)
			continue;
		ask_read(h, where, SIZE);
		wire_put_u32((uint8_t *)buf_data(&message) + 5, reads++);
		queue(&all);
		starts[reads - 1] = buf_len(&expected);
		buf_put_string(&expected, model + where,
		    MIN((uint32_t)SIZE, at - where));
	}
	assert_int_equal(feed(buf_data(&all), buf_len(&all)), buf_len(&all));
	for (uint32_t done = 0; done < reads;) {
		reply = take_reply();
		if (reply.type == SFTP_STATUS) {
			assert_int_equal(reply.status, SFTP_OK);
			continue;
		}
		assert_int_equal(reply.type, SFTP_DATA);
		assert_true(reply.id < reads);
		want = buf_data(&expected) + starts[reply.id];
		done++;
		assert_int_equal(reply.body.len, 4 + wire_get_u32(want));
		assert_memory_equal(reply.body.p, want, reply.body.len);
	}
	close_handle(h, SFTP_OK);
	assert_int_equal(unlink("o"), 0);
	buf_clear(&all);
	buf_clear(&expected);
	free(model);
}

/* Names too: a directory is there for what is sent behind its MKDIR. */
static void
test_order_of_names(void **state)
{
	static const uint8_t types[] = { SFTP_STATUS, SFTP_HANDLE,
		SFTP_HANDLE, SFTP_STATUS, SFTP_ATTRS, SFTP_STATUS };
	struct buf all = { 0 };

	(void)state;
	for (int round = 0; round < 20; round++) {
		uint32_t place = 0;

		buf_reset(&all);
		ask_path(SFTP_MKDIR, "d");
		sftp_put_attrs(&message, NULL);
		queue(&all);
		ask_open("d/a", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
		queue(&all);
		ask_open("d/b", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
		queue(&all);
		ask_paths(SFTP_RENAME, "d/a", "d/c");
		queue(&all);
		ask_path(SFTP_LSTAT, "d/c");
		queue(&all);
		ask_path(SFTP_REMOVE, "d/c");
		queue(&all);
		assert_int_equal(feed(buf_data(&all), buf_len(&all)),
		    buf_len(&all));
		for (size_t i = 0; i < ARRAY_LEN(types); i++) {
			struct reply reply = take_reply();

			assert_int_equal(reply.type, types[i]);
			if (reply.type == SFTP_STATUS)
				assert_int_equal(reply.status, SFTP_OK);
			if (reply.type != SFTP_HANDLE)
				continue;
			(void)rd_u32(&reply.body);
			place = rd_u32(&reply.body);
		}
		assert_int_equal(buf_len(&replies), 0);
		/* All behind each other on one handle. */
		buf_reset(&all);
		ask_write(place, 0, "12345", 5);
		queue(&all);
		put_handle(ask(SFTP_FSTAT), place);
		queue(&all);
		put_handle(ask(SFTP_CLOSE), place);
		queue(&all);
		ask_path(SFTP_STAT, "d/b");
		queue(&all);
		assert_int_equal(feed(buf_data(&all), buf_len(&all)),
		    buf_len(&all));
		assert_int_equal(take_reply().status, SFTP_OK);
		for (int i = 0; i < 2; i++) {
			struct sftp_attrs attrs;
			struct reply reply = take_reply();

			assert_int_equal(reply.type, SFTP_ATTRS);
			sftp_get_attrs(&reply.body, &attrs);
			assert_int_equal(attrs.size, 5);
			if (i == 0)
				assert_int_equal(take_reply().status, SFTP_OK);
		}
		ask_read(place, 0, 1);
		expect_status(SFTP_FAILURE);
		assert_int_equal(unlink("d/b"), 0);
		assert_int_equal(rmdir("d"), 0);
	}
	buf_clear(&all);
}

/* A digest of much data does not hold up what comes behind it. */
static void
test_overtaking(void **state)
{
	struct buf all = { 0 };
	struct reply reply;

	(void)state;
	make_file("big", "");
	assert_int_equal(truncate("big", 256 << 20), 0);
	for (int i = 0; i < 3; i++) {
		ask_check("big", "sha512", 0, 0, 0);
		queue(&all);
	}
	ask_path(SFTP_STAT, "big");
	queue(&all);
	if (mode.threads > 0) {
		assert_int_equal(sftp_serve_input(s, buf_data(&all),
				     buf_len(&all)), buf_len(&all));
		while (collect(), buf_len(&replies) == 0) {
			struct pollfd pfd = { sftp_serve_fd(s), POLLIN, 0 };

			assert_int_equal(poll(&pfd, 1, 10000), 1);
			assert_int_equal(sftp_serve_input(s, buf_data(&all),
					     0), 0);
		}
		reply = take_reply();
		assert_int_equal(reply.type, SFTP_ATTRS);
		assert_true(sftp_serve_under_way(s));
	}
	/* It ends in the middle of that. */
	restart(&(struct sftp_serve_opts){ .home = temp_dir });
	assert_int_equal(unlink("big"), 0);
	buf_clear(&all);
}

/* Places that no file has. */
static void
test_offsets(void **state)
{
	static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 1,
		UINT64_MAX - 100000, (uint64_t)INT64_MAX + 1 };
	const uint64_t high = UINT64_C(5) << 30;
	struct reply reply;
	struct stat st;
	uint32_t h;

	(void)state;
	make_file("o", "text");
	ask_open("o", SFTP_O_READ | SFTP_O_WRITE);
	h = answer_handle();
	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		ask_read(h, offsets[i], 100);
		expect_status(SFTP_BAD_MESSAGE);
		ask_read(h, offsets[i], 100000);
		expect_status(SFTP_BAD_MESSAGE);
		ask_write(h, offsets[i], "x", 1);
		expect_status(SFTP_BAD_MESSAGE);
	}
	ask_write(h, INT64_MAX, "x", 1);
	assert_int_not_equal(answer().status, SFTP_OK);
	ask_read(h, INT64_MAX - 2, 100);
	(void)answer(); /* the end, or an error */
	expect_file("o", "text");
	/* Beyond 32 bits it is a place as any other. */
	ask_write(h, high, "more", 4);
	expect_status(SFTP_OK);
	assert_int_equal(stat("o", &st), 0);
	assert_int_equal(st.st_size, high + 4);
	ask_read(h, high, 100);
	reply = answer();
	assert_int_equal(reply.type, SFTP_DATA);
	assert_true(span_equals(rd_string(&reply.body), "more"));
	close_handle(h, SFTP_OK);
	assert_int_equal(unlink("o"), 0);
}

/* A part that somebody is at is not replaced; one that was left behind is. */
static void
test_parts(void **state)
{
	const uint32_t make = SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL;
	uint32_t one, two;
	int fd;

	(void)state;
	make_file(".p.hpnpart", "left");
	ask_open(".p.hpnpart", make);
	one = answer_handle();
	expect_file(".p.hpnpart", "");
	ask_open(".p.hpnpart", make);
	expect_status(SFTP_FAILURE);
	ask_put("p", false, 0644, "x"); /* nor by that */
	expect_status(SFTP_FAILURE);
	ask_open(".p.hpnpart", SFTP_O_WRITE); /* another lane */
	two = answer_handle();
	ask_write(one, 0, "ab", 2);
	expect_status(SFTP_OK);
	ask_write(two, 1, "c", 1);
	expect_status(SFTP_OK);
	expect_file(".p.hpnpart", "ac");
	close_handle(one, SFTP_OK);
	close_handle(two, SFTP_OK);
	/* A download of this host has it for itself. */
	fd = open(".p.hpnpart", O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	ask_open(".p.hpnpart", SFTP_O_WRITE);
	expect_status(SFTP_FAILURE);
	close(fd);
	/* Of other names nothing of that is true. */
	assert_int_equal(rename(".p.hpnpart", "p.hpnpart"), 0);
	ask_open("p.hpnpart", make);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("p.hpnpart"), 0);
}

/* Nobody is there to read or write, and nobody is waited for. */
static void
test_fifo(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	ask_open("fifo", SFTP_O_WRITE);
	expect_status(SFTP_FAILURE);
	ask_open("fifo", SFTP_O_READ);
	close_handle(answer_handle(), SFTP_OK);
	ask_check("fifo", "sha1", 0, 0, 0);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("fifo"), 0);
}

static int
setup(void **state)
{
	struct sftp_serve_opts opts = { .home = temp_dir };

	if (temp_enter(state) != 0)
		return 1;
	return start(&opts);
}

static int
teardown(void **state)
{
	(void)state;
	sftp_serve_free(s);
	buf_clear(&message);
	buf_clear(&replies);
	return temp_leave(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_realpath),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_framing_errors),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_check_file),
		cmocka_unit_test(test_times_ns),
		cmocka_unit_test(test_put_file),
		cmocka_unit_test(test_get_file),
		cmocka_unit_test(test_small_refusals),
		cmocka_unit_test(test_sparse_map),
		cmocka_unit_test(test_sparse_map_more),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_of_names),
		cmocka_unit_test(test_overtaking),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_fifo),
	};

	int failed = cmocka_run_group_tests_name("alone", tests, setup,
	    teardown);

	mode = (struct sftp_serve_opts){ .threads = 3 };
	failed += cmocka_run_group_tests_name("threads", tests, setup,
	    teardown);
	mode.eager = true;
	failed += cmocka_run_group_tests_name("eager", tests, setup, teardown);
	mode.direct = true;
	failed += cmocka_run_group_tests_name("eager direct", tests, setup,
	    teardown);
	mode.eager = false;
	failed += cmocka_run_group_tests_name("direct", tests, setup,
	    teardown);
	return failed;
}
