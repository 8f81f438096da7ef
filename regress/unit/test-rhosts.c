/* SPDX-License-Identifier: ISC */
/* Lists of hosts: what each kind of line says about one user of one host. */
#include "regress/unit/hex.h"

#include <string.h>

#include "base/mem.h"
#include "server/monitor/rhosts.h"

/* "hosts" has the host by its name, "nets" by its address, "staff" the user;
 * "all" has everybody, which a list without a name must not reach. */
static bool
in_netgroup(const char *group, const char *host, const char *user)
{
	if (strcmp(group, "all") == 0 || *group == '\0')
		return true;
	if (strcmp(group, "hosts") == 0)
		return host != NULL && strcmp(host, "a.example") == 0;
	if (strcmp(group, "nets") == 0)
		return host != NULL && strcmp(host, "192.0.2.1") == 0;
	return strcmp(group, "staff") == 0 && user != NULL &&
	    strcmp(user, "jo") == 0;
}

static enum rhosts_verdict
ask(const char *line, const char *client_user, const char *login)
{
	const struct rhosts_query q = { .host = "a.example",
		.address = "192.0.2.1",
		.client_user = client_user,
		.login = login,
		.in_netgroup = in_netgroup };

	return rhosts_line(line, &q);
}

static const struct {
	const char *line;
	/* For jo, and for al, who want to be jo. */
	enum rhosts_verdict jo, al;
} rows[] = {
#define YES RHOSTS_ALLOW
#define NO RHOSTS_DENY
#define NIL RHOSTS_SILENT
	/* hosts */
	{ "a.example", YES, NIL },
	{ "A.Example", YES, NIL },
	{ "192.0.2.1", YES, NIL },
	{ "  a.example\t\r", YES, NIL },
	{ "b.example", NIL, NIL },
	{ "a.exampl", NIL, NIL },
	{ "a.example.", NIL, NIL },
	{ "*", NIL, NIL },
	{ "*.example jo", NIL, NIL },
	/* users */
	{ "a.example jo", YES, NIL },
	{ "a.example al", NIL, YES },
	{ "a.example Jo", NIL, NIL },
	{ "a.example *", NIL, NIL },
	{ "b.example al", NIL, NIL },
	/* refusals, of which either word may be one */
	{ "-a.example", NO, NIL },
	{ "-a.example al", NIL, NO },
	{ "a.example -al", NIL, NO },
	{ "-a.example -al", NIL, NO },
	{ "-b.example al", NIL, NIL },
	/* a plus says nothing, and alone it is nobody */
	{ "+a.example", YES, NIL },
	{ "+a.example +al", NIL, YES },
	{ "+", NIL, NIL },
	{ "-", NIL, NIL },
	{ "+ +", NIL, NIL },
	{ "a.example +", NIL, NIL },
	{ "+ jo", NIL, NIL },
	{ "a.example -", NIL, NIL },
	/* netgroups */
	{ "@hosts", YES, NIL },
	{ "@nets", YES, NIL },
	{ "@others", NIL, NIL },
	{ "@hosts @staff", YES, NIL },
	{ "a.example @staff", YES, NIL },
	{ "-@hosts al", NIL, NO },
	{ "@hosts -@staff", NO, NIL },
	{ "+@hosts al", NIL, YES },
	{ "@", NIL, NIL },
	{ "a.example @", NIL, NIL },
	{ "+@", NIL, NIL },
	{ "@all", YES, NIL },
	{ "@all @all", YES, YES },
	/* lines of other kinds */
	{ "", NIL, NIL },
	{ " \t", NIL, NIL },
	{ "# a.example", NIL, NIL },
	{ "  #a.example", NIL, NIL },
	{ "NO_PLUS", NIL, NIL },
	{ "NO_PLUS jo", NIL, NIL },
	{ "a.example jo al", NIL, NIL },
	{ "a.example al # trusted", NIL, NIL },
};

static void
test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (ask(rows[i].line, "jo", "jo") != rows[i].jo ||
		    ask(rows[i].line, "al", "jo") != rows[i].al)
			fail_msg("\"%s\": %d %d", rows[i].line,
			    ask(rows[i].line, "jo", "jo"),
			    ask(rows[i].line, "al", "jo"));
}

/* The sign belongs to words of the file, not to a login that has one. */
static void
test_login_with_sign(void **state)
{
	(void)state;
	assert_int_equal(ask("a.example", "jo", "+jo"), RHOSTS_SILENT);
	assert_int_equal(ask("a.example", "-jo", "-jo"), RHOSTS_ALLOW);
	assert_int_equal(ask("a.example", "@all", "jo"), RHOSTS_SILENT);
	assert_int_equal(ask("a.example", "jo", "@all"), RHOSTS_SILENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_login_with_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
