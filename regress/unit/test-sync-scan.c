/* SPDX-License-Identifier: ISC */
/*
 * Scans of trees and of names, at our server and at one that has none of our
 * extensions: each way must tell the same items.
 */
#include "regress/unit/memory-carrier.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sync/sync-scan-group.h"
#include "xfer/sync/sync-scan.h"

enum {
	ALL = WALK_MODE | WALK_OWNER | WALK_MTIME | WALK_NAMES | WALK_BLOCKS |
	    WALK_TEXT,
	PLAIN = WALK_MODE | WALK_OWNER | WALK_MTIME | WALK_TEXT,
};

/* Servers, from ours down to one without any of our extensions. In THREADS each
 * request that may go to a thread does so, as with slow disks: then a guess of
 * a handle comes too early. */
static const struct sftp_serve_opts servers[] = {
	{ .threads = 0 },
	{ .threads = 3, .eager = true },
	{ .denied = "walk,walk-read" },
	{ .denied = "walk,walk-read,readdir-ns,stat-ns,check-file-name,"
		    "confine" },
};
enum { OURS, THREADS, WITHOUT_WALK, STOCK, SERVERS };

static void
show(struct buf *out, const struct walk_item *item)
{
	if (item->is_group) {
		buf_printf(out, "[%s]", item->path);
		if (item->status != 0)
			buf_printf(out, " status %u", item->status);
		buf_printf(out, "\n");
		return;
	}
	buf_printf(out, "%s kind %d", item->name, item->kind);
	if (item->status != 0)
		buf_printf(out, " status %u", item->status);
	buf_printf(out, " %o %u:%u %ju %jd.%u nlink %u %ju:%ju %ju %s%s\n",
	    item->mode, item->uid, item->gid, (uintmax_t)item->size,
	    (intmax_t)item->mtime, item->nsec, item->nlink,
	    (uintmax_t)item->dev, (uintmax_t)item->ino,
	    (uintmax_t)item->blocks, item->text,
	    item->not_entered ? " not entered" : "");
}

/* All that a scan tells, as text; caller frees. */
static char *
scan_text(struct memory *m, const struct sync_scan_opts *o, int want)
{
	struct sync_scan *c;
	struct walk_item item;
	struct buf out = { 0 };
	char *text;
	int r;

	assert_int_equal(sync_scan_new(&c, m->client, o), 0);
	while ((r = sync_scan_next(c, &item)) > 0) {
		if (r == 1)
			show(&out, &item);
		else if (sftp_step(m->client, false, -1) < 0)
			break;
	}
	assert_int_equal(r, want);
	sync_scan_free(c);
	buf_put_u8(&out, 0);
	text = strdup((const char *)buf_data(&out));
	buf_clear(&out);
	return text;
}

static char *
scan_at(int server, unsigned seed, const struct sync_scan_opts *o)
{
	struct memory m;
	char *text;

	memory_begin_at(&m, seed, seed % 2 != 0, &servers[server]);
	text = scan_text(&m, o, 0);
	while (sftp_pending(m.client) > 0)
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	memory_end(&m);
	return text;
}

/* Each server from `from` on must tell the same. */
static void
expect_same(const struct sync_scan_opts *o, int from, unsigned seed)
{
	char *first = scan_at(from, seed, o), *other;

	assert_true(first[0] == '[');
	for (int i = from + 1; i <= STOCK; i++) {
		other = scan_at(i, seed + 10, o);
		if (strcmp(first, other) != 0)
			fail_msg("server %d tells\n%s\nand %d\n%s", from,
			    first, i, other);
		free(other);
	}
	free(first);
}

static void
plant(void)
{
	assert_int_equal(system("rm -rf t && mkdir -p t/a/deep/er t/a-b t/b "
				"t/empty && echo text > t/a/deep/er/f && "
				"echo x > t/a.txt && echo y > t/a/g.o && "
				": > t/b/empty && ln -s ../out t/l && "
				"mkfifo t/p && ln t/a.txt t/b/second && "
				"chmod 640 t/a/g.o && ln -s a t/to-a && "
				"ln -s gone t/b/dangling && "
				"ln -s ../a.txt t/b/to-file && "
			"find t -exec touch -h -d @1000000000 {} +"), 0);
}

static void
clear(void)
{
	assert_int_equal(system("rm -rf t"), 0);
}

/* ---- trees --------------------------------------------------------------- */

static void
test_ways_agree(void **state)
{
	static const char rules[] = "-*.o\0-/b/";
	struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.recursive = true };

	(void)state;
	plant();
	expect_same(&o, OURS, 1);
	expect_same(&o, OURS, 2);
	o.rules = rules;
	o.rules_len = sizeof rules;
	expect_same(&o, OURS, 3);
	o.recursive = false;
	expect_same(&o, OURS, 4);
	o.rules_len = 0;
	o.root = "t/none";
	expect_same(&o, OURS, 5);
	o.root = "t/a.txt";
	expect_same(&o, OURS, 6);
	clear();
}

