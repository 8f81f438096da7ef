/* SPDX-License-Identifier: ISC */
#include "server/session/chroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/tokens.h"

static char *
expand(const char *pattern, const struct user *u)
{
	char uid[24], *path, bad;
	const struct token tokens[] = { { 'h', u->home }, { 'U', uid },
		{ 'u', u->name } };

	snprintf(uid, sizeof uid, "%u", (unsigned)u->uid);
	if (tokens_expand(pattern, tokens, ARRAY_LEN(tokens), &path, &bad) != 0)
		fatal("ChrootDirectory \"%s\": bad token", pattern);
	if (path[0] != '/')
		fatal("ChrootDirectory \"%s\" is not an absolute path", path);
	return path;
}

static void
check(const char *dir)
{
	struct stat st;

	if (stat(dir, &st) == -1)
		fatal("chroot path \"%s\": %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		fatal("chroot path \"%s\" is not a directory", dir);
	if (st.st_uid != 0 || (st.st_mode & 022) != 0)
		fatal("bad ownership or modes for chroot directory \"%s\"",
		    dir);
}

/* Checks path and all directories above it, from the root on. */
static void
check_all(const char *path)
{
	char *part = xstrdup(path);

	check("/");
	for (size_t i = 1; part[i] != '\0'; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		check(part);
		part[i] = '/';
	}
	check(part);
	free(part);
}

void
chroot_enter(const char *pattern, const struct user *u)
{
	char *path, *real;

	if (geteuid() != 0)
		fatal("ChrootDirectory needs a server that runs as root");
	path = expand(pattern, u);
	check_all(path);
	/* A symbolic link in path leads to directories that were not checked
	 * yet. */
	if ((real = realpath(path, NULL)) == NULL)
		fatal("chroot path \"%s\": %s", path, strerror(errno));
	check_all(real);
	log_debug("root directory becomes %s", real);
	if (chdir(real) == -1 || chroot(real) == -1 || chdir("/") == -1)
		fatal("chroot \"%s\": %s", real, strerror(errno));
	free(real);
	free(path);
}
