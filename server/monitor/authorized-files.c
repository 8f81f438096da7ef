/* SPDX-License-Identifier: ISC */
#include "server/monitor/authorized-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/tokens.h"
#include "server/privs.h"

/* ---- which files ------------------------------------------------------- */

/* Quotes a text so that as a pattern of glob(3) it matches only itself. Caller
 * frees. */
static char *
quote_pattern(const char *s)
{
	char *out = xmalloc(2 * strlen(s) + 1), *to = out;

	for (; *s != '\0'; s++) {
		if (strchr("*?[]{}~\\", *s) != NULL)
			*to++ = '\\';
		*to++ = *s;
	}
	*to = '\0';
	return out;
}

/* Expands the tokens of pattern and makes it an absolute path. NULL, after a
 * log line: it has an unknown token. Caller frees. */
static char *
expand(const struct user *u, const char *home, const char *name,
    const char *keyword, const char *pattern)
{
	char uid[24], *path = NULL, *full, bad;
	const char *below;

	snprintf(uid, sizeof uid, "%u", (unsigned)u->uid);
	{
		const struct token tokens[] = { { 'h', home }, { 'U', uid },
			{ 'u', name } };

		if (tokens_expand(pattern, tokens, ARRAY_LEN(tokens), &path,
			&bad) != 0) {
			log_error("%s \"%s\": bad token", keyword, pattern);
			return NULL;
		}
	}
	if (path[0] == '/')
		return path;
	below = str_has_prefix(path, "~/") ? path + 2 : path;
	xasprintf(&full, "%s/%s", home, below);
	free(path);
	return full;
}

static int
find_files(const char *keyword, const char *pattern, struct strlist *paths)
{
	glob_t found;
	int r = 0, res = glob(pattern, 0, NULL, &found);

	if (res == GLOB_NOMATCH)
		log_debug("%s: there is no %s", keyword, pattern);
	else if (res != 0)
		r = ERR_SYSTEM;
	for (size_t i = 0; res == 0 && r == 0 && i < found.gl_pathc; i++) {
		if (i == AUTHFILES_MAX) {
			log_error("%s \"%s\": only the first %d files count",
			    keyword, pattern, (int)AUTHFILES_MAX);
			break;
		}
		r = strlist_add(paths, found.gl_pathv[i]);
	}
	globfree(&found);
	return r;
}

int
authfiles_paths(const struct user *u, const char *keyword,
    const char *pattern, struct strlist *paths)
{
	bool many = strpbrk(pattern, "*?[") != NULL;
	char *home = many ? quote_pattern(u->home) : xstrdup(u->home);
	char *name = many ? quote_pattern(u->name) : xstrdup(u->name);
	char *full = expand(u, home, name, keyword, pattern);
	int r = ERR_SYNTAX;

	if (full != NULL && !many) {
		r = strlist_add(paths, full);
	} else if (full != NULL) {
		r = privs_enter(u);
		if (r == 0) {
			r = find_files(keyword, full, paths);
			privs_leave();
		}
	}
	free(full);
	free(home);
	free(name);
	return r;
}

/* ---- who could have written them --------------------------------------- */

/* Whether only the owner and the superuser may write to the file. owner NULL:
 * only the superuser. */
static bool
only_owner_writes(const struct user *owner, const struct stat *st)
{
	return (st->st_uid == 0 ||
		   (owner != NULL && st->st_uid == owner->uid)) &&
	    (st->st_mode & 022) == 0;
}

static bool
is_top(const char *dir, const char *top)
{
	return strcmp(dir, "/") == 0 || strcmp(dir, ".") == 0 ||
	    (top != NULL && strcmp(dir, top) == 0);
}

/* Whether the file real, with the status st, and every directory above it, up
 * to top or the root, may be written to only by owner and the superuser.
 * Changes real. *why is set if not; caller frees it. */
static bool
path_is_safe(const struct user *owner, char *real, struct stat st,
    const char *top, char **why)
{
	char *at = real;

	for (;;) {
		if (!only_owner_writes(owner, &st)) {
			xasprintf(why, "bad ownership or modes for %s %s",
			    S_ISDIR(st.st_mode) ? "directory" : "file", at);
			return false;
		}
		if (S_ISDIR(st.st_mode) && is_top(at, top))
			return true;
		at = dirname(at);
		if (stat(at, &st) == -1 || !S_ISDIR(st.st_mode)) {
			xasprintf(why, "cannot look at %s", at);
			return false;
		}
	}
}

static bool
user_file_is_safe(const struct user *u, const char *path,
    const struct stat *st)
{
	char real[PATH_MAX], home[PATH_MAX], *why;
	bool have_home = realpath(u->home, home) != NULL;

	if (realpath(path, real) == NULL)
		return false;
	if (path_is_safe(u, real, *st, have_home ? home : NULL, &why))
		return true;
	log_info("Authentication refused: %s", why);
	free(why);
	return false;
}

FILE *
authfiles_open(const struct user *u, const char *path, bool strict)
{
	struct stat st;
	FILE *f = NULL;
	/* Non-blocking, because opening a FIFO would wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1 && errno == ENOENT)
		log_debug("no %s", path);
	else if (fd == -1)
		log_debug("cannot open %s: %s", path, strerror(errno));
	else if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		log_info("User %s: %s is not a regular file", u->name, path);
	else if (!strict || user_file_is_safe(u, path, &st))
		f = fdopen(fd, "r");
	if (f == NULL)
		fd_close(&fd);
	return f;
}

bool
authfiles_only_root_writes(const char *path, char **real, char **why)
{
	char found[PATH_MAX], at[PATH_MAX];
	struct stat st;

	*real = NULL;
	if (realpath(path, found) == NULL || stat(found, &st) == -1) {
		xasprintf(why, "%s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xasprintf(why, "not a regular file");
		return false;
	}
	memcpy(at, found, sizeof at);
	if (!path_is_safe(NULL, at, st, NULL, why))
		return false;
	*real = xstrdup(found);
	return true;
}

/* ---- lines ------------------------------------------------------------- */

enum {
	FIRST_ROOM = 1024, /* bytes: most lines are shorter */
};

void
authlines_init(struct authlines *l, FILE *f)
{
	*l = (struct authlines){ .f = f, .room = FIRST_ROOM };
	l->text = xmalloc(l->room);
}

void
authlines_clear(struct authlines *l)
{
	free(l->text);
	*l = (struct authlines){ 0 };
}

/* Makes room for n bytes, one more each time. Room for the longest line from
 * the beginning would cost each login a megabyte of new pages, twice: the
 * monitor has malloc() fill what it gives and what it gets back
 * (libc_wipe_freed()). */
static void
make_room(struct authlines *l, size_t n)
{
	if (n <= l->room)
		return;
	l->text = xrecallocarray(l->text, l->room, 2 * l->room, 1);
	l->room *= 2;
}

bool
authlines_next(struct authlines *l)
{
	bool too_long = false;
	size_t n = 0;
	int c;

	while ((c = getc(l->f)) != EOF && c != '\n') {
		if (n == AUTHFILES_LINE_MAX - 1) {
			too_long = true;
			continue;
		}
		make_room(l, n + 2);
		l->text[n++] = (char)c;
	}
	if (c == EOF && n == 0)
		return false;
	l->text[too_long ? 0 : n] = '\0';
	l->text[strcspn(l->text, "\r")] = '\0';
	l->number++;
	return true;
}
