/* SPDX-License-Identifier: ISC */
/* Whose account it is: by a table of accounts that the test fills, and by the
 * environment where that has nobody. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own-account.h"

static uid_t real_user, user;
static gid_t real_group, group;
static struct passwd *entry;

uid_t
getuid(void)
{
	return real_user;
}

uid_t
geteuid(void)
{
	return user;
}

gid_t
getgid(void)
{
	return real_group;
}

gid_t
getegid(void)
{
	return group;
}

struct passwd *
getpwuid(uid_t uid)
{
	return uid == real_user ? entry : NULL;
}

static int
somebody(void **state)
{
	(void)state;
	real_user = user = 54321;
	real_group = group = 54321;
	entry = NULL;
	return setenv("USER", "ann", 1) | setenv("LOGNAME", "lou", 1) |
	    setenv("HOME", "/home/ann", 1);
}

static void
says(const char *name, const char *home)
{
	if (name == NULL)
		assert_null(own_account_name());
	else
		assert_string_equal(own_account_name(), name);
	if (home == NULL)
		assert_null(own_account_home());
	else
		assert_string_equal(own_account_home(), home);
}

static void
the_table_is_first(void **state)
{
	struct passwd known = { .pw_name = "bob", .pw_dir = "/home/bob" };

	(void)state;
	entry = &known;
	says("bob", "/home/bob");
}

static void
environment(void **state)
{
	(void)state;
	says("ann", "/home/ann");
	setenv("USER", "", 1);
	says("lou", "/home/ann");
	unsetenv("USER");
	says("lou", "/home/ann");
	unsetenv("LOGNAME");
	setenv("HOME", "relative", 1);
	says(NULL, NULL);
	unsetenv("HOME");
	says(NULL, NULL);
}

/* root, setuid, and setgid */
static void
not_believed(void **state)
{
	(void)state;
	real_user = user = 0;
	says(NULL, NULL);
	real_user = 54321;
	says(NULL, NULL);
	user = 54321;
	group = 0;
	says(NULL, NULL);
	group = 54321;
	says("ann", "/home/ann");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_table_is_first, somebody),
		cmocka_unit_test_setup(environment, somebody),
		cmocka_unit_test_setup(not_believed, somebody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