static void
test_exact(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = ALL,
		.recursive = true };
	char *walk, *list;

	(void)state;
	plant();
	assert_int_equal(system("touch -d @1000000000.123456789 t/a.txt"), 0);
	walk = scan_at(OURS, 1, &o);
	list = scan_at(WITHOUT_WALK, 2, &o);
	assert_string_equal(walk, list);
	assert_non_null(strstr(walk, "1000000000.123456789 nlink 2"));
	free(walk);
	free(list);
	clear();
}

/* A random tree: names that sort differently with and without a slash, wide
 * and deep directories. */
static void
plant_some(struct dice *d, const char *top, int depth)
{
	static const char *const names[] = { "a", "a-b", "a.b", "a0", "ab", "b",
		"\377", " ", "z", "link", "c", "d" };
	char path[512];
	int fd;

	assert_int_equal(mkdir(top, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", top, names[i]);
		switch (dice_below(d, 4)) {
		case 0:
			if (depth > 0)
				plant_some(d, path, depth - 1);
			break;
		case 1:
			fd = open(path, O_CREAT | O_WRONLY, 0600);
			assert_int_equal(ftruncate(fd, dice_below(d, 999)), 0);
			close(fd);
			break;
		case 2:
			assert_int_equal(symlink(names[dice_below(d, 8)],
					     path), 0);
			break;
		default:
			break;
		}
	}
}

static void
test_random_trees(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.recursive = true };
	struct dice d = { 5 };

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		plant_some(&d, "t", 3);
		assert_int_equal(system("find t -exec touch -h -d @1000000000 "
					"{} +"), 0);
		expect_same(&o, OURS, i);
		clear();
	}
}

/* A server in threads refuses requests with a guessed handle until the walk is
 * open, and its answers may come in any order. */
static void
test_early_requests(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.recursive = true };
	char *want, *text;
	struct memory m;

	(void)state;
	plant();
	want = scan_at(OURS, 0, &o);
	for (unsigned i = 0; i < 40; i++) {
		memory_begin_at(&m, i, true, &servers[THREADS]);
		m.late = true;
		text = scan_text(&m, &o, 0);
		assert_string_equal(text, want);
		free(text);
		memory_end(&m);
	}
	free(want);
	clear();
}

static void
test_unreadable(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.recursive = true };
	char *text;

	(void)state;
	plant();
	assert_int_equal(chmod("t/a/deep", 0) | chmod(".", 0755), 0);
	/* The superuser reads everything. */
	if (getuid() == 0)
		assert_int_equal(system("chown -R 65534 t") | seteuid(65534),
		    0);
	expect_same(&o, OURS, 1);
	text = scan_at(STOCK, 1, &o);
	assert_non_null(strstr(text, "[a/deep] status 3"));
	free(text);
	assert_int_equal(seteuid(getuid()) | chmod("t/a/deep", 0755), 0);
	clear();
}

/* A scan may be given up in each of its moments. */
static void
test_given_up(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = ALL,
		.recursive = true };
	struct walk_item item;
	struct sync_scan *c;
	struct memory m;

	(void)state;
	plant();
	for (unsigned i = 0; i < SERVERS * 40; i++) {
		memory_begin_at(&m, i, false, &servers[i % SERVERS]);
		assert_int_equal(sync_scan_new(&c, m.client, &o), 0);
		for (unsigned turns = 0; turns < i / SERVERS; turns++) {
			if (sync_scan_next(c, &item) == SYNC_SCAN_LATER)
				assert_int_equal(sftp_step(m.client, false, 0),
				    0);
		}
		sync_scan_free(c);
		while (i % 2 == 0 && sftp_pending(m.client) > 0)
			assert_int_equal(sftp_step(m.client, false, -1), 0);
		memory_end(&m);
	}
	clear();
}

static void
test_top(void **state)
{
	static const char *const roots[] = { "t/a.txt", "t/to-a", "t/none" };
	static const char *const want[] = {
		" kind 1 644 %u:%u 2 1000000000.0 nlink 2",
		" kind 2 755 %u:%u 0 1000000000.0 nlink 3",
		" kind 0 status 2" };
	char expected[100];

	(void)state;
	plant();
	for (unsigned i = 0; i < ARRAY_LEN(roots); i++) {
		const struct sync_scan_opts o = { .root = roots[i],
			.want = ALL, .recursive = true };
		struct walk_item item;
		struct sync_scan *c;
		struct buf out = { 0 };
		struct memory m;
		int r;

		memory_begin(&m, i, false, 0);
		assert_int_equal(sync_scan_new(&c, m.client, &o), 0);
		while ((r = sync_scan_top(c, &item)) == SYNC_SCAN_LATER)
			assert_int_equal(sftp_step(m.client, false, -1), 0);
		assert_int_equal(r, 1);
		show(&out, &item);
		buf_put_u8(&out, 0);
		snprintf(expected, sizeof expected, want[i],
		    (unsigned)geteuid(), (unsigned)getegid());
		assert_int_equal(strncmp((const char *)buf_data(&out), expected,
				     strlen(expected)), 0);
		buf_clear(&out);
		sync_scan_free(c);
		memory_end(&m);
	}
	clear();
}

