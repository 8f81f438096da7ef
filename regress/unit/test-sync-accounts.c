/* SPDX-License-Identifier: ISC */
/*
 * Accounts of a server, as its files have them: lines that are right, lines
 * that are not, texts that dice have made, and files that cannot be read.
 */
#include "regress/unit/dice.h"
#include "regress/unit/sftp-script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-accounts.h"

static const char *passwd, *group; /* NULL: there is none */

static const char *
text_of(const char *path)
{
	return strcmp(path, "/etc/passwd") == 0 ? passwd :
	    strcmp(path, "/etc/group") == 0	? group :
						  NULL;
}

static void
on_done(void *arg)
{
	++*(unsigned *)arg;
}

/* Reads both files, so many bytes at a time. The caller frees. */
static struct sync_accounts *
read_all(size_t piece)
{
	struct script_request q;
	struct script c;
	unsigned done = 0;
	struct sync_accounts *a;

	script_begin(&c, NULL);
	a = sync_accounts_read(c.s, on_done, &done);
	assert_non_null(a);
	while (script_next(&c, &q))
		script_file(&c, &q, text_of, piece);
	assert_int_equal(done, 1);
	assert_int_equal(sftp_pending(c.s), 0); /* all is closed */
	script_end(&c);
	return a;
}

/* The number of a name; -1: there is none. */
static int64_t
find(const struct sync_accounts *a, enum owners_kind kind, const char *name)
{
	uint32_t id = 77;

	if (sync_accounts_find(a, kind, name, &id))
		return id;
	assert_int_equal(id, 77);
	return -1;
}

static void
test_lines(void **state)
{
	static const struct {
		const char *name;
		int64_t user, group;
	} rows[] = {
		{ "root", 0, 0 }, { "ann", 1000, -1 }, { "an", -1, -1 },
		{ "anna", 4294967294, -1 }, { "staff", -1, 50 },
		{ "last", -1, 7 }, { "", -1, -1 }, { "x", -1, -1 },
		{ "none", -1, -1 },
	};
	struct sync_accounts *a;

	(void)state;
	passwd = "root:x:0:0:root:/root:/bin/sh\n"
		 "ann:x:1000:1000::/home/ann:/bin/sh\n"
		 "anna:x:4294967294:1::/:\n";
	group = "root:x:0:\nstaff:*:50:ann,root\nlast:x:7:";
	for (size_t piece = 1; piece < 200; piece += 13) {
		a = read_all(piece);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			assert_int_equal(find(a, OWNERS_USER, rows[i].name),
			    rows[i].user);
			assert_int_equal(find(a, OWNERS_GROUP, rows[i].name),
			    rows[i].group);
		}
		sync_accounts_free(a);
	}
}

/* None of these lines gives its name a number. */
static void
test_false_lines(void **state)
{
	static const char *const lines[] = { "u", "u:", "u::", "u:x:", "u:x:1",
		"u:x::", "u:x:-1:", "u:x:4294967295:", "u:x:4294967296:",
		"u:x:18446744073709551616:", "u:x:99999999999999999999:",
		"u:x:1a:", "u:x: 1:", "u:x:0x1:", ":x:1:",
		"#u:x:1:", " u:x:1:", "u x:1:", "u:x\n:1:", "U:x:1:",
		"u:x:1\n:", "uu:x:1:", "u\t:x:1:" };
	char text[256];
	struct sync_accounts *a;

	(void)state;
	group = NULL;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		passwd = lines[i];
		a = read_all(1000);
		assert_int_equal(find(a, OWNERS_USER, "u"), -1);
		sync_accounts_free(a);
		/* Nor does it keep the lines around it from theirs. */
		snprintf(text, sizeof text, "a:x:1:\n%s\nb:x:2:\n", lines[i]);
		passwd = text;
		a = read_all(1000);
		assert_int_equal(find(a, OWNERS_USER, "a"), 1);
		assert_int_equal(find(a, OWNERS_USER, "u"), -1);
		assert_int_equal(find(a, OWNERS_USER, "b"), 2);
		sync_accounts_free(a);
		/* A right line behind it counts. */
		snprintf(text, sizeof text, "%s\nu:x:3:\n", lines[i]);
		a = read_all(1000);
		assert_int_equal(find(a, OWNERS_USER, "u"), 3);
		sync_accounts_free(a);
	}
}

static void
test_no_files(void **state)
{
	struct sync_accounts *a;

	(void)state;
	passwd = group = NULL;
	a = read_all(1);
	assert_int_equal(find(a, OWNERS_USER, "root"), -1);
	assert_int_equal(find(a, OWNERS_GROUP, "root"), -1);
	sync_accounts_free(a);
	passwd = "";
	group = "root:x:0:";
	a = read_all(1);
	assert_int_equal(find(a, OWNERS_USER, "root"), -1);
	assert_int_equal(find(a, OWNERS_GROUP, "root"), 0);
	sync_accounts_free(a);
	sync_accounts_free(NULL);
}

/* The session ends amid the files: done() is called all the same, once. */
static void
test_lost(void **state)
{
	(void)state;
	passwd = group = "root:x:0:";
	for (unsigned answers = 0; answers < 8; answers++) {
		struct script_request q;
		struct script c;
		unsigned done = 0, n = 0;
		struct sync_accounts *a;

		script_begin(&c, NULL);
		a = sync_accounts_read(c.s, on_done, &done);
		while (n++ < answers && script_next(&c, &q))
			script_file(&c, &q, text_of, 4);
		(void)!sftp_feed_end(c.s, ERR_CLOSED);
		assert_int_equal(done, 1);
		(void)find(a, OWNERS_USER, "root");
		(void)find(a, OWNERS_GROUP, "root");
		sync_accounts_free(a);
		script_end(&c);
	}
}

/* The first line of that name, read in another way. */
static int64_t
model(const char *text, const char *name)
{
	char *copy = strdup(text), *line, *rest = copy, *fields[4];
	int64_t id = -1;

	assert_non_null(copy);
	while (id == -1 && (line = strsep(&rest, "\n")) != NULL) {
		size_t n = 0;

		while (n < 4 && (fields[n] = strsep(&line, ":")) != NULL)
			n++;
		if (n == 4 && strcmp(fields[0], name) == 0 &&
		    strlen(fields[2]) > 0 && strlen(fields[2]) < 11 &&
		    strspn(fields[2], "0123456789") == strlen(fields[2]) &&
		    strtoull(fields[2], NULL, 10) < UINT32_MAX)
			id = (int64_t)strtoull(fields[2], NULL, 10);
	}
	free(copy);
	return id;
}

static void
test_random_texts(void **state)
{
	static const char *const parts[] = { "u", "v", ":", ":", ":", ":", "\n",
		"\n", "1", "20", "4294967295", "x", "-", "\nu:x:", "v::" };
	struct dice d = { .state = 11 };
	char text[512];
	unsigned found = 0;

	(void)state;
	group = NULL;
	passwd = text;
	for (int round = 0; round < 20000; round++) {
		struct sync_accounts *a;
		size_t len = 0;

		for (uint32_t n = dice_below(&d, 30); n > 0; n--) {
			const char *part =
			    parts[dice_below(&d, ARRAY_LEN(parts))];

			memcpy(text + len, part, strlen(part));
			len += strlen(part);
		}
		text[len] = '\0';
		a = read_all(100);
		for (const char *name = "u\0v\0"; *name != '\0'; name += 2) {
			int64_t want = model(text, name);

			assert_int_equal(find(a, OWNERS_USER, name), want);
			found += want >= 0;
		}
		sync_accounts_free(a);
	}
	assert_true(found > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_false_lines),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
