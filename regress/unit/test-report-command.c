/* SPDX-License-Identifier: ISC */
/* No secret of a command line gets into a report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/report/report-command.h"
#include "regress/unit/help.h"

static void
test_options(void **state)
{
	static const struct {
		const char *option, *value, *shown;
	} cases[] = {
		{ "-r", NULL, NULL },
		{ "-P", "22", "22" },
		{ "-o", "Port=22", "Port=22" },
		{ "-o", "port 22", "port 22" },
		{ "-o", "Ciphers=aes128-gcm@openssh.com",
		    "Ciphers=aes128-gcm@openssh.com" },
		{ "-o", "SetEnv=TOKEN=secret", "SetEnv=..." },
		{ "-o", "setenv TOKEN=secret", "setenv=..." },
		{ "-o", "ProxyCommand=sshpass -p secret ssh h",
		    "ProxyCommand=..." },
		{ "-o", " Unknown = secret", "Unknown=..." },
		{ "-o", "secret", "secret=..." }, /* a keyword, to us */
		{ "-S", "/usr/bin/ssh", "/usr/bin/ssh" },
		{ "-S", "sshpass -p secret ssh", "sshpass ..." },
		{ "-e", "ssh -oSetEnv=A=secret", "ssh ..." },
		{ "--rsh", "ssh -oSetEnv=A=secret", "ssh ..." },
		{ "RSYNC_RSH", "ssh secret", "ssh ..." },
		{ "-D", "server secret", "server ..." },
		{ "--sftp-server", "sudo secret", "sudo ..." },
		{ "--exclude", "*.o", "*.o" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strlist l = { NULL, 0 };

		report_command_option(&l, cases[i].option, cases[i].value);
		assert_int_equal(l.n, cases[i].shown != NULL ? 2 : 1);
		assert_string_equal(l.v[0], cases[i].option);
		if (cases[i].shown != NULL)
			assert_string_equal(l.v[1], cases[i].shown);
		strlist_clear(&l);
	}
}

static void
test_names(void **state)
{
	static char *const names[] = { "a b", "user@host:dir",
		"scp://me:secret@host:22/dir", "sftp://me@host//x",
		"sftp://me:se@cret@host/x", "user:no@password" };
	static const char *const shown[] = { "a b", "user@host:dir",
		"scp://me:...@host:22/dir", "sftp://me@host//x",
		"sftp://me:...@host/x", "user:no@password" };
	struct strlist l = { NULL, 0 };

	(void)state;
	assert_int_equal(report_command_names(&l, names, ARRAY_LEN(names)), 0);
	assert_int_equal(l.n, ARRAY_LEN(names));
	for (size_t i = 0; i < l.n; i++)
		assert_string_equal(l.v[i], shown[i]);
	strlist_clear(&l);
}

static void
test_many_names(void **state)
{
	enum { MANY = REPORT_NAMES + 7 };
	struct strlist l = { NULL, 0 };
	char *names[MANY];
	char last[16];

	(void)state;
	for (int i = 0; i < MANY; i++)
		xasprintf(&names[i], "n%d", i);
	assert_int_equal(report_command_names(&l, names, MANY), 7);
	assert_int_equal(l.n, REPORT_NAMES);
	assert_string_equal(l.v[0], "n0");
	snprintf(last, sizeof last, "n%d", MANY - 1);
	assert_string_equal(l.v[REPORT_NAMES - 1], last);
	strlist_clear(&l);
	for (int i = 0; i < MANY; i++)
		free(names[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
