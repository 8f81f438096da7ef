/* SPDX-License-Identifier: ISC */
#include "client/session/local-command.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "compat/proc.h"

/* Blocks the signals of ^C and ^\. While the command has the terminal they are
 * meant for it, but the terminal sends them to this process too. drop_keys()
 * then throws away those that have arrived. */
static void
hold_keys(sigset_t *keys, sigset_t *before)
{
	sigemptyset(keys);
	sigaddset(keys, SIGINT);
	sigaddset(keys, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, keys, before);
}

static void
drop_keys(const sigset_t *keys, const sigset_t *before)
{
	proc_drop_signals(keys);
	(void)sigprocmask(SIG_SETMASK, before, NULL);
}

/* Runs the command by the user's shell and waits for it. Returns whether it
 * succeeded. mask: the signal mask for the command, if hold_keys() has changed
 * ours; else NULL. */
static bool
execute(const char *command, const sigset_t *mask)
{
	const char *shell = getenv("SHELL");
	int status = 0, r;
	pid_t pid;

	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	if ((pid = fork()) == 0) {
		if (mask != NULL) {
			signal(SIGINT, SIG_DFL);
			signal(SIGQUIT, SIG_DFL);
			(void)sigprocmask(SIG_SETMASK, mask, NULL);
		}
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
	sigset_t keys, before;

	if (*command == '\0')
		return;
	hold_keys(&keys, &before);
	(void)execute(command, &before);
	drop_keys(&keys, &before);
}
