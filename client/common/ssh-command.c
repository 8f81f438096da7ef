/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "client/common/ssh-command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/proc.h"

/* For each purpose, the options that keep ssh from doing anything else. The
 * user's options come behind them on the command line. The first value of a
 * keyword counts, but the flag -A wins over ForwardAgent=no here. */
static const char *const fixed[][8] = {
	[SSH_COMMAND_CARRY] = { "-x", "-oPermitLocalCommand=no",
	    "-oClearAllForwardings=yes", "-oRemoteCommand=none",
	    "-oRequestTTY=no", "-oControlMaster=no", "-oForwardAgent=no",
	    NULL },
	[SSH_COMMAND_REMOTE_COPY] = { "-x", "-oClearAllForwardings=yes", "-n",
	    "-oForwardAgent=no", NULL },
};

char *
ssh_command_find(void)
{
	char self[PATH_MAX], *path, *slash;

	if (proc_self_path(self, sizeof self) == 0) {
		slash = strrchr(self, '/');
		if (slash != NULL)
			*slash = '\0';
		xasprintf(&path, "%s/hpnssh", self);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	if (access(BINDIR "/hpnssh", X_OK) == 0)
		return xstrdup(BINDIR "/hpnssh");
	return xstrdup("hpnssh");
}

/* Adds a word to argv, and sets *err if that fails. This and the next two
 * functions do nothing if *err is set already, so that callers check once. A
 * value of NULL means that the flag is not wanted. */
static void
add(struct strlist *argv, const char *word, int *err)
{
	if (*err == 0)
		*err = strlist_add(argv, word);
}

static void
add_value(struct strlist *argv, const char *flag, const char *value, int *err)
{
	if (value == NULL)
		return;
	add(argv, flag, err);
	add(argv, value, err);
}

static void
add_if(struct strlist *argv, bool wanted, const char *word, int *err)
{
	if (wanted)
		add(argv, word, err);
}

int
ssh_command_line(struct strlist *argv, const struct ssh_command *c)
{
	char port[16];
	int err = 0;

	snprintf(port, sizeof port, "%d", c->port);
	add(argv, c->program, &err);
	for (size_t i = 0; fixed[c->purpose][i] != NULL; i++)
		add(argv, fixed[c->purpose][i], &err);
	add_if(argv, c->batch, "-oBatchMode=yes", &err);
	add_if(argv, c->clear, "-oNoneEnabled=yes", &err);
	add_if(argv, c->clear, "-oNoneSwitch=yes", &err);
	for (size_t i = 0; c->options != NULL && i < c->options->n; i++)
		add(argv, c->options->v[i], &err);
	add_value(argv, "-p", c->port != 0 ? port : NULL, &err);
	add_value(argv, "-l", c->user, &err);
	add_if(argv, c->subsystem, "-s", &err);
	add_value(argv, "--", c->host, &err);
	add(argv, c->command, &err);
	return err;
}

int
ssh_command_jump_line(struct strlist *argv, const struct ssh_command_jump *j)
{
	enum { VERBOSITY_MAX = 3 };
	int err = 0;

	add(argv, j->program, &err);
	add_value(argv, "-l", j->user, &err);
	add_value(argv, "-p", j->port, &err);
	add_value(argv, "-J", j->earlier, &err);
	add_value(argv, "-F", j->config_path, &err);
	for (int i = 0; i < MIN(j->verbosity, VERBOSITY_MAX); i++)
		add(argv, "-v", &err);
	add_if(argv, j->verbosity < 0, "-q", &err);
	add_if(argv, j->batch, "-oBatchMode=yes", &err);
	add_value(argv, "-W", j->target, &err);
	add_value(argv, "--", j->host, &err);
	return err;
}