static const struct sftp_confine only_look = { .rights = SFTP_MAY_LIST,
	.bytes = UINT64_MAX, .files = UINT64_MAX, .deletes = UINT64_MAX };

/* The session is confined in the first flight; a server that does not confine
 * is asked for the whole paths. */
static void
test_confined(void **state)
{
	const struct sync_scan_opts o = { .root = "t/a", .want = PLAIN,
		.confined_root = "/", .recursive = true };
	char *text[SERVERS];
	struct memory m;

	(void)state;
	plant();
	for (int i = 0; i < SERVERS; i++) {
		memory_begin_at(&m, 1, false, &servers[i]);
		sftp_confine(m.client, "t/a", &only_look, NULL, NULL);
		text[i] = scan_text(&m, &o, 0);
		assert_int_equal(sftp_confined(m.client),
		    i == STOCK ? SFTP_CONFINED_NOT : SFTP_CONFINED_YES);
		memory_end(&m);
	}
	for (int i = 1; i < SERVERS; i++)
		assert_string_equal(text[0], text[i]);
	assert_non_null(strstr(text[0], "[deep/er]\nf kind 1"));
	for (int i = 0; i < SERVERS; i++)
		free(text[i]);
	/* A directory that is not there is none, and not the server's. */
	memory_begin(&m, 1, false, 0);
	sftp_confine(m.client, "t/none", &only_look, NULL, NULL);
	text[0] = scan_text(&m, &(struct sync_scan_opts){ .root = "t/none",
	    .confined_root = "/", .recursive = true }, 0);
	assert_string_equal(text[0], "[] status 2\n");
	free(text[0]);
	memory_end(&m);
	clear();
}

/* ---- one round trip ------------------------------------------------------ */

/* An unchanged tree is known after one flight of requests and answers. */
static void
test_one_flight(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = ALL,
		.recursive = true };
	struct walk_item item;
	struct sync_scan *c;
	struct memory m;
	struct buf *asked, *answers;
	int r;

	(void)state;
	plant();
	memory_begin(&m, 1, false, 0);
	assert_int_equal(sync_scan_new(&c, m.client, &o), 0);
	asked = sftp_output(m.client);
	assert_true(sftp_serve_input(m.server, buf_data(asked),
			buf_len(asked)) == (ssize_t)buf_len(asked));
	buf_reset(asked);
	answers = sftp_serve_output(m.server);
	assert_int_equal(sftp_feed(m.client, buf_data(answers),
			     buf_len(answers)), 0);
	buf_reset(answers);
	while ((r = sync_scan_next(c, &item)) == 1)
		;
	assert_int_equal(r, 0);
	assert_int_equal(sync_scan_top(c, &item), 1);
	assert_int_equal(item.kind, WALK_DIR);
	assert_true(sync_scan_has_ns(c) && sync_scan_has_digests(c));
	sync_scan_free(c);
	memory_end(&m);
	clear();
}

/* ---- links that are followed --------------------------------------------- */

static char *
kinds_of(int server, const struct sync_scan_opts *o)
{
	char *text = scan_at(server, 3, o), *to = text, *line;

	/* Keeps names and kinds only. */
	for (line = strtok(text, "\n"); line != NULL;
	     line = strtok(NULL, "\n")) {
		char *end = strstr(line, " kind ");
		size_t len = end != NULL ? (size_t)(end - line) + 7 :
					   strlen(line);

		memmove(to, line, len);
		to += len;
		*to++ = '\n';
	}
	*to = '\0';
	return text;
}

