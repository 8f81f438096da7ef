/* SPDX-License-Identifier: ISC */
/*
 * The parts of hpnsftp's shell that need no server: words and quotes,
 * escaping, the table of commands, columns, sizes, df, completion of
 * commands and local names.
 */
#include "regress/unit/hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/shell/sftp-shell-internal.h"

static void
test_words(void **state)
{
	static const struct {
		const char *line, *text[4], *pattern[4];
	} rows[] = {
		{ "", { NULL }, { NULL } },
		{ " \t ", { NULL }, { NULL } },
		{ "ls", { "ls" }, { "ls" } },
		{ " ls\ta  b \r", { "ls", "a", "b" }, { "ls", "a", "b" } },
		{ "ls # a", { "ls" }, { "ls" } },
		{ "#ls a", { NULL }, { NULL } },
		{ "a#b \"#\"", { "a#b", "#" }, { "a#b", "#" } },
		{ "\"a b\" 'c d'", { "a b", "c d" }, { "a b", "c d" } },
		{ "a\\ b", { "a b" }, { "a b" } },
		{ "a\"b c\"d''e", { "ab cde" }, { "ab cde" } },
		{ "\"\" ''", { "", "" }, { "", "" } },
		{ "a*[b]?", { "a*[b]?" }, { "a*[b]?" } },
		{ "\"a*\"*", { "a**" }, { "a\\**" } },
		{ "'a?'\\[", { "a?[" }, { "a\\?\\[" } },
		{ "\\\\ \\*", { "\\", "*" }, { "\\\\", "\\*" } },
		{ "\"a\\b\" 'a\\b'", { "a\\b", "a\\b" },
		    { "a\\\\b", "a\\\\b" } },
		{ "\"a\\\"b\" 'a\\'b'", { "a\"b", "a'b" },
		    { "a\"b", "a'b" } },
		{ "\"a\\\\b\"", { "a\\b" }, { "a\\\\b" } },
		{ "\"it's\" 'say \"x\"'", { "it's", "say \"x\"" },
		    { "it's", "say \"x\"" } },
		{ "a\\", { "a" }, { "a" } },
		{ "\xc3\xbc\\ \xff", { "\xc3\xbc \xff" },
		    { "\xc3\xbc \xff" } },
	};
	struct shell_words w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 0;

		assert_int_equal(shell_split(rows[i].line, &w), 0);
		for (; n < 4 && rows[i].text[n] != NULL; n++) {
			assert_true(n < w.n);
			assert_string_equal(w.v[n].text, rows[i].text[n]);
			assert_string_equal(w.v[n].pattern,
			    rows[i].pattern[n]);
		}
		assert_int_equal(w.n, n);
		shell_words_clear(&w);
	}
}

static void
test_words_at_the_end(void **state)
{
	static const struct {
		const char *line;
		size_t n;
		bool open;
		char quote;
	} rows[] = {
		{ "ls a", 2, true, 0 }, { "ls a ", 2, false, 0 },
		{ "ls \"a b", 2, true, '"' }, { "ls 'a\\'", 2, true, '\'' },
		{ "ls \"", 2, true, '"' }, { "ls \"a\"", 2, true, 0 },
	};
	char many[2 * SHELL_WORDS_MAX + 4];
	struct shell_words w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(shell_split(rows[i].line, &w),
		    rows[i].quote != 0 ? ERR_SYNTAX : 0);
		assert_int_equal(w.n, rows[i].n);
		assert_int_equal(w.open, rows[i].open);
		assert_int_equal(w.quote, rows[i].quote);
		shell_words_clear(&w);
	}
	for (size_t i = 0; i < sizeof many - 2; i += 2)
		memcpy(many + i, "a ", 3);
	assert_int_equal(shell_split(many, &w), ERR_LIMIT);
	shell_words_clear(&w);
}

/* Any name survives: as a word in each quote, and as a pattern. */
static void
test_escapes(void **state)
{
	static const char *const names[] = { "plain", "a b", "*?[x]", "\\",
		"it's", "\"", "#x", "a\tb", "\xff\n", "" };
	static const char quotes[] = { '\0', '"', '\'' };
	char line[64], *word, *pattern;
	struct shell_words w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t q = 0; q < ARRAY_LEN(quotes); q++) {
			if (quotes[q] == '\0' && names[i][0] == '\0')
				continue;
			word = shell_escape_word(names[i], quotes[q]);
			snprintf(line, sizeof line, "%.1s%s%.1s",
			    &quotes[q], word, &quotes[q]);
			assert_int_equal(shell_split(line, &w), 0);
			assert_int_equal(w.n, 1);
			assert_string_equal(w.v[0].text, names[i]);
			pattern = shell_escape_glob(names[i]);
			assert_false(remote_glob_has_magic(pattern));
			free(word);
			word = remote_glob_unescape(pattern);
			assert_string_equal(word, names[i]);
			free(word);
			free(pattern);
			word = remote_glob_unescape(w.v[0].pattern);
			assert_string_equal(word, names[i]);
			free(word);
			shell_words_clear(&w);
		}
	}
}

static void
test_table(void **state)
{
	const struct shell_command *c;

	(void)state;
	assert_string_equal(shell_command_find("GeT")->name, "get");
	assert_null(shell_command_find("ge"));
	assert_null(shell_command_find(""));
	for (c = shell_commands; c->name != NULL; c++) {
		assert_ptr_equal(shell_command_find(c->name), c);
		assert_non_null(c->run);
		if (c->help != NULL) /* one line of a terminal */
			assert_true(strlen(c->help) <= 49 &&
			    strlen(c->name) + strlen(c->synopsis) < 30);
	}
}

