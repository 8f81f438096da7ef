/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/session/escape.h"

enum { CAP = 64 };

static void
nothing(void *arg)
{
	(void)arg;
}

static const struct escape_row rows[] = {
	{ '.', nothing, "quit", false },
	{ '#', nothing, "list", false },
	{ 'C', nothing, "take a line", true },
};

static char seen[CAP], line[CAP];
static bool takes_lines;

static void
note(void *arg, const struct escape_row *row)
{
	size_t n = strlen(seen);

	(void)arg;
	seen[n] = (char)row->ch;
	seen[n + 1] = '\0';
}

static void
note_typed(void *arg, uint8_t ch)
{
	size_t n = strlen(line);

	(void)arg;
	line[n] = (char)ch;
	line[n + 1] = '\0';
}

/* Types text in pieces of `step` bytes; what is left of it. */
static void
type(const char *text, size_t step, char *out)
{
	struct escape e;
	uint8_t piece[CAP];
	size_t len = strlen(text), done = 0, n;

	escape_init(&e, rows, ARRAY_LEN(rows), '~');
	e.found = note;
	e.typed = takes_lines ? note_typed : NULL;
	seen[0] = line[0] = '\0';
	*out = '\0';
	for (size_t i = 0; i < len; i += n) {
		size_t got;

		n = len - i < step ? len - i : step;
		memcpy(piece, text + i, n);
		got = escape_filter(&e, piece, n, n + 1);
		assert_true(got <= n + 1);
		memcpy(out + done, piece, got);
		done += got;
	}
	out[done] = '\0';
}

static void
sequences(void **state)
{
	static const struct {
		const char *typed, *passes, *found;
	} t[] = {
		{ "hello", "hello", "" },
		{ "~.", "", "." },
		{ "a~.", "a~.", "" },
		{ "a\r~.", "a\r", "." },
		{ "a\n~.b", "a\nb", "." },
		{ "~~", "~", "" },
		{ "~~.", "~.", "" },
		{ "\r~~.\r", "\r~.\r", "" },
		{ "~x", "~x", "" },
		{ "~x~.", "~x~.", "" },
		{ "~#~.", "", "#." },
		{ "\r~\r~.", "\r~\r", "." },
		{ "ls ~\r", "ls ~\r", "" },
		{ "~q\r~#~~\r", "~q\r~\r", "#" },
		{ "", "", "" },
	};
	char out[2 * CAP];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		for (size_t step = 1; step <= 4; step++) {
			type(t[i].typed, step, out);
			assert_string_equal(out, t[i].passes);
			assert_string_equal(seen, t[i].found);
		}
		type(t[i].typed, CAP / 2, out);
		assert_string_equal(out, t[i].passes);
		assert_string_equal(seen, t[i].found);
	}
}

/* A row takes what follows it, to the end of the line or to ^C and ^D. */
static void
lines(void **state)
{
	static const struct {
		const char *typed, *passes, *found, *line;
	} t[] = {
		{ "~Cab c\rd", "d", "C", "ab c\r" },
		{ "x\r~C\n~.", "x\r", "C.", "\n" },
		{ "~Ca~.b~~\rls", "ls", "C", "a~.b~~\r" },
		{ "~Cab\003cd", "cd", "C", "ab\003" },
		{ "~C\004~#", "", "C#", "\004" },
		{ "~Cnever ends", "", "C", "never ends" },
		{ "a~Cb\r", "a~Cb\r", "", "" },
	};
	char out[2 * CAP];

	(void)state;
	takes_lines = true;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		for (size_t step = 1; step <= CAP / 2; step += 2) {
			type(t[i].typed, step, out);
			assert_string_equal(out, t[i].passes);
			assert_string_equal(seen, t[i].found);
			assert_string_equal(line, t[i].line);
		}
	}
	takes_lines = false;
	type("~Cab\r", 2, out);
	assert_string_equal(out, "ab\r");
	assert_string_equal(seen, "C");
}

static void
names(void **state)
{
	static const struct {
		uint8_t ch;
		const char *name;
	} t[] = {
		{ '~', "~" },
		{ 1, "^A" },
		{ 26, "^Z" },
		{ 127, "^?" },
	};
	char name[3];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		escape_char_name(t[i].ch, name);
		assert_string_equal(name, t[i].name);
	}
}

static void
help_has_every_row(void **state)
{
	struct escape e;
	struct buf b = { 0 };
	char *text;

	(void)state;
	escape_init(&e, rows, 2, '~');
	escape_describe(&e, &b);
	text = buf_dup_string(&b);
	assert_true(str_has_prefix(text, "~?\nSupported escape sequences:\n"));
	assert_non_null(strstr(text, "~. "));
	assert_non_null(strstr(text, "quit"));
	assert_non_null(strstr(text, "~# "));
	assert_non_null(strstr(text, "~~ "));
	free(text);
	buf_clear(&b);
}

/* Of a sequence that would take a line only where it may. */
static void
help_without_what_is_off(void **state)
{
	(void)state;
	for (int on = 0; on <= 1; on++) {
		struct escape e;
		struct buf b = { 0 };
		char *text;

		escape_init(&e, rows, ARRAY_LEN(rows), '~');
		e.typed = on == 1 ? note_typed : NULL;
		escape_describe(&e, &b);
		text = buf_dup_string(&b);
		assert_int_equal(strstr(text, "~C ") != NULL, on);
		assert_non_null(strstr(text, "~# "));
		free(text);
		buf_clear(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences),
		cmocka_unit_test(lines),
		cmocka_unit_test(names),
		cmocka_unit_test(help_has_every_row),
		cmocka_unit_test(help_without_what_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
