/* SPDX-License-Identifier: ISC */
/* walk@hpnssh.org: what the server tells of trees, read by the client's
 * reader. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/file.h"
#include "crypto/digest.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sftp/walk-reader.h"
#include "xfer/xattrs.h"

enum { EXCHANGE = 2 /* RENAME_EXCHANGE of Linux */ };

static const struct sftp_serve_opts all = { .home = temp_dir };

static void
plant(void)
{
	assert_int_equal(system("rm -rf t out && mkdir -p t/a/deep/er t/a-b "
				"t/b t/empty out && "
				"echo text > t/a/deep/er/f && "
				"echo x > t/a.txt && echo y > t/a/g.o && "
				": > t/b/empty && ln -s ../out t/l && "
				"mkfifo t/p && ln t/a.txt t/b/second && "
				"touch -d @1000000000.5 t/a.txt && "
				"chmod 640 t/a/g.o && : > out/canary"), 0);
}

static void
clear(void)
{
	assert_int_equal(system("rm -rf t out"), 0);
}

struct asked {
	uint32_t want;
	const char *path, *rules, *start;
	size_t rules_len;
};

static void
ask_walk(const struct asked *q)
{
	struct buf *b = ask_ext("walk@hpnssh.org");

	buf_put_cstring(b, q->path != NULL ? q->path : "t");
	buf_put_u32(b, q->want);
	buf_put_string(b, q->rules != NULL ? q->rules : "", q->rules_len);
	buf_put_cstring(b, q->start);
}

static void
show(struct buf *out, uint32_t want, const struct walk_item *item)
{
	static const char kinds[] = "?fdlpcbs";

	if (item->is_group) {
		buf_printf(out, "[%s]", item->path);
		if (item->status != 0)
			buf_printf(out, " error %u", item->status);
		buf_printf(out, "\n");
		return;
	}
	buf_printf(out, "%c %s", kinds[item->kind], item->name);
	if (item->kind == WALK_FILE)
		buf_printf(out, " %llu", (unsigned long long)item->size);
	if ((want & WALK_TEXT) != 0 && item->kind == WALK_LINK)
		buf_printf(out, " -> %s", item->text);
	if (item->not_entered)
		buf_printf(out, " not entered");
	buf_printf(out, "\n");
}

/* Walks all of it. The number of replies. */
static unsigned
walk(const struct asked *q, struct buf *out,
    void (*look)(const struct walk_item *item))
{
	static struct walk_reader reader;
	struct walk_item item;
	struct reply reply;
	unsigned replies_read = 0;
	uint32_t h;
	int r;

	ask_walk(q);
	h = answer_handle();
	walk_reader_init(&reader, q->want);
	for (;; replies_read++) {
		put_handle(ask_ext("walk-read@hpnssh.org"), h);
		reply = answer();
		if (reply.type == SFTP_STATUS)
			break;
		assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
		walk_reader_reply(&reader,
		    (struct span){ reply.body.p, reply.body.len });
		while ((r = walk_reader_next(&reader, &item)) == 1) {
			show(out, q->want, &item);
			if (look != NULL)
				look(&item);
		}
		assert_int_equal(r, 0);
	}
	walk_reader_clear(&reader);
	assert_int_equal(reply.status, SFTP_EOF);
	close_handle(h, SFTP_OK);
	buf_put_u8(out, 0);
	return replies_read;
}

static void
expect_walk(const struct asked *q, const char *text)
{
	struct buf out = { 0 };

	(void)walk(q, &out, NULL);
	assert_string_equal((const char *)buf_data(&out), text);
	buf_clear(&out);
}

static const char tree[] = "[]\nd a\nd a-b\nf a.txt 2\nd b\nd empty\n"
			   "l l -> ../out\np p\n"
			   "[a]\nd deep\nf g.o 2\n[a/deep]\nd er\n"
			   "[a/deep/er]\nf f 5\n[a-b]\n[b]\nf empty 0\n"
			   "f second 2\n[empty]\n";

