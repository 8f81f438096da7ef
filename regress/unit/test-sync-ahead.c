/* SPDX-License-Identifier: ISC */
/*
 * Files of rules that are read ahead of a scan: whatever the server and the
 * order of answers, the reader gets each group with the texts that its files
 * have on the disk.
 */
#include "regress/unit/memory-carrier.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/rules/sync-rules.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sync/sync-ahead.h"
#include "xfer/sync/sync-scan.h"

/* Servers, from ours down to one without any of our extensions. */
static const struct sftp_serve_opts servers[] = {
	{ .threads = 0 },
	{ .threads = 3, .eager = true },
	{ .denied = "get-file" },
	{ .denied = "walk,walk-read,get-file,readdir-ns,stat-ns,confine" },
};
enum { SERVERS = 4 };

static const struct sftp_confine may_read = { .rights = SFTP_MAY_LIST |
	    SFTP_MAY_READ, .bytes = UINT64_MAX, .files = UINT64_MAX,
	.deletes = UINT64_MAX };

/* The names that files of rules have: one sorts first in its directory, one
 * behind all other names, and one is the beginning of another one. */
static const char *const names[] = { ".rules", "zz-last", "m", "mm" };
enum { NAMES = 4 };

static void
put(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, len), 0);
	fd_close(&fd);
}

/* A name in dir, as a file of rules may be: mostly a file, whose text is its
 * path. */
static void
plant_rules(struct dice *d, const char *dir, const char *name)
{
	char *path, *text;
	size_t len = 0;

	xasprintf(&path, "%s/%s", dir, name);
	switch (dice_below(d, 9)) {
	case 0:
	case 1:
	case 2:
		break;
	case 3:
		assert_int_equal(mkdir(path, 0755), 0);
		break;
	case 4:
		assert_int_equal(symlink("/etc/hosts", path), 0);
		break;
	case 5:
		assert_int_equal(mkfifo(path, 0644), 0);
		break;
	case 6:
		put(path, "", 0);
		break;
	case 7: /* more than one answer, or than a file may have */
		len = dice_below(d, 2) == 0 ? 150 * 1000 :
					      SYNC_RULES_FILE_MAX + 1;
		text = xcalloc(1, len);
		memset(text, 'r', len);
		put(path, text, len);
		free(text);
		break;
	default:
		put(path, path, strlen(path));
	}
	free(path);
}

static void
plant(struct dice *d, const char *dir, int depth)
{
	char *path;

	assert_int_equal(mkdir(dir, 0755), 0);
	for (int i = 0; i < NAMES; i++)
		plant_rules(d, dir, names[i]);
	for (uint32_t i = dice_below(d, 4); i > 0; i--) {
		xasprintf(&path, "%s/f%u", dir, i);
		put(path, "x", 1);
		free(path);
	}
	for (uint32_t i = depth > 0 ? dice_below(d, 4) : 0; i > 0; i--) {
		xasprintf(&path, "%s/%c%u", dir, "an~"[i - 1], i);
		plant(d, path, depth - 1);
		free(path);
	}
}

/* The text that the reader must get for a name; NULL: none. *fails: there must
 * be a reason why not. Caller frees. */
static char *
expected(const char *path, size_t *len, bool *fails)
{
	struct stat st;
	char *text = NULL;
	int fd;

	*fails = false;
	*len = 0;
	if (lstat(path, &st) != 0 || S_ISDIR(st.st_mode))
		return NULL;
	*fails = !S_ISREG(st.st_mode) || st.st_size > SYNC_RULES_FILE_MAX;
	if (*fails)
		return NULL;
	text = xcalloc(1, (size_t)st.st_size + 1);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	*len = (size_t)fd_pread_all(fd, text, (size_t)st.st_size, 0);
	assert_int_equal(*len, st.st_size);
	fd_close(&fd);
	return text;
}

static void
check_group(const struct sync_ahead *a, const char *group,
    const char *const *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sync_ahead_file f = sync_ahead_file(a, i);
		char *path, *text;
		size_t len;
		bool fails;

		xasprintf(&path, "t%s%s/%s", *group != '\0' ? "/" : "", group,
		    wanted[i]);
		text = expected(path, &len, &fails);
		if ((f.why != NULL) != fails || (f.text != NULL) !=
		    (text != NULL) || f.len != len ||
		    (text != NULL && memcmp(f.text, text, len) != 0))
			fail_msg("%s: %s, %zu bytes, and not %zu", path,
			    f.why != NULL ? f.why : "no error", f.len, len);
		free(text);
		free(path);
	}
}

/* Reads all of the tree t, or stops after so many items. Returns the number of
 * groups. */
