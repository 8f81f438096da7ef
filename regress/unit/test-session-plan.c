/* SPDX-License-Identifier: ISC */
/* What a session runs: every request beside every rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/session-plan.h"
#include "regress/unit/help.h"

enum { SHELL = SESSION_SHELL, EXEC = SESSION_EXEC, SUB = SESSION_SUBSYSTEM };
enum {
	LOGIN = SESSION_RUNS_LOGIN_SHELL,
	COMMAND = SESSION_RUNS_COMMAND,
	SFTP = SESSION_RUNS_SFTP,
	REFUSAL = SESSION_RUNS_REFUSAL,
};
enum {
	FREE = SESSION_FORCED_NOT,
	CONFIG = SESSION_FORCED_BY_CONFIG,
	KEY = SESSION_FORCED_BY_KEY,
};

#define IN "internal-sftp"
#define EX "/usr/lib/sftp-server"

static const struct row {
	int kind;
	const char *asked, *config, *key;
	int runs, forced;
	const char *command;
	bool user_rc, signals;
} rows[] = {
	/* Nothing is forced. */
	{ SHELL, NULL, NULL, NULL, LOGIN, FREE, NULL, true, true },
	{ EXEC, "id", NULL, NULL, COMMAND, FREE, "id", true, true },
	{ EXEC, "", NULL, NULL, COMMAND, FREE, "", true, true },
	{ SUB, EX, NULL, NULL, COMMAND, FREE, EX, false, false },
	{ SUB, IN, NULL, NULL, SFTP, FREE, IN, false, false },
	{ SUB, IN " -R", NULL, NULL, SFTP, FREE, IN " -R", false, false },
	{ SUB, IN "\t-R", NULL, NULL, SFTP, FREE, IN "\t-R", false, false },
	/* Its name has to be the whole word. */
	{ SUB, IN "x", NULL, NULL, COMMAND, FREE, IN "x", false, false },
	{ SUB, " " IN, NULL, NULL, COMMAND, FREE, " " IN, false, false },
	{ SUB, "/" IN, NULL, NULL, COMMAND, FREE, "/" IN, false, false },
	/* The client's own command is the shell's, whatever its name. */
	{ EXEC, IN, NULL, NULL, COMMAND, FREE, IN, true, true },
	{ EXEC, IN " -R", NULL, NULL, COMMAND, FREE, IN " -R", true, true },
	{ EXEC, IN "\t", NULL, NULL, COMMAND, FREE, IN "\t", true, true },
	/* ForceCommand, some command. */
	{ SHELL, NULL, "menu", NULL, COMMAND, CONFIG, "menu", false, false },
	{ EXEC, "id", "menu", NULL, COMMAND, CONFIG, "menu", false, false },
	{ EXEC, IN, "menu", NULL, COMMAND, CONFIG, "menu", false, false },
	{ SUB, IN, "menu", NULL, COMMAND, CONFIG, "menu", false, false },
	{ SUB, EX, "menu", NULL, COMMAND, CONFIG, "menu", false, false },
	/* ForceCommand internal-sftp: with its own arguments. */
	{ SHELL, NULL, IN " -R", NULL, REFUSAL, CONFIG, IN " -R", false,
	    false },
	{ EXEC, "id", IN " -R", NULL, REFUSAL, CONFIG, IN " -R", false,
	    false },
	{ EXEC, IN, IN " -R", NULL, REFUSAL, CONFIG, IN " -R", false, false },
	{ SUB, IN, IN " -R", NULL, SFTP, CONFIG, IN " -R", false, false },
	{ SUB, EX, IN " -R", NULL, SFTP, CONFIG, IN " -R", false, false },
	/* command= of a key. */
	{ SHELL, NULL, NULL, "menu", COMMAND, KEY, "menu", true, false },
	{ SHELL, NULL, NULL, "", COMMAND, KEY, "", true, false },
	{ EXEC, "id", NULL, "menu", COMMAND, KEY, "menu", true, false },
	{ SUB, IN, NULL, "menu", COMMAND, KEY, "menu", false, false },
	{ SHELL, NULL, NULL, IN, REFUSAL, KEY, IN, true, false },
	{ EXEC, IN, NULL, IN, REFUSAL, KEY, IN, true, false },
	{ SUB, IN " -R", NULL, IN, SFTP, KEY, IN, false, false },
	{ SUB, EX, NULL, IN, SFTP, KEY, IN, false, false },
	/* Both: the administrator's counts. */
	{ SHELL, NULL, "menu", "key", COMMAND, CONFIG, "menu", false, false },
	{ EXEC, "id", "menu", IN, COMMAND, CONFIG, "menu", false, false },
	{ EXEC, "id", IN, "key", REFUSAL, CONFIG, IN, false, false },
	{ SUB, EX, IN, "key", SFTP, CONFIG, IN, false, false },
	{ SUB, IN, "menu", IN, COMMAND, CONFIG, "menu", false, false },
};

static void
every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *w = &rows[i];
		const struct session_request asked = {
			(enum session_kind)w->kind, w->asked
		};
		struct session_rules rules = { .config_command = w->config,
			.key_command = w->key, .user_rc = true };
		struct session_plan p = session_plan(&asked, &rules);

		print_message("row %zu\n", i);
		assert_int_equal(p.runs, w->runs);
		assert_int_equal(p.forced, w->forced);
		assert_text(p.command, w->command);
		assert_text(p.original, w->forced == FREE ? NULL : w->asked);
		assert_int_equal(p.user_rc, w->user_rc);
		assert_int_equal(p.signals, w->signals);
		rules.user_rc = false;
		assert_false(session_plan(&asked, &rules).user_rc);
		/* By a grant nothing runs but our SFTP server. */
		rules.user_rc = rules.granted = true;
		p = session_plan(&asked, &rules);
		assert_int_equal(p.runs, w->runs == SFTP ? SFTP : REFUSAL);
		assert_false(p.user_rc || p.signals);
	}
}

/* Of such a login the monitor takes no request but those of new keys: not one
 * that could have anything else run. */
static void
logins_for_sftp_only(void **state)
{
	static const char *const commands[] = { NULL, "internal-sftp",
		"internal-sftp -R", "internal-sftp-not", "/bin/internal-sftp",
		"true", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		for (size_t j = 0; j < ARRAY_LEN(commands); j++) {
			size_t counts = commands[i] != NULL ? i : j;
			const struct session_rules rules = {
				.config_command = commands[i],
				.key_command = commands[j] };
			bool only = session_is_sftp_only(commands[i],
			    commands[j]);

			assert_int_equal(only, counts == 1 || counts == 2);
			for (int kind = SHELL; kind <= SUB; kind++) {
				const struct session_request request = {
					.kind = (enum session_kind)kind,
					.command = "x" };
				enum session_runs runs =
				    session_plan(&request, &rules).runs;

				assert_int_equal(only,
				    runs == SESSION_RUNS_SFTP ||
					runs == SESSION_RUNS_REFUSAL);
			}
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row),
		cmocka_unit_test(logins_for_sftp_only) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
