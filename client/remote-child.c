/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "client/remote-child.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

char *
remote_find_ssh(void)
{
	char self[PATH_MAX], *path, *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n > 0) {
		self[n] = '\0';
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

static void
add(struct strlist *l, const char *arg)
{
	if (strlist_add(l, arg) < 0)
		fatal("%s", err_text(ERR_NOMEM));
}

/* What keeps ssh from doing more than to carry bytes. -A behind it counts. */
void
remote_ssh_begin(struct strlist *argv, const char *program)
{
	static const char *const fixed[] = { "-x", "-oPermitLocalCommand=no",
		"-oClearAllForwardings=yes", "-oRemoteCommand=none",
		"-oRequestTTY=no", "-oForwardAgent=no" };

	add(argv, program);
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		add(argv, fixed[i]);
}

void
remote_ssh_way(struct strlist *argv, const struct strlist *options, int port,
    const char *user)
{
	char number[16];

	for (size_t i = 0; options != NULL && i < options->n; i++)
		add(argv, options->v[i]);
	if (port != 0) {
		snprintf(number, sizeof number, "%d", port);
		add(argv, "-p");
		add(argv, number);
	}
	if (user != NULL) {
		add(argv, "-l");
		add(argv, user);
	}
}

static void
ssh_command(struct strlist *argv, const struct remote_params *p)
{
	const char *subsystem = p->subsystem != NULL ? p->subsystem : "sftp";

	remote_ssh_begin(argv, p->program);
	if (p->clear) {
		add(argv, "-oNoneEnabled=yes");
		add(argv, "-oNoneSwitch=yes");
	}
	remote_ssh_way(argv, p->options, p->port, p->user);
	if (strchr(subsystem, '/') == NULL)
		add(argv, "-s");
	add(argv, "--");
	add(argv, p->host);
	add(argv, subsystem);
}

int
remote_child_command(struct strlist *argv, const struct remote_params *p)
{
	if (p->server == NULL) {
		ssh_command(argv, p);
	} else if (strlist_split(argv, p->server, " ") < 0 || argv->n == 0) {
		log_error("%s: not a command", p->server);
		return ERR_SYNTAX;
	}
	for (size_t i = 0; i < argv->n; i++)
		log_debug("program argument %zu: %s", i, argv->v[i]);
	return 0;
}
