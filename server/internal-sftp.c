/* SPDX-License-Identifier: ISC */
/*
 * "internal-sftp": the SFTP engine in a child of the session process, so
 * that no program has to exist in a user's restricted root directory.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/session.h"
#include "xfer/sftp-server-main.h"

enum { ARGS_MAX = 32 };

bool
internal_sftp_is(const char *command)
{
	static const char name[] = "internal-sftp";
	size_t len = sizeof name - 1;

	return strncmp(command, name, len) == 0 &&
	    (command[len] == '\0' || command[len] == ' ' ||
		command[len] == '\t');
}

int
internal_sftp_run(const char *command, const struct user *user)
{
	char *text = xstrdup(command), *rest = text, *word;
	char *argv[ARGS_MAX + 1];
	int argc = 0, status;

	while ((word = strsep(&rest, " \t")) != NULL)
		if (*word != '\0' && argc < ARGS_MAX)
			argv[argc++] = word;
	argv[argc] = NULL;
	status = sftp_server_main(argc, argv, STDIN_FILENO, STDOUT_FILENO,
	    user->name, user->home);
	free(text);
	return status;
}
