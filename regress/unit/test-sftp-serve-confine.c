/* SPDX-License-Identifier: ISC */
/*
 * A confined session of the SFTP server: what it gave up it never has again,
 * and no request leads out of its root, whatever the paths are, whatever links
 * are there, and whoever changes the way meanwhile.
 */
#include "compat/bsd.h"
#include "compat/file.h"
#include "regress/unit/dice.h"
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	STORIES = 4,
	REQUESTS = 200,
	TURNS = 1600,
	EXCHANGE = 2, /* RENAME_EXCHANGE of Linux */
};

static const struct sftp_serve_opts kernel = { .home = temp_dir },
    walking = { .home = temp_dir, .no_openat2 = true };

/* root, in which the session is, and out, which is not its business. */
static void
plant(const char *root)
{
	char command[600];

	snprintf(command, sizeof command,
	    "rm -rf %s && mkdir -p %s/a/b %s/d && cd %s && echo in > a/f && "
	    "echo t > top && ln -s a in && ln -s ../out up && "
	    "ln -s %s/out abs && ln -s ../../out/f a/far && "
	    "ln -s ../top a/back && ln -s loop loop && ln -s new dangling",
	    root, root, root, root, temp_dir);
	assert_int_equal(system(command), 0);
}

static struct stat canaries[4];

static void
watch(bool first)
{
	static const char *const names[] = { "out", "out/f", "out/sub",
		"out/sub/g" };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(stat(names[i], &st), 0);
		if (first) {
			canaries[i] = st;
			continue;
		}
		assert_int_equal(st.st_ino, canaries[i].st_ino);
		assert_int_equal(st.st_nlink, canaries[i].st_nlink);
		assert_int_equal(st.st_ctim.tv_sec, canaries[i].st_ctim.tv_sec);
		assert_int_equal(st.st_ctim.tv_nsec,
		    canaries[i].st_ctim.tv_nsec);
	}
}

static void
plant_out(void)
{
	assert_int_equal(system("rm -rf out && mkdir -p out/sub && "
				"echo secret > out/f && "
				"echo secret > out/sub/g && : > out/canary"),
	    0);
	watch(true);
}

static void
clear(void)
{
	assert_int_equal(system("rm -rf root walked out"), 0);
}

static void
ask_confine(const char *path, uint32_t rights, uint32_t flags)
{
	struct buf *b = ask_ext("confine@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, rights);
	for (int i = 0; i < 3; i++)
		buf_put_u64(b, UINT64_MAX);
	buf_put_u32(b, flags);
}

static void
confined(const struct sftp_serve_opts *opts, const char *path,
    uint32_t rights, uint32_t flags)
{
	restart(opts);
	ask_confine(path, rights, flags);
	expect_status(SFTP_OK);
}

/* ---- rights ------------------------------------------------------------- */

static void
ask_put(const char *path, uint32_t exact, const char *text)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_TIMES,
		.mode = 0644, .mtime = 1000 };
	struct buf *b = ask_ext("put-file@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, exact);
	sftp_put_attrs(b, &a);
	buf_put_cstring(b, text);
}

/* Sets only what is told. */
static void
ask_put_ns(const char *path, uint32_t sets)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_OWNER,
		.mode = 0644, .uid = geteuid(), .gid = getegid() };
	struct buf *b = ask_ext("put-file-ns@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, sets);
	sftp_put_attrs(b, &a);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(b, 1000);
		buf_put_u32(b, 7);
	}
	buf_put_cstring(b, "y");
}

static void
ask_rename_part(uint32_t h, const char *part, const char *target)
{
	put_handle(ask_ext("rename-part@hpnssh.org"), h);
	buf_put_cstring(&message, part);
	buf_put_cstring(&message, target);
}

static void
ask_set(uint8_t type, const char *ext, const char *path, uint32_t flags)
{
	const struct sftp_attrs a = { .flags = flags, .mode = 0700,
		.size = 1, .uid = getuid(), .gid = getgid(), .mtime = 7 };

	if (ext != NULL)
		(void)ask_ext(ext);
	else
		(void)ask_for(type);
	buf_put_cstring(&message, path);
	sftp_put_attrs(&message, &a);
}

