/* SPDX-License-Identifier: ISC */
/* The SFTP server engine, request by request: names, data, attributes, and
 * OpenSSH's extensions. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

static void
test_version(void **state)
{
	static const char *const want[] = { "posix-rename@openssh.com",
		"statvfs@openssh.com", "fstatvfs@openssh.com",
		"hardlink@openssh.com", "fsync@openssh.com",
		"lsetstat@openssh.com", "limits@openssh.com",
		"expand-path@openssh.com", "copy-data", "home-directory",
		"users-groups-by-id@openssh.com", "check-file",
		"block-sums@hpnssh.org", "block-sums-name@hpnssh.org",
		"copy-blocks@hpnssh.org", "uncache@hpnssh.org",
		"times-ns@hpnssh.org", "times-ns-name@hpnssh.org",
		"stat-ns@hpnssh.org", "sparse-map@hpnssh.org",
		"readdir-ns@hpnssh.org", "put-file@hpnssh.org",
		"put-file-ns@hpnssh.org", "rename-part@hpnssh.org",
		"get-file@hpnssh.org", "walk@hpnssh.org",
		"confine@hpnssh.org", "ids-by-name@hpnssh.org",
		"own-ids@hpnssh.org", "xattrs@hpnssh.org" };
	const struct sftp_serve_opts opts = { .read_only = false };
	struct reply reply;
	size_t n = 0;

	(void)state;
	begin(&opts);
	buf_put_u32(ask_for(SFTP_INIT), 6);
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
	begin(&opts);
	ask_path(SFTP_STAT, "/");
	message_end();
	assert_int_equal(sftp_serve_input(server, buf_data(&message),
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
	put_handle(ask_for(SFTP_FSTAT), h);
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
	put_handle(ask_for(SFTP_FSETSTAT), h);
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
		put_handle(ask_for(SFTP_READDIR), h);
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

/* Asks for the ids of n users and of one group. */
static void
ask_ids(const char *user, size_t len, uint32_t n, const char *group)
{
	ask_ext("ids-by-name@hpnssh.org");
	buf_put_u32(&message, n * (4 + (uint32_t)len));
	for (uint32_t i = 0; i < n; i++)
		buf_put_string(&message, user, len);
	buf_put_u32(&message, group != NULL ? 4 + (uint32_t)strlen(group) : 0);
	if (group != NULL)
		buf_put_cstring(&message, group);
}

/* ids-by-name: who is unknown is nobody, never root; what can be nobody's name,
 * too many names and more than the lists are refused. */
