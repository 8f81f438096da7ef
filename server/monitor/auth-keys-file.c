/* SPDX-License-Identifier: ISC */
/*
 * Finding a key in a user's authorized_keys file: read with the user's own
 * rights, and only if nobody else could have written it (StrictModes).
 */
#include "server/monitor/auth-keys.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/addr-match.h"
#include "server/privs.h"

static bool
only_owner_writes(const struct user *u, const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == u->uid) &&
	    (st->st_mode & 022) == 0;
}

/* The open file and every directory above it, up to the home directory or
 * the root. */
static bool
path_is_safe(const struct user *u, const char *path, int fd)
{
	char real[PATH_MAX], home[PATH_MAX];
	struct stat st;
	bool have_home = realpath(u->home, home) != NULL;
	char *dir;

	if (realpath(path, real) == NULL || fstat(fd, &st) == -1)
		return false;
	if (!S_ISREG(st.st_mode)) {
		log_info("User %s: %s is not a regular file", u->name, path);
		return false;
	}
	dir = real;
	for (;;) {
		if (!only_owner_writes(u, &st)) {
			log_info("Authentication refused: bad ownership or "
				 "modes for %s %s",
			    S_ISDIR(st.st_mode) ? "directory" : "file", dir);
			return false;
		}
		if (S_ISDIR(st.st_mode) &&
		    ((have_home && strcmp(dir, home) == 0) ||
			strcmp(dir, "/") == 0 || strcmp(dir, ".") == 0))
			return true;
		dir = dirname(dir);
		if (stat(dir, &st) == -1)
			return false;
	}
}

/* The policy of a line that is for this key: does it apply here and now? */
static bool
applies(const struct authkeys_query *q, const struct authkeys_options *o,
    const char *path, unsigned line_no)
{
	if (o->cert_authority)
		return false;
	if (o->permits.expires != 0 && time(NULL) >= o->permits.expires) {
		log_info("%s:%u: key has expired", path, line_no);
		return false;
	}
	if (o->from != NULL) {
		int r = addr_match_host(q->host, q->address, o->from);

		if (r < -1)
			log_error("%s:%u: bad network in from=\"%s\"", path,
			    line_no, o->from);
		else if (r != 1)
			log_info("Authentication tried for %s with correct "
				 "key but not from a permitted host "
				 "(host=%s, ip=%s).",
			    q->user->name, q->host, q->address);
		return r == 1;
	}
	return true;
}

static int
search_lines(const struct authkeys_query *q, FILE *f, const char *path,
    struct permits *permits, unsigned *line_no)
{
	struct authkeys_options o;
	char *line = NULL;
	const char *why;
	size_t cap = 0;
	int r = ERR_NOT_FOUND;

	for (*line_no = 1; getline(&line, &cap, f) != -1; (*line_no)++) {
		line[strcspn(line, "\r\n")] = '\0';
		r = authkeys_match_line(line, q->identity, &o, &why);
		if (r == 0 && applies(q, &o, path, *line_no))
			break;
		if (r == 0)
			authkeys_options_clear(&o);
		else if (r != ERR_NOT_FOUND)
			log_debug("%s:%u: %s", path, *line_no,
			    why != NULL ? why : err_text(r));
		r = ERR_NOT_FOUND;
	}
	free(line);
	if (r != 0)
		return r;
	*permits = o.permits;
	o.permits = (struct permits){ 0 };
	authkeys_options_clear(&o);
	if (!q->user_environment)
		strlist_clear(&permits->env);
	return 0;
}

int
authkeys_search(const struct authkeys_query *q, const char *path,
    struct permits *permits, unsigned *line_no)
{
	FILE *f = NULL;
	int fd = -1, r;

	*permits = (struct permits){ 0 };
	if ((r = privs_enter(q->user)) != 0)
		return r == ERR_DENIED ? ERR_NOT_FOUND : r;
	/* Non-blocking: opening a FIFO of that name must not block. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1) {
		r = ERR_NOT_FOUND;
		if (errno == ENOENT)
			log_debug("no %s", path);
		else
			log_debug("cannot open %s: %s", path, strerror(errno));
		goto out;
	}
	r = ERR_DENIED;
	if (q->strict_modes && !path_is_safe(q->user, path, fd))
		goto out;
	if ((f = fdopen(fd, "r")) == NULL) {
		r = ERR_SYSTEM;
		goto out;
	}
	fd = -1;
	r = search_lines(q, f, path, permits, line_no);
out:
	privs_leave();
	if (f != NULL)
		fclose(f);
	fd_close(&fd);
	return r;
}
