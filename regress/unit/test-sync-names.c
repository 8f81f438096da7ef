/* SPDX-License-Identifier: ISC */
/*
 * Which trees and names a command line of hpnsync means: by example for each
 * form of a source, and for random sources and lists, that each thing comes
 * once, in the order of a walk, and that nothing leads out of its top.
 */
#include "regress/unit/dice.h"
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/syncopts/sync-names.h"
#include "xfer/sftp/walk-reader.h"

static struct sync_roots roots;
static struct sync_names names;
static char told[256]; /* the paths that were missing or skipped */

/* By the last letters of a path: "...none" is missing, "...dir" and what is
 * empty or ends in a slash or dots is a directory, all else a file. */
static enum sync_kind
kind_of(void *arg, const char *path)
{
	size_t len = strlen(path);

	(void)arg;
	if (len >= 4 && strcmp(path + len - 4, "none") == 0)
		return SYNC_KIND_MISSING;
	if (len == 0 || strchr("/.", path[len - 1]) != NULL ||
	    (len >= 3 && strcmp(path + len - 3, "dir") == 0))
		return SYNC_KIND_DIR;
	return SYNC_KIND_OTHER;
}

static void
tell(char mark, const char *path)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof told - len, "%c%s ", mark, path);
}

static void
missing(void *arg, const char *path)
{
	(void)arg;
	tell('-', path);
}

static void
skipped(void *arg, const char *path)
{
	(void)arg;
	tell('~', path);
}

static int
set_up(void **state)
{
	(void)state;
	TAILQ_INIT(&roots);
	names = (struct sync_names){ .recursive = true, .implied_dirs = true,
		.kind = kind_of, .missing = missing, .skipped = skipped };
	told[0] = '\0';
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	sync_names_clear(&roots);
	assert_true(TAILQ_EMPTY(&roots));
	return 0;
}

static void
again(void)
{
	sync_names_clear(&roots);
	told[0] = '\0';
}

/* The roots as text: "tops>mount" of a tree, "top>mount:names" of names. */
static const char *
text_of(void)
{
	static char out[1024];
	struct sync_root *r;
	size_t len = 0;

	out[0] = '\0';
	TAILQ_FOREACH(r, &roots, entry) {
		if (len > 0)
			out[len++] = ' ';
		for (size_t i = 0; i < r->sources.n; i++)
			len += (size_t)snprintf(out + len, sizeof out - len,
			    "%s%s", i > 0 ? "+" : "", r->sources.v[i]);
		len += (size_t)snprintf(out + len, sizeof out - len, ">%s%s",
		    r->mount, r->names_only ? ":" : "");
		for (size_t i = 0; i < r->names.n; i++)
			len += (size_t)snprintf(out + len, sizeof out - len,
			    "%s%s", i > 0 ? "," : "", r->names.v[i]);
		assert_true(len < sizeof out);
	}
	return out;
}

static void
add(const char *path)
{
	assert_int_equal(sync_names_add(&roots, &names, path), 0);
}

/* ---- sources ------------------------------------------------------------ */

struct example {
	const char *sources[4];
	const char *roots, *told;
};

static void
play(const struct example *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 4 && rows[i].sources[k] != NULL; k++)
			add(rows[i].sources[k]);
		assert_int_equal(sync_names_finish(&roots), 0);
		assert_string_equal(text_of(), rows[i].roots);
		assert_string_equal(told,
		    rows[i].told != NULL ? rows[i].told : "");
		again();
	}
}

static void
test_recursive(void **state)
{
	static const struct example rows[] = {
		/* A slash, or dots, name what is in a directory. */
		{ { "a/dir" }, "a/dir>dir", NULL },
		{ { "a/dir/" }, "a/dir/>", NULL },
		{ { "dir" }, "dir>dir", NULL },
		{ { "." }, ".>", NULL },
		{ { ".." }, "..>", NULL },
		{ { "a/.." }, "a/..>", NULL },
		{ { "/" }, "/>", NULL },
		{ { "" }, ">", NULL },
		/* Trees that meet are one; others stay apart. */
		{ { "a/dir", "b/dir" }, "a/dir+b/dir>dir", NULL },
		{ { "a/dir/", "b/dir/", "c/dir" }, "a/dir/+b/dir/> c/dir>dir",
		    NULL },
		{ { "a/xdir", "b/ydir" }, "a/xdir>xdir b/ydir>ydir", NULL },
		/* Files of one directory are names of it. */
		{ { "f" }, ".>:f", NULL },
		{ { "/f" }, "/>:f", NULL },
		{ { "a/f", "b/f", "a/e" }, "a>:e,f b>:f", NULL },
		{ { "a/f", "a/f" }, "a>:f", NULL },
		{ { "a//f" }, "a>:f", NULL },
		/* What is not there is told, and the rest counts. */
		{ { "none", "f", "x/none" }, ".>:f", "-none -x/none " },
		{ { "none" }, "", "-none " },
	};

	(void)state;
	play(rows, ARRAY_LEN(rows));
}

