/* SPDX-License-Identifier: ISC */
/* Files of users: patterns, who may have written them, lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "regress/unit/own-account.h"
#include "server/monitor/authorized-files.h"

static char dir[] = "/tmp/test-authorized-files-XXXXXX";
static const char *const names[] = { "a1", "a2", "b*", "bc", "home [x]",
	"home [x]/keys", "home x" };
static struct user *self;

static char *
path_of(const char *name)
{
	char *path;

	xasprintf(&path, "%s/%s", dir, name);
	return path;
}

static int
set_up(void **state)
{
	(void)state;
	log_init("test", LOG_LVL_QUIET);
	self = own_account();
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = path_of(names[i]);

		if (strcmp(names[i], "home [x]") == 0)
			assert_int_equal(mkdir(path, 0700), 0);
		else
			assert_int_equal(file_replace(path, "x\n", 2, 0600),
			    0);
		free(path);
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	for (size_t i = ARRAY_LEN(names); i-- > 0;) {
		char *path = path_of(names[i]);

		(void)!remove(path);
		free(path);
	}
	user_free(self);
	return rmdir(dir);
}

/* The paths, below the directory, with blanks between them. */
static void
finds(const char *home, const char *name, const char *pattern,
    const char *want)
{
	struct user u = *self;
	struct strlist paths = { 0 };
	struct buf got = { 0 };
	char *text, *at, *full;

	u.home = at = path_of(home);
	u.name = xstrdup(name);
	full = pattern[0] == '.' ? path_of(pattern + 2) : xstrdup(pattern);
	assert_int_equal(authfiles_paths(&u, "TheKeyword", full, &paths), 0);
	for (size_t i = 0; i < paths.n; i++) {
		assert_true(str_has_prefix(paths.v[i], dir));
		buf_printf(&got, "%s%s", i > 0 ? "|" : "",
		    paths.v[i] + strlen(dir) + 1);
	}
	text = buf_dup_string(&got);
	assert_string_equal(text, want);
	free(text);
	free(full);
	free(at);
	free(u.name);
	buf_clear(&got);
	strlist_clear(&paths);
}

static void
patterns(void **state)
{
	(void)state;
	finds("h", "u", "./a1", "a1");
	finds("h", "u", "./nothing", "nothing"); /* who opens it will see */
	finds("h", "u", "./a?", "a1|a2");
	finds("h", "u", "./[ab]*", "a1|a2|b*|bc");
	finds("h", "u", "./nothing*", "");
	finds("h", "b", "./%u*", "b*|bc");
	finds("h", "1", "./a%u", "a1");
	/* what stands for the user is no pattern */
	finds("h", "b*", "./%u", "b*");
	finds("h", "b*", "./%u?", "");
	finds("h", "*", "./%u?", "");
	finds("home [x]", "u", "keys", "home [x]/keys");
	finds("home [x]", "u", "k*", "home [x]/keys");
	finds("home [x]", "u", "~/k*", "home [x]/keys");
	finds("home [x]", "u", "%h/k*", "home [x]/keys");
	finds("h", "u", "keys", "h/keys");
}

static void
wrong_tokens(void **state)
{
	struct strlist paths = { 0 };

	(void)state;
	assert_int_equal(authfiles_paths(self, "k", "/a/%x", &paths),
	    ERR_SYNTAX);
	assert_int_equal(authfiles_paths(self, "k", "/a*/%", &paths),
	    ERR_SYNTAX);
	assert_int_equal(paths.n, 0);
}

static void
what_is_no_file(void **state)
{
	static const char *const rows[] = { "/dev/null", "/dev/zero", "/tmp",
		"/no/such/file" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int strict = 0; strict <= 1; strict++)
			assert_null(authfiles_open(self, rows[i], strict));
}

static void
lines(void **state)
{
	size_t len = AUTHFILES_LINE_MAX + 10;
	char *text = xmalloc(len + 64);
	static const char tail[] = "\nb\r\n\nc";
	struct authlines l;
	FILE *f;

	(void)state;
	text[0] = 'a';
	text[1] = '\n';
	memset(text + 2, 'x', len);
	memcpy(text + 2 + len, tail, sizeof tail);
	f = fmemopen(text, 2 + len + sizeof tail - 1, "r");
	assert_non_null(f);
	authlines_init(&l, f);
	assert_true(authlines_next(&l));
	assert_string_equal(l.text, "a");
	assert_true(authlines_next(&l));
	assert_string_equal(l.text, ""); /* too long */
	assert_true(authlines_next(&l));
	assert_string_equal(l.text, "b");
	assert_true(authlines_next(&l));
	assert_string_equal(l.text, "");
	assert_true(authlines_next(&l));
	assert_string_equal(l.text, "c");
	assert_int_equal(l.number, 5);
	assert_false(authlines_next(&l));
	authlines_clear(&l);
	fclose(f);
	free(text);
}

/* Every line is whole, whatever its length and the ones before. */
static void
lengths(void **state)
{
	static const size_t rows[] = { 0, 1, 1022, 1023, 1024, 1025, 5, 2047,
		2048, 100000, AUTHFILES_LINE_MAX / 2 - 1,
		AUTHFILES_LINE_MAX / 2, AUTHFILES_LINE_MAX - 2,
		AUTHFILES_LINE_MAX - 1, AUTHFILES_LINE_MAX, 7 };
	struct authlines l;
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < rows[i]; k++)
			putc('a' + (int)((i + k) % 26), f);
		putc('\n', f);
	}
	rewind(f);
	authlines_init(&l, f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = rows[i] < AUTHFILES_LINE_MAX ? rows[i] : 0;

		assert_true(authlines_next(&l));
		assert_int_equal(strlen(l.text), n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(l.text[k], 'a' + (int)((i + k) % 26));
	}
	assert_false(authlines_next(&l));
	authlines_clear(&l);
	fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(wrong_tokens),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(lines),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
