/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/destination.h"

static void
assert_text(const char *got, const char *want)
{
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void
good(void **state)
{
	static const struct {
		const char *text, *user, *host, *port;
	} t[] = {
		{ "host", NULL, "host", NULL },
		{ "me@host", "me", "host", NULL },
		{ "me@realm@host", "me@realm", "host", NULL },
		{ "::1", NULL, "::1", NULL },
		{ "host:22", NULL, "host:22", NULL },
		{ "ssh://host", NULL, "host", NULL },
		{ "ssh://host/", NULL, "host", NULL },
		{ "ssh://host:2200", NULL, "host", "2200" },
		{ "ssh://me@host:22/", "me", "host", "22" },
		{ "ssh://me;x=y@host", "me", "host", NULL },
		{ "ssh://a%40b@host", "a@b", "host", NULL },
		{ "ssh://[::1]", NULL, "::1", NULL },
		{ "ssh://me@[fe80::1%25eth0]:7", "me", "fe80::1%25eth0", "7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct destination d;

		assert_int_equal(destination_parse(&d, t[i].text), 0);
		assert_text(d.user, t[i].user);
		assert_text(d.host, t[i].host);
		assert_text(d.port, t[i].port);
		destination_clear(&d);
	}
}

static void
bad(void **state)
{
	static const char *const t[] = { "", "@host", "me@", "ssh://",
		"ssh://@host", "ssh://host:0", "ssh://host:65536",
		"ssh://host:x", "ssh://host/path", "ssh://[::1", "ssh://[::1]x",
		"ssh://a%4@h", "ssh://a%00@h" };

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct destination d;

		assert_int_not_equal(destination_parse(&d, t[i]), 0);
		destination_clear(&d);
	}
}

static void
names_for_a_shell(void **state)
{
	static const struct {
		const char *name;
		bool user, host;
	} t[] = {
		{ "me", true, true },
		{ "DOMAIN\\me", true, false },
		{ "first last", true, false },
		{ "-oProxyCommand=x", false, false },
		{ "me -x", false, false },
		{ "a;b", false, false },
		{ "$(id)", false, false },
		{ "`id`", false, false },
		{ "a|b", false, false },
		{ "a\nb", false, false },
		{ "me\\", false, false },
		{ "", false, false },
		{ "fe80::1%eth0", true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		assert_int_equal(destination_user_ok(t[i].name), t[i].user);
		assert_int_equal(destination_host_ok(t[i].name), t[i].host);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(names_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