static void
test_not_recursive(void **state)
{
	static const struct example skips[] = {
		{ { "a/dir", "f", "dir/" }, ".>:f", "~a/dir ~dir/ " },
		{ { "none" }, "", "-none " },
	};
	static const struct example dirs[] = {
		{ { "a/dir" }, "a>:dir", NULL },
		{ { "a/dir/" }, "a/dir/>", NULL },
		{ { "." }, ".>", NULL },
		{ { "a/f", "a/dir" }, "a>:dir,f", NULL },
	};

	(void)state;
	names.recursive = false;
	play(skips, ARRAY_LEN(skips));
	names.dirs = true;
	play(dirs, ARRAY_LEN(dirs));
}

static void
test_relative(void **state)
{
	static const struct example rows[] = {
		{ { "a/b/f" }, ".>:a,a/b,a/b/f", NULL },
		{ { "/a/b/f" }, "/>:a,a/b,a/b/f", NULL },
		{ { "a/./b/f" }, "a>:b,b/f", NULL },
		{ { "/./b/f" }, "/>:b,b/f", NULL },
		{ { "a/./f" }, "a>:f", NULL },
		{ { "a/b/dir" }, ".>:a,a/b ./a/b/dir>a/b/dir",
		    NULL },
		{ { "./a//f" }, ".>:a,a/f", NULL },
		{ { "a/f", "a/e", "b/f" }, ".>:a,b,a/e,a/f,b/f", NULL },
		{ { "a/none" }, "", "-./a/none " },
		{ { "a/." }, ".>:a", NULL },
	};
	static const struct example bare[] = {
		{ { "a/b/f" }, ".>:a/b/f", NULL },
		{ { "x/./a/b/dir" }, "x/a/b/dir>a/b/dir", NULL },
	};

	(void)state;
	names.relative = true;
	play(rows, ARRAY_LEN(rows));
	names.implied_dirs = false;
	play(bare, ARRAY_LEN(bare));
	/* What a ".." means depends on links: refused, wherever it stands. */
	assert_int_equal(sync_names_add(&roots, &names, "../f"), ERR_SYNTAX);
	assert_int_equal(sync_names_add(&roots, &names, "a/../f"), ERR_SYNTAX);
	assert_int_equal(sync_names_add(&roots, &names, "a/./b/.."),
	    ERR_SYNTAX);
	assert_string_equal(text_of(), "");
}

/* ---- lists -------------------------------------------------------------- */

static int
list(const char *text, size_t len, bool from0)
{
	return sync_names_add_list(&roots, &names, "top", text, len, from0);
}

static void
test_lists(void **state)
{
	static const char lines[] = "a/f\n\n# no name\n;nor this\r\n./b\r"
				    "a//f\nnone\nlast";
	static const char zeros[] = "a\nb\0#c\0\0;d\0last";

	(void)state;
	names.recursive = false;
	assert_int_equal(list(lines, sizeof lines - 1, false), 0);
	assert_int_equal(sync_names_finish(&roots), 0);
	assert_string_equal(text_of(), "top>:a,b,last,a/f");
	assert_string_equal(told, "-top/none ");
	again();
	/* Between zero bytes, all else is part of a name. */
	assert_int_equal(list(zeros, sizeof zeros - 1, true), 0);
	assert_int_equal(sync_names_finish(&roots), 0);
	assert_string_equal(text_of(), "top>:#c,;d,a\nb,last");
	again();
	/* A line that leads out ends the list; what came before stays. */
	assert_int_equal(list("f\n../g\nh\n", 9, false), ERR_SYNTAX);
	assert_string_equal(text_of(), "top>:f");
	again();
	assert_int_equal(list("", 0, false), 0);
	assert_int_equal(list("\n\r\n", 3, false), 0);
	assert_string_equal(text_of(), "");
	/* The end of the text ends the last line: nothing behind it is read. */
	assert_int_equal(list("ab", 1, false), 0);
	assert_string_equal(text_of(), "top>:a");
}