/* What fn writes. */
#define WRITTEN(out, call)                                                    \
	do {                                                                  \
		size_t len_;                                                  \
		FILE *f = open_memstream(&out, &len_);                        \
		call;                                                         \
		fclose(f);                                                    \
	} while (0)

static void
test_columns(void **state)
{
	char *names[] = { "a", "bcd", "\xc3\xbc", "ef", "g" }, *out;

	(void)state;
	WRITTEN(out, shell_columns(f, names, 5, 15));
	assert_string_equal(out, "a    bcd  \xc3\xbc\nef   g\n");
	free(out);
	WRITTEN(out, shell_columns(f, names, 2, 2));
	assert_string_equal(out, "a\nbcd\n");
	free(out);
	WRITTEN(out, shell_columns(f, names, 0, 80));
	assert_string_equal(out, "");
	free(out);
}

static void
test_sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0B" }, { 999, "999B" }, { 1000, "1.0K" },
		{ 4096, "4.0K" }, { 100000, "97.7K" }, { 102400, "100K" },
		{ 1023 * 1024, "1.0M" }, { 270553174016, "252G" },
		{ UINT64_MAX, "16.0E" },
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		shell_human(rows[i].bytes, text, sizeof text);
		assert_string_equal(text, rows[i].text);
	}
}

static void
test_long_line(void **state)
{
	struct sftp_attrs a = { .flags = SFTP_A_SIZE | SFTP_A_MODE |
		    SFTP_A_TIMES, .size = 100000, .mode = 0100644,
		.mtime = 86400 * 365 };
	struct shell_long e = { .name = "na me", .attrs = &a, .user = "root",
		.group = "wheel", .size_width = 8 };
	char *line;

	(void)state;
	line = shell_long_line(&e);
	assert_string_equal(line, "-rw-r--r--    ? root     wheel      "
				  "100000 Jan  1  1971 na me");
	free(line);
	a.flags &= ~SFTP_A_MODE;
	e = (struct shell_long){ .name = "d", .attrs = &a, .user = "0",
		.group = "0", .human = true, .size_width = 8 };
	line = shell_long_line(&e);
	assert_string_equal(line, "?---------    ? 0        0           "
				  "97.7K Jan  1  1971 d");
	free(line);
	e.links = 12;
	e.size_width = 10;
	line = shell_long_line(&e);
	assert_string_equal(line, "?---------   12 0        0             "
				  "97.7K Jan  1  1971 d");
	free(line);
}

static void
test_df(void **state)
{
	struct sftp_statvfs v = { .bsize = 4096, .frsize = 4096,
		.blocks = 66053021, .bfree = 62996587, .bavail = 20818875,
		.files = 16777216, .ffree = 16358760, .favail = 16358760 };
	char *out;

	(void)state;
	WRITTEN(out, shell_df_table(f, &v, false, false));
	assert_string_equal(out,
	    "        Size         Used        Avail       (root)    "
	    "%Capacity\n"
	    "   264212084     12225736     83275500    251986348           "
	    "4%\n");
	free(out);
	WRITTEN(out, shell_df_table(f, &v, true, false));
	assert_string_equal(out,
	    "    Size     Used    Avail   (root)    %Capacity\n"
	    "   252GB   11.7GB   79.4GB    240GB           4%\n");
	free(out);
	WRITTEN(out, shell_df_table(f, &v, true, true));
	assert_string_equal(out,
	    "     Inodes        Used       Avail      (root)    %Capacity\n"
	    "   16777216      418456    16358760    16358760           2%\n");
	free(out);
	v.blocks = 0;
	WRITTEN(out, shell_df_table(f, &v, false, false));
	assert_non_null(strstr(out, " ERR\n"));
	free(out);
}

static void
complete(const char *line, const char *insert, size_t choices)
{
	struct shell_completion c;

	/* Commands and local names need no session. */
	assert_int_equal(shell_complete(NULL, line, &c), 0);
	assert_string_equal(c.insert != NULL ? c.insert : "", insert);
	assert_int_equal(c.choices.n, choices);
	shell_completion_clear(&c);
}

static void
test_completion(void **state)
{
	char dir[] = "/tmp/hpn-shell.XXXXXX", line[128];
	static const char *const names[] = { "one", "only", "sp ace",
		"q'x" };

	(void)state;
	complete("lumas", "k ", 0);
	complete("l", "", 8);
	complete("xyzzy", "", 0);
	complete("version ", "", 0);
	complete("chmod ", "", 0);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		fclose(fopen(names[i], "w"));
	assert_int_equal(mkdir("tree", 0700), 0);
	complete("put o", "n", 2);
	complete("put one", " ", 0);
	complete("put -p s", "p\\ ace ", 0);
	complete("put \"s", "p ace\" ", 0);
	complete("put 'q", "\\'x' ", 0);
	complete("put t", "ree/", 0);
	complete("lcd none", "", 0);
	snprintf(line, sizeof line, "lcd %s/tr", dir);
	complete(line, "ee/", 0);
	complete("get a s", "p\\ ace ", 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(names[i]);
	rmdir("tree");
	assert_int_equal(chdir("/"), 0);
	rmdir(dir);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_at_the_end),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_df),
		cmocka_unit_test(test_completion),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
