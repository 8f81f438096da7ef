/* SPDX-License-Identifier: ISC */
/* Commands that act on this side. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "xfer/shell/sftp-shell-internal.h"

/* Runs a command in the user's shell, or if it is empty an interactive shell.
 * An interrupt (^C) meanwhile is meant for that shell, and is forgotten. */
static int
run_shell(struct shell *sh, const char *command)
{
	const char *shell = getenv("SHELL");
	int status = 0;
	pid_t pid;

	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		if (*command != '\0')
			execl(shell, shell, "-c", command, (char *)NULL);
		else
			execl(shell, shell, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		(void)!child_reap(pid, &status);
	/* An error of the session is reported by the next command. */
	(void)!sftp_step(sh->s, false, 0);
	if (sh->p.interrupted != NULL)
		*sh->p.interrupted = false;
	if (pid < 0) {
		shell_error("%s: %s", shell, strerror(errno));
		return SHELL_FAILED;
	}
	if (WIFSIGNALED(status))
		shell_error("Shell died of signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		shell_error("Shell exited with status %d",
		    WEXITSTATUS(status));
	return status == 0 ? SHELL_OK : SHELL_FAILED;
}

int
shell_escape(struct shell *sh, const struct shell_call *call)
{
	return run_shell(sh, call->rest + strspn(call->rest, " \t"));
}

int
shell_lls(struct shell *sh, const struct shell_call *call)
{
	char *command;
	int r;

	if (asprintf(&command, "ls%s", call->rest) < 0)
		return ERR_NOMEM;
	r = run_shell(sh, command);
	free(command);
	return r;
}

int
shell_lcd(struct shell *sh, const struct shell_call *call)
{
	const char *path = call->n > 0 ? call->words[0].text : "~";
	const char *home = getenv("HOME");
	char *whole;
	int r;

	(void)sh;
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/') &&
	    home != NULL)
		r = asprintf(&whole, "%s%s", home, path + 1);
	else
		r = asprintf(&whole, "%s", path);
	if (r < 0)
		return ERR_NOMEM;
	r = chdir(whole);
	if (r != 0)
		shell_error("Couldn't change local directory to \"%s\": %s",
		    path, strerror(errno));
	free(whole);
	return r == 0 ? SHELL_OK : SHELL_FAILED;
}

int
shell_lmkdir(struct shell *sh, const struct shell_call *call)
{
	const char *path = call->words[0].text;

	(void)sh;
	if (mkdir(path, 0777) == 0)
		return SHELL_OK;
	shell_error("Couldn't create local directory \"%s\": %s", path,
	    strerror(errno));
	return SHELL_FAILED;
}

int
shell_lpwd(struct shell *sh, const struct shell_call *call)
{
	char path[PATH_MAX];

	(void)sh;
	(void)call;
	if (getcwd(path, sizeof path) == NULL) {
		shell_error("Couldn't get local directory: %s",
		    strerror(errno));
		return SHELL_FAILED;
	}
	shell_print("Local working directory: %s", path);
	return SHELL_OK;
}

int
shell_lumask(struct shell *sh, const struct shell_call *call)
{
	(void)sh;
	umask((mode_t)call->number);
	shell_print("Local umask: %03o", (unsigned)call->number);
	return SHELL_OK;
}
