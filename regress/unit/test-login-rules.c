/* SPDX-License-Identifier: ISC */
/* Which accounts may log in: lists of groups. */
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/login-rules.h"
#include "server/monitor/login.h"

/* A group id that has no name here. */
static gid_t
nameless_gid(void)
{
	gid_t gid = 54321;

	while (getgrgid(gid) != NULL)
		gid++;
	return gid;
}

/* Does this rule let a user of this group in? */
static bool
allows(gid_t gid, const char *keyword, const char *value)
{
	struct user user = { .name = "hpn-no-such-user", .home = "/",
		.shell = "/bin/sh", .uid = geteuid(), .gid = gid,
		.valid = true };
	struct peer peer = { .address = "192.0.2.7", .host = "192.0.2.7" };
	struct login l = { .name = user.name, .user = &user, .peer = &peer };
	bool ok;

	server_conf_init(&l.conf);
	if (keyword != NULL)
		assert_int_equal(server_conf_set(&l.conf, keyword, value), 0);
	assert_int_equal(server_conf_finish(&l.conf), 0);
	l.conf.login.use_pam = 1; /* the shadow file does not know the user */
	ok = login_rules_allow(&l);
	server_conf_clear(&l.conf);
	return ok;
}

static void
groups_by_name(void **state)
{
	const struct group *gr = getgrgid(0);
	char *name, *pattern;

	(void)state;
	assert_non_null(gr);
	name = xstrdup(gr->gr_name);
	xasprintf(&pattern, "%.1s*", name);
	assert_true(allows(0, NULL, NULL));
	assert_false(allows(0, "DenyGroups", name));
	assert_false(allows(0, "DenyGroups", pattern));
	assert_true(allows(0, "DenyGroups", "hpn-no-such-group"));
	assert_true(allows(0, "AllowGroups", name));
	assert_true(allows(0, "AllowGroups", pattern));
	assert_false(allows(0, "AllowGroups", "hpn-no-such-group"));
	free(name);
	free(pattern);
}

/* No rule about names can be asked: nobody gets past one that way. */
static void
no_group_has_a_name(void **state)
{
	gid_t gid = nameless_gid();

	(void)state;
	assert_true(allows(gid, NULL, NULL));
	assert_false(allows(gid, "DenyGroups", "hpn-no-such-group"));
	assert_false(allows(gid, "DenyGroups", "!*"));
	assert_false(allows(gid, "AllowGroups", "*"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_name),
		cmocka_unit_test(no_group_has_a_name),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
