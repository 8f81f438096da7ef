/* SPDX-License-Identifier: ISC */
/*
 * The environment of a session. A later value replaces an earlier one of the
 * same name. The order is chosen so that a client cannot replace the account's
 * own variables, and a user cannot replace what the administrator has set.
 */
#include "server/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/defaults.h"
#include "server/session/forward-x11.h"
#include "server/user.h"

#ifndef BINDIR
#define BINDIR "/usr/local/bin"
#endif
#define PATH_USER "/usr/local/bin:/usr/bin:/bin:/usr/games"
#define PATH_ROOT                                                             \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { ENV_FILE_MAX = 256 * 1024 };

struct env {
	char **v; /* v[n] == NULL */
	size_t n;
};

/* Sets a variable, NAME=value, and owns assignment from now on. */
static void
set_owned(struct env *e, char *assignment)
{
	size_t len = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < e->n; i++) {
		if (strncmp(e->v[i], assignment, len) != 0)
			continue;
		free(e->v[i]);
		e->v[i] = assignment;
		return;
	}
	e->v = xrecallocarray(e->v, e->n > 0 ? e->n + 1 : 0, e->n + 2,
	    sizeof *e->v);
	e->v[e->n++] = assignment;
}

static void set(struct env *e, const char *fmt, ...) printf_like(2, 3);

static void
set(struct env *e, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	if (s != NULL)
		set_owned(e, s);
}

static void
set_list(struct env *e, const struct strlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (strchr(list->v[i], '=') != NULL)
			set_owned(e, xstrdup(list->v[i]));
}

/* Sets PATH. It contains the directory of this suite's programs, wherever they
 * were installed. */
static void
set_path(struct env *e, const struct user *u)
{
	const char *base = u->uid == 0 ? PATH_ROOT : PATH_USER;
	bool there = false;
	char *copy = xstrdup(base), *pos = copy, *dir;

	while ((dir = strsep(&pos, ":")) != NULL)
		there = there || strcmp(dir, BINDIR) == 0;
	free(copy);
	set(e, "PATH=%s%s%s", base, there ? "" : ":", there ? "" : BINDIR);
}

static void
set_account(struct env *e, const struct session_start *s)
{
	const struct user *u = s->params->user;
	const char *tz = getenv("TZ");

	set(e, "USER=%s", u->name);
	set(e, "LOGNAME=%s", u->name);
	set(e, "HOME=%s", u->home);
	set_path(e, u);
	set(e, "MAIL=/var/mail/%s", u->name);
	set(e, "SHELL=%s", u->shell);
	if (tz != NULL)
		set(e, "TZ=%s", tz);
	if (s->term != NULL && s->term[0] != '\0')
		set(e, "TERM=%s", s->term);
	if (s->display != NULL)
		set(e, "DISPLAY=%s", s->display->display);
	if (s->agent_path != NULL)
		set(e, "SSH_AUTH_SOCK=%s", s->agent_path);
}

/* Sets the variables of ~/.ssh/environment that PermitUserEnvironment lets
 * through. The file has lines of NAME=value, and comments that begin with #. */
static void
set_from_file(struct env *e, const struct serve_params *p)
{
	char *path, *text, *pos, *line;
	struct buf b = { 0 };
	unsigned n = 0;

	if (p->conf->session.permit_user_environment == NULL)
		return;
	path = user_path(p->user, ".ssh/environment");
	if (file_read(path, &b, ENV_FILE_MAX) == 0 &&
	    (text = buf_dup_string(&b)) != NULL) {
		pos = text;
		while ((line = strsep(&pos, "\n")) != NULL) {
			char *name;
			bool ok;

			n++;
			line += strspn(line, " \t");
			if (*line == '#' || *line == '=' || *line == '\0')
				continue;
			if (strchr(line, '=') == NULL) {
				/* Standard error: the user sees the message. */
				fprintf(stderr, "Bad line %u in %.100s\n", n,
				    path);
				continue;
			}
			name = xstrndup(line, strcspn(line, "="));
			ok = server_conf_permits_variable(p->conf, name);
			free(name);
			if (ok)
				set_owned(e, xstrdup(line));
		}
		free(text);
	}
	buf_clear(&b);
	free(path);
}

static void
set_connection(struct env *e, const struct session_start *s)
{
	const struct peer *p = s->params->peer;

	set(e, "SSH_CLIENT=%s %u %u", p->address, p->port, p->local_port);
	set(e, "SSH_CONNECTION=%s %u %s %u", p->address, p->port,
	    p->local_address, p->local_port);
	if (s->tunnels != NULL)
		set(e, "SSH_TUNNEL=%s", s->tunnels);
	if (s->tty != NULL)
		set(e, "SSH_TTY=%s", s->tty);
	if (s->plan.original != NULL)
		set(e, "SSH_ORIGINAL_COMMAND=%s", s->plan.original);
	if (s->auth_info_path != NULL)
		set(e, "SSH_USER_AUTH=%s", s->auth_info_path);
}

char **
session_environment(const struct session_start *s)
{
	const struct serve_params *p = s->params;
	struct env e = { 0 };

	set_list(&e, s->env);
	set_account(&e, s);
	set_list(&e, &p->permits->env);
	set_from_file(&e, p);
	set_list(&e, p->login_env);
	set_list(&e, &p->conf->session.set_env);
	set_connection(&e, s);
	return e.v;
}

char *
session_auth_info(const struct serve_params *p)
{
	char *path;
	int fd;

	if (!p->conf->session.expose_auth_info)
		return NULL;
	path = xstrdup("/tmp/sshauth.XXXXXXXXXXXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd == -1 ||
	    fd_write_all(fd, buf_data(p->auth_info),
		buf_len(p->auth_info)) != 0) {
		log_error("cannot write %s: %s", path, strerror(errno));
		if (fd != -1)
			unlink(path);
		free(path);
		path = NULL;
	}
	fd_close(&fd);
	return path;
}