/* Appends a path that dice make of few parts, some of them strange. */
static size_t
random_path(struct dice *d, char *out)
{
	static const char *const parts[] = { "a", "b", "dir", "/", ".", "#",
		"none", "a+" };
	size_t len = 0;

	for (uint32_t n = 1 + dice_below(d, 4); n > 0; n--) {
		const char *part = parts[dice_below(d, ARRAY_LEN(parts))];

		memcpy(out + len, part, strlen(part));
		len += strlen(part);
		if (n > 1 && dice_below(d, 3) != 0)
			out[len++] = '/';
	}
	out[len] = '\0';
	return len;
}

/* Is a part of the path ".."? */
static bool
leads_up(const char *path)
{
	char slashed[256];

	snprintf(slashed, sizeof slashed, "/%s/", path);
	return strstr(slashed, "/../") != NULL;
}

/* Holds for each list of names: clean, in the order of a walk, each once, and
 * no mount leads out. */
static void
is_in_order(void)
{
	struct sync_root *r, *other;

	TAILQ_FOREACH(r, &roots, entry) {
		assert_true(r->sources.n > 0);
		assert_true(!r->names_only || r->sources.n == 1);
		assert_false(leads_up(r->mount));
		assert_true(r->mount[0] != '/');
		for (size_t i = 0; i < r->names.n; i++) {
			const char *name = r->names.v[i];

			assert_true(*name != '\0' && *name != '/');
			assert_false(leads_up(name));
			assert_null(strstr(name, "//"));
			assert_true(name[strlen(name) - 1] != '/');
			if (i > 0)
				assert_true(walk_name_cmp(r->names.v[i - 1],
				    name) < 0);
		}
		/* One root for one place. */
		for (other = TAILQ_NEXT(r, entry); other != NULL;
		     other = TAILQ_NEXT(other, entry))
			assert_true(r->names_only != other->names_only ||
			    strcmp(r->mount, other->mount) != 0 ||
			    (r->names_only && strcmp(r->sources.v[0],
			    other->sources.v[0]) != 0));
	}
}

static void
test_random_lists(void **state)
{
	struct dice d = { .state = 1 };
	unsigned refused = 0;
	char text[2048];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		bool from0 = dice_below(&d, 2) == 0;
		size_t len = 0;

		names.recursive = dice_below(&d, 2) == 0;
		names.dirs = dice_below(&d, 2) == 0;
		names.implied_dirs = dice_below(&d, 2) == 0;
		for (uint32_t n = dice_below(&d, 20); n > 0; n--) {
			len += random_path(&d, text + len);
			text[len++] = from0 ? '\0' : '\n';
		}
		/* Two dots may come to stand side by side. */
		if (list(text, len, from0) != 0) {
			refused++;
		} else {
			assert_int_equal(sync_names_finish(&roots), 0);
			is_in_order();
		}
		again();
	}
	assert_true(refused > 0 && refused < 1000);
}

/* A list does not depend on the order of its lines. */
static void
test_order_of_lines(void **state)
{
	static const char *const lines[] = { "a/f", "b", "a/dir/x", "c/e/g",
		"a/e", "b", "a+/f" };
	char first[1024], text[256];
	struct dice d = { .state = 3 };

	(void)state;
	names.recursive = false;
	for (int round = 0; round < 100; round++) {
		unsigned at[ARRAY_LEN(lines)];
		size_t len = 0;

		for (unsigned i = 0; i < ARRAY_LEN(lines); i++) {
			unsigned k = dice_below(&d, i + 1);

			at[i] = at[k];
			at[k] = i;
		}
		for (unsigned i = 0; i < ARRAY_LEN(lines); i++)
			len += (size_t)snprintf(text + len,
			    sizeof text - len, "%s\n", lines[at[i]]);
		assert_int_equal(list(text, len, false), 0);
		assert_int_equal(sync_names_finish(&roots), 0);
		if (round == 0)
			strcpy(first, text_of());
		assert_string_equal(text_of(), first);
		again();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recursive, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_not_recursive, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_relative, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_lists, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_order_of_lines, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