static void
ask_path_ext(const char *name, const char *path)
{
	buf_put_cstring(ask_ext(name), path);
}

static void
ask_two(const char *name, const char *one, const char *two)
{
	ask_path_ext(name, one);
	buf_put_cstring(&message, two);
}

/* One request of each kind, of those that are of paths. */
enum { KINDS = 27 };

static void
ask_kind(unsigned kind, const char *one, const char *two)
{
	static const uint32_t opens[] = { SFTP_O_READ, SFTP_O_WRITE,
		SFTP_O_WRITE | SFTP_O_CREAT,
		SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL,
		SFTP_O_READ | SFTP_O_TRUNC };
	static const uint32_t sets[] = { SFTP_A_SIZE, SFTP_A_MODE,
		SFTP_A_OWNER, SFTP_A_TIMES };

	switch (kind) {
	case 0: case 1: case 2: case 3: case 4:
		ask_open(one, opens[kind]);
		return;
	case 5: case 6: case 7: case 8:
		ask_set(SFTP_SETSTAT, NULL, one, sets[kind - 5]);
		return;
	case 9:
		ask_set(0, "lsetstat@openssh.com", one, SFTP_A_TIMES);
		return;
	case 10:
		ask_path(SFTP_STAT, one);
		return;
	case 11:
		ask_path(SFTP_LSTAT, one);
		return;
	case 12:
		ask_path(SFTP_OPENDIR, one);
		return;
	case 13:
		ask_path(SFTP_READLINK, one);
		return;
	case 14:
		ask_path(SFTP_REALPATH, one);
		return;
	case 15:
		ask_path_ext("statvfs@openssh.com", one);
		return;
	case 16:
		ask_path_ext("stat-ns@hpnssh.org", one);
		buf_put_u32(&message, 1);
		return;
	case 17:
		ask_check("check-file-name", "sha256", 0, 0, 0);
		return;
	case 18:
		ask_path_ext("get-file@hpnssh.org", one);
		buf_put_u32(&message, 1000);
		return;
	case 19:
		ask_path(SFTP_MKDIR, one);
		sftp_put_attrs(&message, NULL);
		return;
	case 20:
		ask_put(one, 0, "new text");
		return;
	case 21:
		ask_paths(SFTP_SYMLINK, two, one);
		return;
	case 22:
		ask_two("hardlink@openssh.com", two, one);
		return;
	case 23:
		ask_path(SFTP_REMOVE, one);
		return;
	case 24:
		ask_path(SFTP_RMDIR, one);
		return;
	case 25:
		ask_paths(SFTP_RENAME, two, one);
		return;
	default:
		ask_two("posix-rename@openssh.com", two, one);
	}
}

/* What each of these takes: not more, and not less. */
static const uint32_t takes[KINDS] = {
	SFTP_MAY_READ,
	SFTP_MAY_CHANGE,
	SFTP_MAY_MAKE | SFTP_MAY_CHANGE,
	SFTP_MAY_MAKE,
	SFTP_MAY_READ | SFTP_MAY_CHANGE,
	SFTP_MAY_CHANGE,
	SFTP_MAY_MODE,
	SFTP_MAY_OWNER,
	SFTP_MAY_TIMES,
	SFTP_MAY_TIMES,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_LIST,
	SFTP_MAY_READ,
	SFTP_MAY_READ,
	SFTP_MAY_MAKE,
	SFTP_MAY_MAKE | SFTP_MAY_CHANGE,
	SFTP_MAY_MAKE | SFTP_MAY_LINK,
	SFTP_MAY_MAKE | SFTP_MAY_LINK,
	SFTP_MAY_DELETE,
	SFTP_MAY_DELETE,
	SFTP_MAY_MAKE | SFTP_MAY_DELETE,
	SFTP_MAY_MAKE | SFTP_MAY_CHANGE | SFTP_MAY_DELETE,
};

