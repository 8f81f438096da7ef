/* SPDX-License-Identifier: ISC */
#include "client/local-command.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"

int
local_command_run(const struct client_conf *conf)
{
	const char *shell = getenv("SHELL");
	char *command;
	pid_t pid;
	int r, status;

	if (!conf->session.permit_local_command ||
	    conf->session.local_command == NULL)
		return 0;
	r = client_conf_expand(conf, CLIENT_TOKENS_LOCAL, "LocalCommand",
	    conf->session.local_command, &command);
	if (r < 0)
		return r;
	log_debug("running the local command: %s", command);
	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	if ((pid = fork()) == 0) {
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execl(shell, shell, "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid == -1 || child_reap(pid, &status) != 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		log_error("LocalCommand did not succeed");
	free(command);
	return 0;
}
