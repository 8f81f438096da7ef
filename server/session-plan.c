/* SPDX-License-Identifier: ISC */
#include "server/session-plan.h"

#include <stddef.h>
#include <string.h>

/* Whether the command is internal-sftp, alone or with arguments. */
static bool
is_internal_sftp(const char *command)
{
	static const char name[] = "internal-sftp";
	size_t len = sizeof name - 1;

	return strncmp(command, name, len) == 0 &&
	    (command[len] == '\0' || command[len] == ' ' ||
		command[len] == '\t');
}

/* What runs if no command is forced. The command is the client's, or the one
 * that sshd_config has for a subsystem. Only the latter can name our SFTP
 * server: a command of the client is run by the user's shell, whatever it is
 * called. */
static enum session_runs
runs_freely(const struct session_request *request)
{
	if (request->kind == SESSION_SHELL)
		return SESSION_RUNS_LOGIN_SHELL;
	if (request->kind == SESSION_SUBSYSTEM &&
	    is_internal_sftp(request->command))
		return SESSION_RUNS_SFTP;
	return SESSION_RUNS_COMMAND;
}

/* What runs if a command is forced. If that is our SFTP server, only a request
 * for a subsystem gets it. Another client does not speak SFTP: it gets a text
 * that says that there is nothing else. */
static enum session_runs
runs_forced(enum session_kind kind, const char *command)
{
	if (!is_internal_sftp(command))
		return SESSION_RUNS_COMMAND;
	return kind == SESSION_SUBSYSTEM ? SESSION_RUNS_SFTP :
					   SESSION_RUNS_REFUSAL;
}

struct session_plan
session_plan(const struct session_request *request,
    const struct session_rules *rules)
{
	bool subsystem = request->kind == SESSION_SUBSYSTEM;
	struct session_plan plan = { .forced = SESSION_FORCED_NOT,
		.command = request->command };

	if (rules->config_command != NULL) {
		plan.forced = SESSION_FORCED_BY_CONFIG;
		plan.command = rules->config_command;
	} else if (rules->key_command != NULL) {
		plan.forced = SESSION_FORCED_BY_KEY;
		plan.command = rules->key_command;
	}
	if (plan.forced == SESSION_FORCED_NOT) {
		plan.runs = runs_freely(request);
	} else {
		plan.runs = runs_forced(request->kind, plan.command);
		plan.original = request->command;
	}
	/* A session by a grant may run our own SFTP server only, because that
	 * one keeps to the grant's scope. */
	if (rules->granted && plan.runs != SESSION_RUNS_SFTP)
		plan.runs = SESSION_RUNS_REFUSAL;
	/* With ForceCommand, only the administrator's command may run.
	 * ~/.ssh/rc does not, because whoever may write to the home directory
	 * chooses what it does. */
	plan.user_rc = rules->user_rc && !subsystem && !rules->granted &&
	    plan.forced != SESSION_FORCED_BY_CONFIG;
	plan.signals = plan.forced == SESSION_FORCED_NOT && !subsystem &&
	    !rules->granted;
	return plan;
}

bool
session_is_sftp_only(const char *config_command, const char *key_command)
{
	const char *forced = config_command != NULL ? config_command :
						      key_command;

	return forced != NULL && is_internal_sftp(forced);
}