static void
look(const struct walk_item *item)
{
	struct buf set = { 0 };
	static char dir[WALK_PATH_MAX + 1];
	char path[2 * WALK_PATH_MAX];
	uint8_t text[100], digest[WALK_DIGEST_LEN];
	struct stat st;
	size_t n;
	FILE *f;

	if (item->is_group) {
		strlcpy(dir, item->path, sizeof dir);
		return;
	}
	snprintf(path, sizeof path, "t/%s/%s", dir, item->name);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(item->mode, st.st_mode & 07777);
	assert_int_equal(item->uid, st.st_uid);
	assert_int_equal(item->gid, st.st_gid);
	assert_int_equal(item->mtime, st.FILE_MTIME.tv_sec);
	assert_int_equal(item->nsec, st.FILE_MTIME.tv_nsec);
	assert_int_equal(item->nlink, st.st_nlink);
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) {
		assert_int_equal(item->dev, st.st_dev);
		assert_int_equal(item->ino, st.st_ino);
	}
	if (item->kind == WALK_FILE || item->kind == WALK_DIR ||
	    item->kind == WALK_LINK) {
		assert_false(item->xattrs_unread);
		assert_int_equal(xattrs_read_at(AT_FDCWD, path, false,
		    XATTRS_ALL, &set), 0);
		assert_int_equal(item->xattrs.len, buf_len(&set));
		if (buf_len(&set) > 0)
			assert_memory_equal(item->xattrs.p, buf_data(&set),
			    buf_len(&set));
		buf_clear(&set);
	}
	if (item->kind != WALK_FILE)
		return;
	assert_int_equal(item->blocks, st.st_blocks);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof text, f);
	fclose(f);
	assert_int_equal(digest_once(DIGEST_SHA256, text, n, digest), 0);
	assert_non_null(item->digest);
	assert_memory_equal(item->digest, digest, sizeof digest);
}

static void
test_tree(void **state)
{
	static const char *const noted[] = { "t/a.txt", "t/b", "t/b/second" };
	const struct asked q = { .want = WALK_WANT_ALL & ~WALK_AFTER };
	struct buf out = { 0 };

	(void)state;
	plant();
	/* Where the file system has them; two have the same. */
	for (size_t i = 0; i < ARRAY_LEN(noted); i++)
		(void)!xattr_set(&(struct xattr_file){ .path = noted[i] },
		    "user.n", "1", 1);
	restart(&all);
	(void)walk(&q, &out, look);
	assert_string_equal((const char *)buf_data(&out), tree);
	buf_clear(&out);
	expect_walk(&(struct asked){ .path = "t/empty" }, "[]\n");
	clear();
}

static void
test_rules(void **state)
{
	static const char rules[] = "+*.txt\0-/b/***\0-deep/\0-*.o";

	(void)state;
	plant();
	restart(&all);
	expect_walk(&(struct asked){ .rules = rules,
			.rules_len = sizeof rules },
	    "[]\nd a\nd a-b\nf a.txt 2\nd empty\nl l\np p\n[a]\n[a-b]\n"
	    "[empty]\n");
	ask_walk(&(struct asked){ .rules = "-x", .rules_len = 2 });
	expect_status(SFTP_BAD_MESSAGE);
	ask_walk(&(struct asked){ .rules = "-[", .rules_len = 3 });
	expect_status(SFTP_BAD_MESSAGE);
	clear();
}

/* From each group on, and from one that is gone. */
static void
test_again(void **state)
{
	static const struct {
		const char *start, *first;
	} from[] = { { "", "[a]" }, { "a", "[a/deep]" },
		{ "a/deep", "[a/deep/er]" }, { "a/deep/er", "[a-b]" },
		{ "a/deep/gone/x", "[a-b]" }, { "a-b", "[b]" },
		{ "b", "[empty]" }, { "a0", "[b]" } };
	const char *rest;

	(void)state;
	plant();
	restart(&all);
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		rest = strstr(tree, from[i].first);
		assert_non_null(rest);
		expect_walk(&(struct asked){ .want = WALK_TEXT | WALK_AFTER,
				.start = from[i].start }, rest);
	}
	expect_walk(&(struct asked){ .want = WALK_AFTER, .start = "empty" },
	    "");
	clear();
}