static uint32_t
status_of(const struct reply *reply)
{
	return reply->type == SFTP_STATUS ? reply->status : SFTP_OK;
}

static void
test_rights(void **state)
{
	struct reply reply;

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		plant("root");
		confined(&kernel, "root", takes[kind], 0);
		ask_kind(kind, "nowhere/x", "nowhere/y");
		reply = answer();
		if (status_of(&reply) == SFTP_PERMISSION_DENIED)
			fail_msg("kind %u is refused", kind);
		for (uint32_t bit = 1; bit <= SFTP_MAY_TIMES; bit <<= 1) {
			if ((takes[kind] & bit) == 0)
				continue;
			confined(&kernel, "root", SFTP_MAY_ALL & ~bit, 0);
			ask_kind(kind, "top", "a/f");
			expect_status(SFTP_PERMISSION_DENIED);
		}
	}
	expect_file("root/top", "t\n");
	clear();
}

/* Data goes by handles; they need their rights too. */
static void
test_rights_of_handles(void **state)
{
	uint32_t h;

	(void)state;
	plant("root");
	confined(&kernel, "root", SFTP_MAY_MAKE, 0);
	ask_open("new", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	h = answer_handle();
	ask_write(h, 0, "text", 4);
	expect_status(SFTP_OK);
	ask_read(h, 0, 4);
	expect_status(SFTP_PERMISSION_DENIED);
	put_handle(ask_for(SFTP_FSETSTAT), h);
	sftp_put_attrs(&message,
	    &(struct sftp_attrs){ .flags = SFTP_A_MODE, .mode = 0777 });
	expect_status(SFTP_PERMISSION_DENIED);
	close_handle(h, SFTP_OK);
	expect_file("root/new", "text");
	/* rename-part is for parts, and no way to take others' names. */
	confined(&kernel, "root", SFTP_MAY_MAKE | SFTP_MAY_CHANGE, 0);
	ask_open("top", SFTP_O_WRITE);
	h = answer_handle();
	ask_rename_part(h, "top", "");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_rename_part(h, "top", "other");
	expect_status(SFTP_PERMISSION_DENIED);
	close_handle(h, SFTP_OK);
	expect_file("root/top", "t\n");
	ask_open(".top.hpnpart", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	ask_rename_part(answer_handle(), ".top.hpnpart", "top");
	expect_status(SFTP_OK);
	expect_file("root/top", "");
	/* put-file sets what SETSTAT would. */
	confined(&kernel, "root", SFTP_MAY_MAKE | SFTP_MAY_CHANGE, 0);
	ask_put("top", 1, "x");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_put("top", 0, "x");
	expect_status(SFTP_OK);
	ask_put_ns("top", 0);
	expect_status(SFTP_OK);
	ask_put_ns("top", SFTP_A_TIMES);
	expect_status(SFTP_PERMISSION_DENIED);
	confined(&kernel, "root", SFTP_MAY_MAKE | SFTP_MAY_CHANGE |
		SFTP_MAY_TIMES | SFTP_MAY_MODE, 0);
	ask_put_ns("top", SFTP_A_TIMES | SFTP_A_MODE);
	expect_status(SFTP_OK);
	ask_put_ns("top", SFTP_A_OWNER | SFTP_A_MODE);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_put_ns("../out", 0);
	expect_status(SFTP_PERMISSION_DENIED);
	clear();
}

/* Whatever is asked for later, rights and root grow no more. */
static void
test_never_back(void **state)
{
	(void)state;
	plant("root");
	plant_out();
	confined(&kernel, "root", SFTP_MAY_LIST | SFTP_MAY_READ,
	    SFTP_CONFINE_LINKS);
	ask_confine(".", SFTP_MAY_LIST | SFTP_MAY_DELETE, 0);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_confine("..", SFTP_MAY_LIST, 0);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_confine(temp_dir, SFTP_MAY_LIST, 0);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_confine("a", SFTP_MAY_LIST, 0);
	expect_status(SFTP_OK);
	ask_path(SFTP_STAT, "f");
	assert_int_equal(answer().type, SFTP_ATTRS);
	ask_path(SFTP_STAT, "back");
	expect_status(SFTP_NO_SUCH_FILE);
	ask_path(SFTP_STAT, "../top");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_open("f", SFTP_O_READ);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_confine(".", SFTP_MAY_LIST | SFTP_MAY_READ, 0);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_path_ext("expand-path@openssh.com", "~");
	expect_status(SFTP_PERMISSION_DENIED);
	ask_path_ext("home-directory", "");
	expect_status(SFTP_PERMISSION_DENIED);
	/* -R has given up all but two. */
	restart(&(struct sftp_serve_opts){ .read_only = true });
	ask_confine("root", SFTP_MAY_ALL, 0);
	expect_status(SFTP_PERMISSION_DENIED);
	clear();
}

static void
test_refused(void **state)
{
	uint32_t h;

	(void)state;
	plant("root");
	restart(&kernel);
	ask_confine("root", SFTP_MAY_ALL + 1, 0);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_confine("root", SFTP_MAY_ALL, 2);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_confine("root/top", SFTP_MAY_ALL, 0);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_confine("root/gone", SFTP_MAY_ALL, 0);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_path_ext("confine@hpnssh.org", "root");
	expect_status(SFTP_BAD_MESSAGE);
	ask_confine("root", SFTP_MAY_ALL, 0);
	buf_put_u8(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
	/* What is open was opened with other rights. */
	ask_path(SFTP_OPENDIR, "root");
	h = answer_handle();
	ask_confine("root", SFTP_MAY_LIST, 0);
	expect_status(SFTP_FAILURE);
	ask_path(SFTP_STAT, "/");
	assert_int_equal(answer().type, SFTP_ATTRS);
	close_handle(h, SFTP_OK);
	ask_confine("root", SFTP_MAY_LIST, 0);
	expect_status(SFTP_OK);
	clear();
}

/* Requests that were sent right behind it are confined, though all that comes
 * before is with the workers. */
static void
test_behind_others(void **state)
{
	static struct buf all;

	(void)state;
	plant("root");
	plant_out();
	restart(&kernel);
	buf_reset(&all);
	for (int i = 0; i < 20; i++) {
		ask_path(SFTP_STAT, "out/f");
		queue(&all);
	}
	ask_confine("root", SFTP_MAY_LIST, 0);
	queue(&all);
	ask_path(SFTP_REMOVE, "top");
	queue(&all);
	ask_path(SFTP_STAT, "out/f");
	queue(&all);
	assert_int_equal(feed(buf_data(&all), buf_len(&all)), buf_len(&all));
	for (int i = 0; i < 20; i++)
		assert_int_equal(take_reply().type, SFTP_ATTRS);
	assert_int_equal(take_reply().status, SFTP_OK);
	assert_int_equal(take_reply().status, SFTP_PERMISSION_DENIED);
	assert_int_equal(take_reply().status, SFTP_NO_SUCH_FILE);
	buf_clear(&all);
	expect_file("root/top", "t\n");
	clear();
}

static void
test_limits(void **state)
{
	uint32_t h;

	(void)state;
	plant("root");
	restart(&kernel);
	buf_put_cstring(ask_ext("confine@hpnssh.org"), "root");
	buf_put_u32(&message, SFTP_MAY_ALL);
	buf_put_u64(&message, 10); /* bytes, files, deletes */
	buf_put_u64(&message, 2);
	buf_put_u64(&message, 1);
	buf_put_u32(&message, 0);
	expect_status(SFTP_OK);
	ask_open("n", SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	h = answer_handle();
	ask_write(h, 0, "123456", 6);
	expect_status(SFTP_OK);
	ask_write(h, 6, "12345", 5);
	expect_status(SFTP_FAILURE);
	ask_write(h, 6, "1234", 4);
	expect_status(SFTP_OK);
	ask_write(h, 0, "1", 1);
	expect_status(SFTP_FAILURE);
	close_handle(h, SFTP_OK);
	expect_file("root/n", "1234561234");
	ask_put("p", 0, "x"); /* no bytes are left; a file is counted */
	expect_status(SFTP_FAILURE);
	ask_path(SFTP_MKDIR, "m");
	sftp_put_attrs(&message, NULL);
	expect_status(SFTP_FAILURE);
	ask_path(SFTP_REMOVE, "n");
	expect_status(SFTP_OK);
	ask_path(SFTP_REMOVE, "top");
	expect_status(SFTP_FAILURE);
	/* A second time gives nothing back. */
	ask_confine(".", SFTP_MAY_ALL, 0);
	expect_status(SFTP_OK);
	ask_path(SFTP_REMOVE, "top");
	expect_status(SFTP_FAILURE);
	expect_file("root/top", "t\n");
	clear();
}

/* ---- random requests ---------------------------------------------------- */

static void
some_path(struct dice *d, char *path, size_t size)
{
	static const char *const parts[] = { "a", "b", "f", "d", "top", "in",
		"up", "abs", "far", "back", "loop", "dangling", "new", "..",
		"..", ".", "", "out", "sub", ".f.hpnpart" };
	uint32_t n = 1 + dice_below(d, 4);

	strlcpy(path, dice_below(d, 5) == 0 ? "/" : "", size);
	if (dice_below(d, 12) == 0)
		strlcat(path, temp_dir, size);
	for (uint32_t i = 0; i < n; i++) {
		strlcat(path, i > 0 ? "/" : "", size);
		strlcat(path, parts[dice_below(d, ARRAY_LEN(parts))], size);
	}
}

/* Asks, and looks for what must not be in the answer. The handle of what it
 * opens is read, and closed. */
static uint32_t
status_of_asked(char name[200])
{
	struct reply reply = answer();
	uint32_t status = status_of(&reply), h;
	struct span s;

	name[0] = '\0';
	assert_null(memmem(reply.body.p, reply.body.len, "secret", 6));
	if (reply.type == SFTP_NAME) {
		(void)rd_u32(&reply.body);
		s = rd_string(&reply.body);
		snprintf(name, 200, "%.*s", (int)s.len, (const char *)s.p);
	}
	if (reply.type != SFTP_HANDLE)
		return status;
	(void)rd_u32(&reply.body);
	h = rd_u32(&reply.body);
	ask_read(h, 0, 100);
	reply = answer();
	assert_null(memmem(reply.body.p, reply.body.len, "secret", 6));
	ask_write(h, 0, "new", 3);
	(void)answer();
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
	reply = answer();
	assert_null(memmem(reply.body.p, reply.body.len, "canary", 6));
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 5);
		buf_put_u32(&message, 5);
	}
	(void)answer();
	close_handle(h, SFTP_OK);
	return status;
}

/* Two servers, one of which has no openat2, on two trees that are alike: they
 * answer the same, and the outside is as it was. */
static void
story(uint64_t seed, uint32_t flags)
{
	struct sftp_serve *two[2] = { NULL };
	struct dice d = { .state = seed };
	char one[200], other[200], names[2][200];
	uint32_t status[2];
	unsigned kind;

	plant("root");
	plant("walked");
	for (int i = 0; i < 2; i++) {
		server = NULL;
		confined(i == 0 ? &kernel : &walking,
		    i == 0 ? "root" : "walked", SFTP_MAY_ALL, flags);
		two[i] = server;
	}
	for (int n = 0; n < REQUESTS; n++) {
		some_path(&d, one, sizeof one);
		some_path(&d, other, sizeof other);
		kind = dice_below(&d, KINDS);
		for (int i = 0; i < 2; i++) {
			server = two[i];
			ask_kind(kind, one, other);
			status[i] = status_of_asked(names[i]);
		}
		if (status[0] != status[1] || strcmp(names[0], names[1]) != 0)
			fail_msg("seed %llu: kind %u of \"%s\", \"%s\": "
				 "%u \"%s\", %u \"%s\"",
			    (unsigned long long)seed, kind, one, other,
			    status[0], names[0], status[1], names[1]);
	}
	watch(false);
	sftp_serve_free(two[0]);
	server = two[1];
}

static void
test_random_requests(void **state)
{
	(void)state;
	sftp_serve_free(server);
	server = NULL;
	plant_out();
	for (uint64_t seed = 1; seed <= STORIES; seed++) {
		story(seed, seed % 2 != 0 ? SFTP_CONFINE_LINKS : 0);
		sftp_serve_free(server);
		server = NULL;
	}
	restart(&kernel);
	clear();
}

/* ---- what is above ------------------------------------------------------- */

/* A listing says of ".." what dir is. */
static void
expect_above(uint32_t h, const char *dir)
{
	struct sftp_stat_ns ns;
	struct sftp_entry e;
	struct reply reply;
	struct stat st;
	bool found = false;
	uint32_t n;

	assert_int_equal(stat(dir, &st), 0);
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	for (n = rd_u32(&reply.body); n > 0; n--) {
		assert_true(sftp_next_entry_ns(&reply.body, true, &e, &ns));
		if (!span_equals(e.name, ".."))
			continue;
		found = true;
		assert_int_equal(ns.ino, st.st_ino);
		assert_int_equal(ns.mtime, st.FILE_MTIME.tv_sec);
		assert_int_equal(e.attrs.mode, st.st_mode);
	}
	assert_true(found);
	close_handle(h, SFTP_OK);
}

/* The root's, and that of a directory that is moved out of the root while it is
 * listed: neither is the session's business. */
static void
test_above(void **state)
{
	uint32_t h;

	(void)state;
	plant("root");
	plant_out();
	confined(&kernel, "root", SFTP_MAY_LIST, 0);
	ask_path(SFTP_OPENDIR, "/");
	expect_above(answer_handle(), "root");
	ask_path(SFTP_OPENDIR, "a/b");
	h = answer_handle();
	assert_int_equal(rename("root/a/b", "out/moved"), 0);
	expect_above(h, "out/moved");
	/* One that is not confined is told the truth. */
	restart(&kernel);
	ask_path(SFTP_OPENDIR, "root/a");
	expect_above(answer_handle(), "root");
	clear();
}

/* ---- somebody changes the way ------------------------------------------- */

static atomic_bool stop;

/* d is a directory of the tree and a link out of it, by turns. */
static void *
swap(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		(void)syscall(SYS_renameat2, AT_FDCWD, "root/d", AT_FDCWD,
		    "root/up", EXCHANGE);
	return NULL;
}

static void
turns(const struct sftp_serve_opts *opts, uint32_t flags)
{
	static const char *const paths[] = { "d/f", "d/sub", "d/sub/g",
		"up/f", "d/../up/sub/g", "d/new", "up/.f.hpnpart" };
	struct dice d = { .state = flags + 3 };
	char name[200];
	unsigned kind;

	confined(opts, "root", SFTP_MAY_ALL, flags);
	for (int i = 0; i < TURNS / 4; i++) {
		/* The swapped names themselves stay, so that it goes on. */
		kind = dice_below(&d, KINDS);
		ask_kind(kind, paths[dice_below(&d, ARRAY_LEN(paths))],
		    paths[dice_below(&d, ARRAY_LEN(paths))]);
		(void)status_of_asked(name);
	}
}

static void
test_swapped(void **state)
{
	pthread_t thread;

	(void)state;
	plant("root");
	plant_out();
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
	turns(&kernel, 0);
	turns(&kernel, SFTP_CONFINE_LINKS);
	turns(&walking, 0);
	turns(&walking, SFTP_CONFINE_LINKS);
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	watch(false);
	restart(&kernel);
	clear();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_rights_of_handles),
		cmocka_unit_test(test_never_back),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_behind_others),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_random_requests),
		cmocka_unit_test(test_above),
		cmocka_unit_test(test_swapped),
	};

	return serve_run_modes(tests);
}
