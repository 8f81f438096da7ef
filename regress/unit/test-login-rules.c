/* SPDX-License-Identifier: ISC */
/* Which accounts may log in: lists of groups. */
#include "regress/unit/help.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/login-rules.h"
#include "server/monitor/login.h"

enum { SILENT = 54399, BLANKS };

/* Asked about that group, in which everybody is then too, the system says this
 * (errno). 0: there is no such group. */
static int silent_says;

int
getgrouplist(const char *user, gid_t gid, gid_t *ids, int *n)
{
	(void)user;
	assert_true(*n >= 2);
	ids[0] = gid;
	ids[1] = SILENT;
	*n = silent_says != 0 ? 2 : 1;
	return *n;
}

struct group *
getgrgid(gid_t gid)
{
	static char text[4096];
	static struct group entry;
	struct group *found = NULL;

	if (gid == SILENT) {
		errno = silent_says;
		return NULL;
	}
	if (gid == BLANKS) {
		static char name[] = "domain users";

		entry.gr_name = name;
		return &entry;
	}
	return getgrgid_r(gid, &entry, text, sizeof text, &found) == 0 ?
	    found : NULL;
}

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
	if (keyword != NULL) {
		char *line;

		xasprintf(&line, "%s %s", keyword, value);
		assert_int_equal(server_conf_set_option(&l.conf, line), 0);
		free(line);
	}
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

/* Names that nobody knows just now are not names that the user does not have:
 * the rule may be there to keep this one out. */
static void
groups_that_cannot_be_asked(void **state)
{
	static const struct {
		int says;
		bool lets_in;
	} cases[] = { { ENOENT, true }, { ESRCH, true }, { EPERM, true },
		{ EIO, false }, { EMFILE, false }, { ENOMEM, false },
		{ ETIMEDOUT, false }, { ECONNREFUSED, false } };
	struct server_conf_spec spec = { .user = "root", .host = "h",
		.addr = "192.0.2.7" };
	char *path = temp_file("match", "Match group hpn-no-such-group\n"
					"PermitTTY no\n");
	struct server_conf conf, made;
	int r;

	(void)state;
	server_conf_init(&conf);
	assert_int_equal(server_conf_read_file(&conf, path), 0);
	assert_int_equal(server_conf_finish(&conf), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		silent_says = cases[i].says;
		assert_true(allows(0, NULL, NULL));
		assert_int_equal(allows(0, "DenyGroups", "hpn-no-such-group"),
		    cases[i].lets_in);
		assert_int_equal(allows(0, "AllowGroups", "*"),
		    cases[i].lets_in);
		r = server_conf_for(&conf, &spec, &made);
		assert_int_equal(r == 0, cases[i].lets_in);
		if (r == 0)
			server_conf_clear(&made);
	}
	silent_says = 0;
	server_conf_clear(&conf);
	unlink(path);
	free(path);
}

/* Names with blanks, as Active Directory has them. */
static void
names_with_blanks(void **state)
{
	(void)state;
	silent_says = ENOENT;
	assert_true(allows(BLANKS, "AllowGroups", "\"domain users\""));
	assert_true(allows(BLANKS, "AllowGroups", "a \"domain u*\" b"));
	assert_true(allows(BLANKS, "AllowGroups", "domain?users"));
	assert_false(allows(BLANKS, "AllowGroups", "domain users"));
	assert_false(allows(BLANKS, "DenyGroups", "\"domain users\""));
	assert_true(allows(BLANKS, "DenyGroups", "domain users"));
	silent_says = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_name),
		cmocka_unit_test(no_group_has_a_name),
		cmocka_unit_test(groups_that_cannot_be_asked),
		cmocka_unit_test(names_with_blanks),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