/* A directory with more names than are held is told in order all the same, and
 * so are the directories in it, of which there are more than are noted at a
 * time. */
static void
test_wide(void **state)
{
	enum { NAMES = 1600 };
	struct sftp_serve_opts little = all;
	struct buf out = { 0 }, want = { 0 };
	char name[40];

	(void)state;
	little.walk_bytes = 4096;
	assert_int_equal(mkdir("t", 0700), 0);
	buf_printf(&want, "[]\n");
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "t/%04d-a-name",
		    i * 7919 % NAMES);
		if (i % 8 == 0)
			make_file(name, "");
		else
			assert_int_equal(mkdir(name, 0700), 0);
		buf_printf(&want, "%s %04d-a-name%s\n", i % 8 == 0 ? "f" : "d",
		    i, i % 8 == 0 ? " 0" : "");
	}
	for (int i = 0; i < NAMES; i++)
		if (i % 8 != 0)
			buf_printf(&want, "[%04d-a-name]\n", i);
	buf_put_u8(&want, 0);
	restart(&little);
	(void)walk(&(struct asked){ .want = 0 }, &out, NULL);
	assert_string_equal((const char *)buf_data(&out),
	    (const char *)buf_data(&want));
	/* From the middle of its directories. */
	buf_reset(&out);
	(void)walk(&(struct asked){ .want = WALK_AFTER,
	    .start = "1500-a-name" }, &out, NULL);
	assert_string_equal((const char *)buf_data(&out),
	    strstr((const char *)buf_data(&want), "[1501-a-name]"));
	buf_clear(&out);
	buf_clear(&want);
	clear();
}

/* More than one reply holds; and it begins where the last one ended. */
static void
test_long(void **state)
{
	enum { NAMES = 1100 };
	struct buf out = { 0 };
	const char *at;
	char name[300], want[300];

	(void)state;
	assert_int_equal(mkdir("t", 0700), 0);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "t/%04d%0240d", i * 7919 % NAMES,
		    i);
		make_file(name, "");
	}
	restart(&all);
	assert_true(walk(&(struct asked){ .want = 0 }, &out, NULL) >= 2);
	at = (const char *)buf_data(&out);
	for (int i = 0; i < NAMES; i++) {
		snprintf(want, sizeof want, "\nf %04d", i);
		at = strstr(at, want);
		assert_non_null(at);
	}
	buf_clear(&out);
	clear();
}

static void
test_limits(void **state)
{
	uint32_t h[64];

	(void)state;
	plant();
	restart(&all);
	ask_walk(&(struct asked){ .want = WALK_WANT_ALL + 1 });
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_walk(&(struct asked){ .path = "t/a.txt" });
	expect_status(SFTP_NO_SUCH_FILE);
	ask_walk(&(struct asked){ .path = "t/none" });
	expect_status(SFTP_NO_SUCH_FILE);
	for (int i = 0; i < 64; i++) {
		ask_walk(&(struct asked){ .want = 0 });
		h[i] = answer_handle();
	}
	ask_walk(&(struct asked){ .want = 0 });
	expect_status(SFTP_FAILURE);
	put_handle(ask_ext("walk-read@hpnssh.org"), h[0]);
	assert_int_equal(answer().type, SFTP_EXTENDED_REPLY);
	/* It is no directory, nor a file. */
	put_handle(ask_for(SFTP_READDIR), h[1]);
	expect_status(SFTP_FAILURE);
	ask_read(h[1], 0, 10);
	expect_status(SFTP_FAILURE);
	put_handle(ask_for(SFTP_FSTAT), h[1]);
	expect_status(SFTP_NO_SUCH_FILE);
	for (int i = 0; i < 3; i++)
		close_handle(h[i], SFTP_OK);
	ask_walk(&(struct asked){ .want = 0 });
	close_handle(answer_handle(), SFTP_OK);
	/* The last one is closed with the session. */
	restart(&all);
	buf_put_cstring(ask_ext("confine@hpnssh.org"), "t");
	buf_put_u32(&message, SFTP_MAY_LIST);
	for (int i = 0; i < 3; i++)
		buf_put_u64(&message, 0);
	buf_put_u32(&message, 0);
	expect_status(SFTP_OK);
	ask_walk(&(struct asked){ .path = "", .want = WALK_DIGEST });
	expect_status(SFTP_PERMISSION_DENIED);
	ask_walk(&(struct asked){ .path = "l" });
	expect_status(SFTP_NO_SUCH_FILE);
	ask_walk(&(struct asked){ .path = "../out" });
	expect_status(SFTP_PERMISSION_DENIED);
	expect_walk(&(struct asked){ .path = "", .want = WALK_TEXT }, tree);
	clear();
}

