/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "conf/destination.h"

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
		{ "foo,github.com", true, false },
		{ "*", true, false },
		{ "h?st", true, false },
		{ "!host", true, false },
		{ "ho\tst", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		assert_int_equal(destination_user_ok(t[i].name), t[i].user);
		assert_int_equal(destination_host_ok(t[i].name), t[i].host);
	}
}

/* Jump hosts end in the arguments of programs, and their names in proxy
 * commands. */
static void
jumps(void **state)
{
	static const struct {
		const char *list, *user, *host, *port, *rest;
	} t[] = {
		{ "a", NULL, "a", NULL, NULL },
		{ "me@a:22", "me", "a", "22", NULL },
		{ "me@realm@a", "me@realm", "a", NULL, NULL },
		{ "a,b@c:3,ssh://d:4", NULL, "d", "4", "a,b@c:3" },
		{ "x,[fe80::1%eth0]:5", NULL, "fe80::1%eth0", "5", "x" },
		{ "[::1]", NULL, "::1", NULL, NULL },
		{ "a:", NULL, "a", NULL, NULL },
		{ "a:ssh", NULL, "a", "22", NULL },
	};
	struct destination d;
	char *rest;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		assert_null(destination_check_jumps(t[i].list));
		assert_int_equal(
		    destination_last_jump(&d, t[i].list, &rest), 0);
		assert_text(d.user, t[i].user);
		assert_text(d.host, t[i].host);
		assert_text(d.port, t[i].port);
		assert_text(rest, t[i].rest);
		destination_clear(&d);
		free(rest);
	}
}

static void
bad_jumps(void **state)
{
	static const char *const t[] = { "", ",", "a,", ",a", "a,,b", "::1",
		"a:0", "a:65536", "a:-1", "a:1x", "a:no-service", "@a", "me@",
		"[::1", "[::1]x", "[]", "-oProxyCommand=x", "me@-x", "-x@a",
		"a,-x,b", "a\nb", "ssh://", "ssh://a/b", "ssh://-x",
		"1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h" };
	/* Of the command line, which another program may have made. */
	static const char *const strict[] = { "a;b", "a b", "$(id)", "`id`",
		"a|b", "a&b", "a>b", "a'b", "a\"b", "a\\", "{a}", "me;x@a",
		"me -x@a", "$x@a", "ssh://%24x@a", "ssh://a%3bb@c" };

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		if (destination_check_jumps(t[i]) == NULL ||
		    destination_check_jump_names(t[i]) == NULL)
			fail_msg("taken: %s", t[i]);
	for (size_t i = 0; i < sizeof strict / sizeof *strict; i++) {
		if (destination_check_jump_names(strict[i]) == NULL)
			fail_msg("taken: %s", strict[i]);
		assert_null(destination_check_jumps(strict[i]));
	}
	assert_null(destination_check_jumps(
	    "1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(names_for_a_shell),
		cmocka_unit_test(jumps),
		cmocka_unit_test(bad_jumps),
	};

	know_names_of_ports();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
