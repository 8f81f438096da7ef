/* SPDX-License-Identifier: ISC */
/* What hpnscp's arguments name. */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/target.h"

static void
test_targets(void **state)
{
	static const struct {
		const char *text;
		bool remote;
		const char *user, *host, *path;
		int port;
	} rows[] = {
		{ "file", false, NULL, NULL, "file", 0 },
		{ "./a:b", false, NULL, NULL, "./a:b", 0 },
		{ "/a:b", false, NULL, NULL, "/a:b", 0 },
		{ ":a", false, NULL, NULL, ":a", 0 },
		{ "host:", true, NULL, "host", ".", 0 },
		{ "host:a", true, NULL, "host", "a", 0 },
		{ "host:/a b/c", true, NULL, "host", "/a b/c", 0 },
		{ "host:a:b", true, NULL, "host", "a:b", 0 },
		{ "me@host:~/x", true, "me", "host", "~/x", 0 },
		{ "me@realm@host:x", true, "me@realm", "host", "x", 0 },
		{ "[::1]:x", true, NULL, "::1", "x", 0 },
		{ "me@[fe80::1%lo]:x:y", true, "me", "fe80::1%lo", "x:y", 0 },
		{ "[host]:x", true, NULL, "host", "x", 0 },
		{ "[x]", false, NULL, NULL, "[x]", 0 },
		{ "scp://host", true, NULL, "host", ".", 0 },
		{ "scp://host/", true, NULL, "host", ".", 0 },
		{ "scp://host/a", true, NULL, "host", "a", 0 },
		{ "scp://host//a", true, NULL, "host", "/a", 0 },
		{ "scp://me@host:2222/a/b", true, "me", "host", "a/b", 2222 },
		{ "scp://me@[::1]:22/a%20b", true, "me", "::1", "a b", 22 },
		{ "scp://[::1]/a", true, NULL, "::1", "a", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct xfer_target t;

		assert_int_equal(xfer_target_parse(&t, rows[i].text), 0);
		assert_int_equal(t.remote, rows[i].remote);
		assert_string_equal(t.path, rows[i].path);
		assert_int_equal(t.port, rows[i].port);
		assert_int_equal(t.user == NULL, rows[i].user == NULL);
		if (t.user != NULL)
			assert_string_equal(t.user, rows[i].user);
		assert_int_equal(t.host == NULL, rows[i].host == NULL);
		if (t.host != NULL)
			assert_string_equal(t.host, rows[i].host);
		xfer_target_clear(&t);
	}
}

static void
test_bad_targets(void **state)
{
	static const char *const rows[] = { "", "-oProxyCommand=x:y",
		"me@-host:x", "-l@host:x", "@host:x", "me@:x", "a b:x",
		"[]:x", "scp://", "scp:///a", "scp://host:0/a",
		"scp://host:x/a", "scp://host:99999/a", "scp://host:123456789/",
		"scp://host/%", "scp://host/%0", "scp://host/%00x",
		"scp://%2doProxy/x", "scp://%2dl@host/x", "a\nb:x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct xfer_target t;

		if (xfer_target_parse(&t, rows[i]) != ERR_SYNTAX)
			fail_msg("accepted: %s", rows[i]);
		assert_null(t.host);
	}
}

static void
test_same_host(void **state)
{
	struct xfer_target a, b, c, d;

	(void)state;
	assert_int_equal(xfer_target_parse(&a, "me@host:x"), 0);
	assert_int_equal(xfer_target_parse(&b, "scp://me@host/y"), 0);
	assert_int_equal(xfer_target_parse(&c, "host:x"), 0);
	assert_int_equal(xfer_target_parse(&d, "x"), 0);
	assert_true(xfer_target_same_host(&a, &b));
	assert_false(xfer_target_same_host(&a, &c));
	assert_false(xfer_target_same_host(&c, &d));
	assert_true(xfer_target_same_host(&d, &d));
	xfer_target_clear(&a);
	xfer_target_clear(&b);
	xfer_target_clear(&c);
	xfer_target_clear(&d);
}

static void
test_base_name(void **state)
{
	static const char *const rows[][2] = {
		{ "a", "a" },
		{ "/a/b", "b" },
		{ "a/b///", "b" },
		{ ".", "." },
		{ "..", "." },
		{ "a/..", "." },
		{ "a/../", "." },
		{ "/", "." },
		{ "...", "..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *base = xfer_base_name(rows[i][0]);

		assert_string_equal(base, rows[i][1]);
		free(base);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_same_host),
		cmocka_unit_test(test_base_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