static void
check_ids(void)
{
	static const struct {
		const char *name;
		size_t len;
	} bad[] = { { "", 0 }, { "a:b", 3 }, { "a\nb", 3 }, { "a\0b", 3 },
		{ "\033", 1 }, { "\177", 1 } };
	struct reply reply;
	char longest[256];
	struct rd r;

	ask_ids("root", 4, 1, "no such group");
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	r = rd_sub(&reply.body);
	assert_int_equal(r.len, 4);
	assert_int_equal(rd_u32(&r), 0);
	r = rd_sub(&reply.body);
	assert_int_equal(r.len, 4);
	assert_int_equal(rd_u32(&r), UINT32_MAX);
	assert_int_equal(rd_end(&reply.body), 0);
	memset(longest, 'x', sizeof longest);
	for (uint32_t n = 255; n <= 256; n++) {
		ask_ids("no such user", 12, n, "root");
		if (n == 256)
			expect_status(SFTP_BAD_MESSAGE);
		else
			assert_int_equal(answer().type, SFTP_EXTENDED_REPLY);
		ask_ids(longest, n, 1, NULL);
		if (n == 256)
			expect_status(SFTP_BAD_MESSAGE);
		else
			assert_int_equal(answer().type, SFTP_EXTENDED_REPLY);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ask_ids(bad[i].name, bad[i].len, 1, "root");
		expect_status(SFTP_BAD_MESSAGE);
	}
	ask_ids("root", 4, 1, "a:b");
	expect_status(SFTP_BAD_MESSAGE);
	ask_ids("root", 4, 1, "root");
	buf_put_u8(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
	ask_ext("ids-by-name@hpnssh.org");
	buf_put_u32(&message, 5); /* a name that is cut off */
	buf_put_u32(&message, 4);
	buf_put_u8(&message, 'r');
	buf_put_u32(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
}

/* own-ids: this process, whose first group is that of its files. */
static void
check_own_ids(void)
{
	struct reply reply;
	gid_t groups[64];
	int n = getgroups(64, groups);
	struct rd r;

	ask_ext("own-ids@hpnssh.org");
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	assert_int_equal(rd_u32(&reply.body), geteuid());
	r = rd_sub(&reply.body);
	assert_int_equal(rd_u32(&r), getegid());
	for (int i = 0; i < n; i++)
		assert_int_equal(rd_u32(&r), groups[i]);
	assert_int_equal(rd_end(&r), 0);
	assert_int_equal(rd_end(&reply.body), 0);
	buf_put_u8(ask_ext("own-ids@hpnssh.org"), 0);
	expect_status(SFTP_BAD_MESSAGE);
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
	check_ids();
	check_own_ids();
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
	put_handle(ask_for(SFTP_FSETSTAT), h);
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
	buf_put_u32(ask_for(SFTP_STAT), 100);
	expect_status(SFTP_BAD_MESSAGE);
	buf_put_string(ask_for(SFTP_STAT), "a\0b", 3);
	expect_status(SFTP_BAD_MESSAGE);
	ask_for(SFTP_OPEN);
	expect_status(SFTP_BAD_MESSAGE);
	ask_read(0xdeadbeef, 0, 1);
	expect_status(SFTP_FAILURE);
	ask_write(0xdeadbeef, 0, "x", 1);
	expect_status(SFTP_NO_SUCH_FILE);
	buf_put_string(ask_for(SFTP_WRITE), "not our handle", 14);
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
		assert_int_equal(
		    sftp_serve_input(server, raw, len), ERR_PROTOCOL);
	}
	restart(&opts);
}

/* A STAT of a path with so many bytes: the answer's status. */
static void
check_path_len(size_t len, uint32_t status)
{
	char *path = malloc(len + 1);

	assert_non_null(path);
	memset(path, '/', len);
	path[len] = '\0';
	ask_path(SFTP_LSTAT, path);
	if (status == SFTP_OK)
		assert_int_equal(answer().type, SFTP_ATTRS);
	else
		expect_status(status);
	free(path);
}

/* The longest message, path and list, and one more of each. */
static void
test_exactly_the_most(void **state)
{
	const struct sftp_serve_opts opts = { .home = temp_dir };
	uint8_t *raw = calloc(1, 4 + SFTP_MESSAGE_MAX + 1);

	(void)state;
	assert_non_null(raw);
	check_path_len(PATH_MAX - 1, SFTP_OK);
	check_path_len(PATH_MAX, SFTP_BAD_MESSAGE); /* the system's word */
	check_path_len(SFTP_PATH_MAX, SFTP_BAD_MESSAGE);
	check_path_len(SFTP_PATH_MAX + 1, SFTP_BAD_MESSAGE);
	for (uint32_t n = 4096; n <= 4097; n++) {
		ask_ext("users-groups-by-id@openssh.com");
		buf_put_string(&message, raw, 4 * (size_t)n);
		buf_put_string(&message, raw, 4 * 4096);
		if (n == 4096)
			assert_int_equal(answer().type, SFTP_EXTENDED_REPLY);
		else
			expect_status(SFTP_BAD_MESSAGE);
	}
	for (size_t more = 0; more < 2; more++) {
		restart(&opts);
		wire_put_u32(raw, (uint32_t)(SFTP_MESSAGE_MAX + more));
		raw[4] = SFTP_STAT; /* of "", and more than it should have */
		assert_int_equal(sftp_serve_input(server, raw,
				     4 + SFTP_MESSAGE_MAX + more),
		    more == 0 ? 4 + SFTP_MESSAGE_MAX : ERR_PROTOCOL);
	}
	free(raw);
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
			queue(&all);
			ask_path(SFTP_STAT, "p");
			queue(&all);
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
	struct buf *out = sftp_serve_output(server);
	size_t at = 0, answers = 0, most = 0;
	ssize_t used;
	uint32_t h;

	(void)state;
	if (serve_mode.threads > 0) {
		print_message("with threads requests overtake each other\n");
		skip();
	}
	make_file("big", "");
	assert_int_equal(truncate("big", 1 << 20), 0);
	ask_open("big", SFTP_O_READ);
	h = answer_handle();
	for (int i = 0; i < 1000; i++) {
		ask_read(h, (uint64_t)(i % 4) << 18, 261120);
		queue(&all);
	}
	while (at < buf_len(&all) || buf_len(out) > 0) {
		used = sftp_serve_input(server, buf_data(&all) + at,
		    MIN(buf_len(&all) - at, (size_t)777));
		assert_true(used >= 0);
		at += (size_t)used;
		most = MAX(most, buf_len(out));
		if (sftp_serve_blocked(server) || at == buf_len(&all)) {
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
		cmocka_unit_test(test_exactly_the_most),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_fifo),
	};

	return serve_run_modes(tests);
}
