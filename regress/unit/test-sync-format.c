/* SPDX-License-Identifier: ISC */
/*
 * Lines of --out-format: each letter, formats that are refused, and that no
 * name makes more than one line or acts on a terminal.
 */
#include "regress/unit/dice.h"
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/syncopts/sync-format.h"

static const struct walk_item file = { .kind = WALK_FILE, .mode = 0644,
	.uid = 7, .gid = 8, .size = 1234567890123, .mtime = 86400, .text = "" };

static const char *
line(const char *format, const struct sync_format_item *i)
{
	static char out[512];
	struct buf b = { 0 };

	assert_null(sync_format_check(format));
	sync_format_put(&b, format, i);
	assert_int_equal(buf_err(&b), 0);
	assert_true(buf_len(&b) < sizeof out);
	memcpy(out, buf_data(&b), buf_len(&b));
	out[buf_len(&b)] = '\0';
	buf_clear(&b);
	return out;
}

static void
test_letters(void **state)
{
	const struct sync_format_item copy = { .up = true,
		.letters = ">f.st......", .path = "dir/name", .source = &file };
	const struct sync_format_item delete = { .letters = "*deleting  ",
		.path = "gone" };
	char pid[32];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_string_equal(line("", &copy), "\n");
	assert_string_equal(line("%i %n", &copy), ">f.st...... dir/name\n");
	assert_string_equal(line("%f|%l|%o", &copy),
	    "dir/name|1234567890123|send\n");
	assert_string_equal(line("%U:%G %B", &copy), "7:8 rw-r--r--\n");
	assert_string_equal(line("%M", &copy), "1970/01/02-00:00:00\n");
	assert_string_equal(line("100%% %%n%n", &copy), "100% %ndir/name\n");
	snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	assert_string_equal(line("%p", &copy), pid);
	/* As 2026/11/28 15:30:00: its length, since the time goes on. */
	assert_int_equal(strlen(line("%t", &copy)), 20);
	/* A delete has a name, and nothing that it was. */
	assert_string_equal(line("%o %n%L %l %U %B", &delete),
	    "del. gone 0 0 ---------\n");
	assert_string_equal(line("%M", &delete), "1970/01/01-00:00:00\n");
}

static void
test_direction(void **state)
{
	struct sync_format_item i = { .letters = ">f+++++++++", .path = "p",
		.source = &file };

	(void)state;
	assert_string_equal(line("%o", &i), "recv\n");
	i.up = true;
	assert_string_equal(line("%o", &i), "send\n");
}

static void
test_links(void **state)
{
	struct walk_item link = { .kind = WALK_LINK, .text = "to\n" };
	struct walk_item hard = { .kind = WALK_FILE, .text = "first" };
	struct sync_format_item i = { .letters = "cL+++++++++", .path = "l",
		.source = &link };

	(void)state;
	assert_string_equal(line("%n%L", &i), "l -> to\\012\n");
	i.source = &hard;
	assert_string_equal(line("%n%L", &i), "l\n"); /* no link is made */
	i.letters = "hf+++++++++";
	assert_string_equal(line("%n%L", &i), "l => first\n");
	hard.text = "";
	assert_string_equal(line("%n%L", &i), "l\n");
}

static void
test_permissions(void **state)
{
	static const struct {
		uint32_t mode;
		const char *text;
	} rows[] = {
		{ 0, "---------" }, { 0777, "rwxrwxrwx" },
		{ 0124, "--x-w-r--" }, { 04755, "rwsr-xr-x" },
		{ 04644, "rwSr--r--" }, { 02755, "rwxr-sr-x" },
		{ 02745, "rwxr-Sr-x" }, { 01777, "rwxrwxrwt" },
		{ 01776, "rwxrwxrwT" }, { 07777, "rwsrwsrwt" },
		{ 07000, "--S--S--T" },
	};
	struct walk_item item = file;
	const struct sync_format_item i = { .letters = ">f", .path = "p",
		.source = &item };
	char want[16];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		item.mode = rows[k].mode;
		snprintf(want, sizeof want, "%s\n", rows[k].text);
		assert_string_equal(line("%B", &i), want);
	}
}

static void
test_refused(void **state)
{
	static const char *const bad[] = { "%", "a%", "%%%", "%n%", "%a", "%N",
		"%-10n", "%'l", "%%%n%z" };
	static const char *const fine[] = { "", "%%", "n", "%n", "%%n%%",
		"%n%n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_non_null(sync_format_check(bad[i]));
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		assert_null(sync_format_check(fine[i]));
}

/* Every format that passes the check makes one line, which has nothing that a
 * terminal obeys; all of up to four characters of these are tried. */
static void
test_every_short_format(void **state)
{
	static const char letters[] = "%ninLlz";
	struct walk_item link = { .kind = WALK_LINK, .text = "\x1b[2J\n\x9b" };
	const struct sync_format_item i = { .letters = "cL+++++++++",
		.path = "a\nb\r\x1b]0;t\x07\x7f", .source = &link };
	unsigned passed = 0, most = 1, n = sizeof letters - 1;
	char format[5];

	(void)state;
	for (size_t len = 0; len <= 4; len++, most *= n) {
		for (unsigned k = 0; k < most; k++) {
			unsigned left = k;
			const char *text;

			for (size_t at = 0; at < len; at++, left /= n)
				format[at] = letters[left % n];
			format[len] = '\0';
			if (sync_format_check(format) != NULL)
				continue;
			passed++;
			text = line(format, &i);
			for (; text[1] != '\0'; text++)
				assert_true((unsigned char)*text >= 32 &&
				    (unsigned char)*text < 127);
			assert_int_equal(*text, '\n');
		}
	}
	assert_true(passed > 1000 && passed < most / n * 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_direction),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_every_short_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