static void
test_follow(void **state)
{
	struct sync_scan_opts o = { .root = "t", .want = WALK_TEXT | WALK_MTIME,
		.recursive = true };

	(void)state;
	plant();
	assert_int_equal(system("rm -r t/b t/p t/empty t/a-b && "
				"ln -s .. t/a/deep/up && ln -s . t/a/self"), 0);
	for (int i = 0; i <= STOCK; i++) {
		char *text;

		o.copy_links = true;
		o.copy_dirlinks = false;
		text = kinds_of(i, &o);
		assert_string_equal(text,
		    "[]\na kind 2\na.txt kind 1\nl kind 0\nto-a kind 2\n"
		    "[a]\ndeep kind 2\ng.o kind 1\nself kind 0\n"
		    "[a/deep]\ner kind 2\nup kind 0\n[a/deep/er]\nf kind 1\n"
		    "[to-a]\ndeep kind 2\ng.o kind 1\nself kind 0\n"
		    "[to-a/deep]\ner kind 2\nup kind 0\n"
		    "[to-a/deep/er]\nf kind 1\n");
		free(text);
		o.copy_links = false;
		o.copy_dirlinks = true;
		o.recursive = false;
		text = kinds_of(i, &o);
		assert_string_equal(text,
		    "[]\na kind 2\na.txt kind 1\nl kind 3\nto-a kind 2\n");
		free(text);
		o.recursive = true;
	}
	clear();
}

/* ---- names --------------------------------------------------------------- */

static void
test_names(void **state)
{
	static const char *const names[] = { "b/to-file", "a/deep", "b/none",
		"a.txt", "l", "a/g.o", "none/x", "a", "b/second" };
	struct sync_scan_opts o = { .root = "t", .want = PLAIN, .names = names,
		.n_names = ARRAY_LEN(names) };
	char *text;

	(void)state;
	plant();
	expect_same(&o, OURS, 1);
	text = kinds_of(OURS, &o);
	assert_string_equal(text,
	    "[]\na kind 2\na.txt kind 1\nl kind 3\n[a]\ndeep kind 2\n"
	    "g.o kind 1\n[b]\nsecond kind 1\nto-file kind 3\n");
	free(text);
	o.copy_links = true;
	expect_same(&o, OURS, 1);
	text = kinds_of(STOCK, &o);
	assert_string_equal(text,
	    "[]\na kind 2\na.txt kind 1\nl kind 0\n[a]\ndeep kind 2\n"
	    "g.o kind 1\n[b]\nsecond kind 1\nto-file kind 1\n");
	free(text);
	clear();
}

static void
test_many_names(void **state)
{
	static char text[5000][16];
	static const char *names[5000];
	const struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.names = names, .n_names = ARRAY_LEN(names) };

	(void)state;
	plant();
	for (int i = 0; i < 5000; i++) {
		snprintf(text[i], sizeof text[i], "b/%d", i);
		names[i] = text[i];
		if (i % 10 == 0)
			close(openat(AT_FDCWD, "t/a.txt", O_RDONLY));
	}
	assert_int_equal(system("seq 0 7 4999 | (cd t/b && xargs touch -d "
				"@1000000000)"), 0);
	expect_same(&o, OURS, 1);
	clear();
}

/* ---- wide directories ---------------------------------------------------- */

/* Entries that go to the file come back sorted, each once. */
static void
test_group_of_runs(void **state)
{
	struct scan_file file = { 0 };
	struct scan_group g = { .file = &file };
	struct walk_item item = { .kind = WALK_FILE, .nlink = 2, .ino = 7,
		.mtime = -5, .size = 1 };
	struct dice d = { 9 };
	char name[20], before[20] = "";
	unsigned n = 0;

	(void)state;
	for (int run = 0; run < 5; run++) {
		for (int i = 0; i < 2000; i++) {
			struct scan_entry *e;

			item.size = dice_below(&d, 5000);
			snprintf(name, sizeof name, "%ju",
			    (uintmax_t)item.size);
			e = scan_group_add(&g, name, strlen(name), &item);
			assert_non_null(e);
			e->text = strdup(name);
		}
		if (run < 4)
			assert_int_equal(scan_group_spill(&g), 0);
	}
	assert_int_equal(scan_group_sort(&g), 0);
	while (scan_group_next(&g, &item) == 1) {
		assert_true(strcmp(before, item.name) < 0);
		strcpy(before, item.name);
		assert_int_equal(strtoul(item.name, NULL, 10), item.size);
		assert_string_equal(item.name, item.text);
		assert_int_equal(item.mtime, -5);
		assert_int_equal(item.ino, 7);
		n++;
	}
	assert_in_range(n, 4000, 4500);
	assert_int_equal(scan_group_next(&g, &item), 0);
	scan_group_clear(&g);
	scan_file_close(&file);
}

static void
test_wide(void **state)
{
	const struct sync_scan_opts o = { .root = "t", .want = PLAIN,
		.recursive = true };

	(void)state;
	assert_int_equal(system("mkdir t && cd t && seq 17000 | xargs touch -d "
				"@1000000000 && mkdir 7x 3x && touch 3x/in && "
				"find 7x 3x -exec touch -d @1000000000 {} +"),
	    0);
	expect_same(&o, OURS, 2);
	clear();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_agree),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_early_requests),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_confined),
		cmocka_unit_test(test_one_flight),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_group_of_runs),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
