/* SPDX-License-Identifier: ISC */
#include "client/local-command.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"

enum { KEYS = 2 };

/* What the keyboard sends to all of us while the command has the terminal is
 * meant for the command. */
static const int keys[KEYS] = { SIGINT, SIGQUIT };

static void
ignore_keys(struct sigaction old[KEYS])
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < KEYS; i++)
		(void)sigaction(keys[i], &ignore, &old[i]);
}

static void
heed_keys(const struct sigaction old[KEYS])
{
	for (size_t i = 0; i < KEYS; i++)
		(void)sigaction(keys[i], &old[i], NULL);
}

/* By the user's shell, and waits for it: did it succeed? keys_do: what the keys
 * do in the command; NULL: the same as here. */
static bool
execute(const char *command, const struct sigaction *keys_do)
{
	const char *shell = getenv("SHELL");
	int status = 0, r;
	pid_t pid;

	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	if ((pid = fork()) == 0) {
		if (keys_do != NULL)
			heed_keys(keys_do);
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execl(shell, shell, "-c", command, (char *)NULL);
		_exit(127);
	}
	r = pid == -1 ? ERR_SYSTEM : child_reap(pid, &status);
	return r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int
local_command_run(const struct client_conf *conf)
{
	char *command;
	int r;

	if (!conf->session.permit_local_command ||
	    conf->session.local_command == NULL)
		return 0;
	r = client_conf_expand(conf, CLIENT_TOKENS_LOCAL, "LocalCommand",
	    conf->session.local_command, &command);
	if (r < 0)
		return r;
	log_debug("running the local command: %s", command);
	if (!execute(command, NULL))
		log_error("LocalCommand did not succeed");
	free(command);
	return 0;
}

void
local_command_typed(const char *command)
{
	struct sigaction old[KEYS];

	if (*command == '\0')
		return;
	ignore_keys(old);
	(void)execute(command, old);
	heed_keys(old);
}
