/* SPDX-License-Identifier: ISC */
/* The value of PerSourcePenalties: its parts, and how it is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf/server-conf.h"
#include "regress/unit/help.h"

/* The line of -T after these lines; NULL: one of them is wrong. */
static char *
shown(const char *const *lines, size_t n)
{
	static const char keyword[] = "persourcepenalties ";
	struct server_conf c;
	struct buf out = { 0 };
	char *text = NULL, *at, *line;
	int r = 0;

	server_conf_init(&c);
	for (size_t i = 0; r == 0 && i < n && lines[i] != NULL; i++) {
		xasprintf(&line, "PerSourcePenalties=%s", lines[i]);
		r = server_conf_set_option(&c, line);
		free(line);
	}
	if (r == 0) {
		assert_int_equal(server_conf_finish(&c), 0);
		assert_int_equal(server_conf_dump(&c, &out), 0);
		text = buf_dup_string(&out);
		at = strstr(text, keyword);
		assert_non_null(at);
		at += sizeof keyword - 1;
		at[strcspn(at, "\n")] = '\0';
		memmove(text, at, strlen(at) + 1);
	}
	buf_clear(&out);
	server_conf_clear(&c);
	return text;
}

/* The usual values, but for those that stand in `changed`. */
static void
assert_shown(const char *const *lines, size_t n, const char *changed)
{
	static const char *const usual[] = { "crash:90.000000",
		"authfail:5.000000", "noauth:1.000000",
		"invaliduser:5.000000", "grace-exceeded:10.000000",
		"refuseconnection:10.000000", "max:600.000000",
		"min:15.000000", "max-sources4:65536", "max-sources6:65536",
		"overflow:permissive", "overflow6:permissive" };
	char *got = shown(lines, n), *pos = got, *word;
	struct strlist want = { 0 };
	size_t i = 0;

	assert_non_null(got);
	assert_int_equal(strlist_split(&want, changed, " "), 0);
	for (; (word = strsep(&pos, " ")) != NULL; i++) {
		const char *expected = usual[i];
		size_t len = strcspn(expected, ":") + 1;

		assert_true(i < ARRAY_LEN(usual));
		for (size_t k = 0; k < want.n; k++)
			if (strncmp(want.v[k], expected, len) == 0)
				expected = want.v[k];
		assert_string_equal(word, expected);
	}
	assert_int_equal(i, ARRAY_LEN(usual));
	strlist_clear(&want);
	free(got);
}

static void
values(void **state)
{
	static const struct {
		const char *lines[3], *changed;
	} rows[] = {
		{ { NULL }, "" },
		{ { "yes" }, "" },
		{ { "crash:30s max:10m" }, "crash:30.000000" },
		{ { "authfail:1s min:1s overflow:deny-all" },
		    "authfail:1.000000 min:1.000000 overflow:deny-all "
		    "overflow6:deny-all" },
		{ { "overflow:deny-all overflow6:permissive" },
		    "overflow:deny-all" },
		{ { "overflow6:deny-all" }, "overflow6:deny-all" },
		{ { "max-sources4:10 max-sources6:1" },
		    "max-sources4:10 max-sources6:1" },
		{ { "invaliduser:0.5s" }, "invaliduser:0.500000" },
		{ { "noauth:0.0000019" }, "noauth:0.000001" },
		{ { "noauth:1.5m30" }, "noauth:120.000000" },
		{ { "noauth:0" }, "noauth:0.000000" },
		{ { "refuseconnection:1d grace-exceeded:1h1s" },
		    "refuseconnection:86400.000000 "
		    "grace-exceeded:3601.000000" },
		/* The first of each part counts, wherever it stands. */
		{ { "crash:1 crash:2", "crash:3 noauth:4" },
		    "crash:1.000000 noauth:4.000000" },
		{ { "crash:1", "overflow:deny-all", "overflow:permissive" },
		    "crash:1.000000 overflow:deny-all overflow6:deny-all" },
		{ { "crash:1", "no" }, "crash:1.000000" },
		{ { "yes", "no", "max:1" }, "max:1.000000" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_shown(rows[i].lines, ARRAY_LEN(rows[i].lines),
		    rows[i].changed);
}

static void
switched_off(void **state)
{
	static const char *const rows[][2] = { { "no" }, { "FALSE" },
		{ "no", "yes" }, { "no", "crash:1s" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = shown(rows[i], 2);

		assert_text(text, "no");
		free(text);
	}
}

static void
faults(void **state)
{
	static const char *const rows[] = { "maybe", "crash", "crash:",
		"crash:x", "crash:-1", "crash:1y", "crash:.", "crash:1.2.3",
		"crash:1e3", "crash:99999999999", "crash:2147483647w",
		"max-sources4:0", "max-sources4:1.5", "max-sources4:-1",
		"max-sources4:2147483648", "overflow:maybe", "overflow",
		"Crash:1", "crash:1s yes", "no crash:1s", "yes no",
		"crash:1 crash:x", "crash :1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text;

		messages_forget();
		text = shown(&rows[i], 1);
		if (text != NULL)
			fail_msg("%s was taken", rows[i]);
		assert_non_null(strstr(messages, "PerSourcePenalties"));
	}
}

static int
begin(void **state)
{
	(void)state;
	messages_keep();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(switched_off),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