/* Those that are asked for at once have the same limit, whoever begins them. */
static void
test_many_at_once(void **state)
{
	static struct buf many;
	unsigned handles = 0;

	(void)state;
	plant();
	restart(&all);
	buf_reset(&many);
	for (int i = 0; i < 80; i++) {
		ask_walk(&(struct asked){ .want = 0 });
		queue(&many);
	}
	assert_int_equal(feed(buf_data(&many), buf_len(&many)),
	    buf_len(&many));
	for (int i = 0; i < 80; i++)
		handles += take_reply().type == SFTP_HANDLE;
	assert_int_equal(handles, 64);
	buf_clear(&many);
	clear();
}

/* Many small directories, which are read ahead where threads are, and some that
 * are not small; told whole, and from a group in their midst. */
static void
test_many_dirs(void **state)
{
	struct buf out = { 0 }, want = { 0 };
	const char *rest;

	(void)state;
	assert_int_equal(system("mkdir t && cd t && for i in $(seq 100 170); "
		"do mkdir -p $i/1/x $i/2 $i/3 $i/4/y; : > $i/f; "
		"ln -s $i $i/2/l; done; cd 117 && "
		"for i in $(seq 200 280); do : > $i; done"), 0);
	restart(&all);
	buf_printf(&want, "[]\n");
	for (int i = 100; i <= 170; i++)
		buf_printf(&want, "d %d\n", i);
	for (int i = 100; i <= 170; i++) {
		buf_printf(&want, "[%d]\nd 1\nd 2\n", i);
		for (int k = 200; i == 117 && k <= 280; k++)
			buf_printf(&want, "f %d 0\n", k);
		buf_printf(&want, "d 3\nd 4\nf f 0\n"
			"[%d/1]\nd x\n[%d/1/x]\n[%d/2]\nl l -> %d\n"
			"[%d/3]\n[%d/4]\nd y\n[%d/4/y]\n", i, i, i, i, i,
			i, i);
	}
	buf_put_u8(&want, 0);
	(void)walk(&(struct asked){ .want = WALK_TEXT }, &out, NULL);
	assert_string_equal((const char *)buf_data(&out),
	    (const char *)buf_data(&want));
	rest = strstr((const char *)buf_data(&want), "[130/3]");
	expect_walk(&(struct asked){ .want = WALK_TEXT | WALK_AFTER,
		.start = "130/2" }, rest);
	buf_clear(&out);
	buf_clear(&want);
	clear();
}

/* ---- somebody changes the way ------------------------------------------- */

static atomic_bool stop;

static void *
swap(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		(void)syscall(SYS_renameat2, AT_FDCWD, "t/a", AT_FDCWD, "t/l",
		    EXCHANGE);
	return NULL;
}

static void
test_swapped(void **state)
{
	struct buf out = { 0 };
	pthread_t thread;

	(void)state;
	plant();
	restart(&all);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < 200; i++) {
		buf_reset(&out);
		(void)walk(&(struct asked){ .want = 0 }, &out, NULL);
		assert_null(strstr((const char *)buf_data(&out), "canary"));
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	buf_clear(&out);
	clear();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_many_dirs),
		cmocka_unit_test(test_swapped),
	};

	serve_enter = temp_enter_memory;
	return serve_run_modes(tests);
}