static unsigned
read_all(struct memory *m, const char *root, const char *const *wanted,
    size_t n, unsigned most)
{
	const struct sync_scan_opts o = { .root = root, .confined_root = "/",
		.want = WALK_MODE | WALK_MTIME | WALK_TEXT, .recursive = true };
	struct walk_item item;
	struct sync_ahead *a;
	struct sync_scan *c;
	unsigned groups = 0;
	int r;

	assert_int_equal(sync_scan_new(&c, m->client, &o), 0);
	assert_int_equal(sync_ahead_new(&a, m->client,
	    sftp_confined(m->client) == SFTP_CONFINED_YES ? "/" : root, c,
	    wanted, n), 0);
	while (most-- > 0 && (r = sync_ahead_next(a, &item)) > 0) {
		if (r == 1 && item.is_group) {
			groups++;
			check_group(a, item.path, wanted, n);
		}
		/* With nothing under way, later is never. */
		if (r == SYNC_SCAN_LATER) {
			most++;
			if (sftp_pending(m->client) == 0)
				fail_msg("waits for no answer");
			assert_int_equal(sftp_step(m->client, false, -1), 0);
		}
	}
	sync_ahead_free(a);
	sync_scan_free(c);
	while (sftp_pending(m->client) > 0)
		assert_int_equal(sftp_step(m->client, false, -1), 0);
	return groups;
}

static unsigned
read_at(int server, bool confined, unsigned seed, const char *const *wanted,
    size_t n, unsigned most)
{
	struct memory m;
	unsigned groups;

	memory_begin_at(&m, seed, seed % 2 != 0, &servers[server]);
	while (!sftp_has_version(m.client))
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	if (confined)
		sftp_confine(m.client, "t", &may_read, NULL, NULL);
	while (sftp_pending(m.client) > 0)
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	groups = read_all(&m, "t", wanted, n, most);
	memory_end(&m);
	return groups;
}

static void
test_random_trees(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct dice d = { seed };
		unsigned groups = 0, got;

		plant(&d, "t", 3);
		for (int i = 0; i < SERVERS; i++) {
			got = read_at(i, i < 2, seed + (unsigned)i, names,
			    NAMES, UINT32_MAX);
			assert_true(groups == 0 || got == groups);
			groups = got;
		}
		assert_int_equal(system("rm -rf t"), 0);
	}
}

/* A reader that stops, while files are being read. */
static void
test_given_up(void **state)
{
	struct dice d = { 5 };

	(void)state;
	plant(&d, "t", 3);
	for (unsigned most = 0; most < 40; most++)
		(void)read_at((int)(most % SERVERS), most % SERVERS < 2, most,
		    names, NAMES, most);
	assert_int_equal(system("rm -rf t"), 0);
}

/* The session ends after each number of steps: the reader is told, and what
 * was under way is freed once. */
static void
test_session_ends(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .confined_root = "/",
		.want = WALK_MODE, .recursive = true };
	struct dice d = { 9 };
	struct walk_item item;
	struct sync_ahead *a;
	struct sync_scan *c;
	struct memory m;
	unsigned failed = 0;
	int r;

	(void)state;
	plant(&d, "t", 3);
	for (int steps = 0; steps < 60; steps++) {
		memory_begin_at(&m, 3, false, &servers[steps % SERVERS]);
		if (steps % SERVERS < 2)
			sftp_confine(m.client, "t", &may_read, NULL, NULL);
		assert_int_equal(sync_scan_new(&c, m.client, &o), 0);
		assert_int_equal(sync_ahead_new(&a, m.client, "t", c, names,
		    NAMES), 0);
		for (int at = 0; (r = sync_ahead_next(a, &item)) > 0;) {
			if (r != SYNC_SCAN_LATER)
				continue;
			if (at++ == steps)
				(void)!sftp_feed_end(m.client, ERR_CLOSED);
			else if (sftp_step(m.client, false, -1) < 0)
				break;
		}
		failed += r != 0;
		sync_ahead_free(a);
		sync_scan_free(c);
		while (r == 0 && sftp_pending(m.client) > 0)
			assert_int_equal(sftp_step(m.client, false, -1), 0);
		assert_int_equal(sftp_pending(m.client), 0);
		memory_end(&m);
	}
	assert_true(failed > 5);
	assert_int_equal(system("rm -rf t"), 0);
}

/* The texts of one directory alone are more than is read ahead, and so are its
 * names: when the reader has them all, the rest of the scan has to be read,
 * though the texts are still there. */
static void
test_longest_texts(void **state)
{
	enum { FILES = 30000 };
	char *many[SYNC_AHEAD_FILES], *text = xcalloc(1, SYNC_RULES_FILE_MAX);
	char path[300];

	(void)state;
	memset(text, 't', SYNC_RULES_FILE_MAX);
	assert_int_equal(mkdir("t", 0755), 0);
	assert_int_equal(mkdir("t/zz", 0755), 0);
	put("t/zz/rules-03", "last", 4);
	for (int i = 0; i < SYNC_AHEAD_FILES; i++) {
		xasprintf(&many[i], "rules-%02d", i);
		snprintf(path, sizeof path, "t/%s", many[i]);
		put(path, text, SYNC_RULES_FILE_MAX);
	}
	memset(text, 'x', 200);
	text[200] = '\0';
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "t/%s%d", text, i);
		put(path, "", 0);
	}
	for (int i = 0; i < SERVERS; i += SERVERS - 1)
		assert_int_equal(read_at(i, i == 0, 1,
		    (const char *const *)many, SYNC_AHEAD_FILES, UINT32_MAX),
		    2);
	for (int i = 0; i < SYNC_AHEAD_FILES; i++)
		free(many[i]);
	free(text);
	assert_int_equal(system("rm -rf t"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_session_ends),
		cmocka_unit_test(test_longest_texts),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
