/* SPDX-License-Identifier: ISC */
/* Commands that change or query single files on the server. */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "xfer/shell/sftp-shell-internal.h"

int
shell_pwd(struct shell *sh, const struct shell_call *call)
{
	(void)call;
	shell_print("Remote working directory: %s", sh->cwd);
	return SHELL_OK;
}

/* Makes a directory the working directory. Takes over path. */
static int
change_to(struct shell *sh, char *path)
{
	struct sftp_attrs attrs;
	char *real = NULL;
	int r;

	if (path == NULL)
		return ERR_NOMEM;
	r = sftp_call_name(sh->s, SFTP_REALPATH, path, &real);
	if (r == 0)
		r = sftp_call_stat(sh->s, real, true, &attrs);
	if (r == 0 && (attrs.flags & SFTP_A_MODE) &&
	    !S_ISDIR(attrs.mode)) {
		shell_error("Can't change directory: \"%s\" is not a directory",
		    real);
		r = SHELL_FAILED;
	} else if (r == 0) {
		free(sh->cwd);
		sh->cwd = real;
		real = NULL;
	} else {
		r = shell_status(r, "Can't change directory: \"%s\"", path);
	}
	free(real);
	free(path);
	return r;
}

int
shell_cd(struct shell *sh, const struct shell_call *call)
{
	return change_to(sh, call->n > 0 ?
	    shell_absolute(sh, call->words[0].text) : strdup(sh->start));
}

int
shell_go(struct shell *sh, const char *path, const char *local)
{
	struct shell_word words[2] = { { (char *)path, (char *)path },
		{ (char *)local, NULL } };
	struct shell_call call = { .words = words, .n = local ? 2 : 1 };
	struct strlist names = { NULL, 0 };
	struct sftp_attrs attrs;
	int r = shell_match(sh, path, &names);

	if (r == 0 && names.n == 1 && local == NULL) {
		r = sftp_call_stat(sh->s, names.v[0], true, &attrs);
		if (r == 0 && (attrs.flags & SFTP_A_MODE) &&
		    S_ISDIR(attrs.mode)) {
			if (!sh->p.quiet)
				shell_print("Changing to: %s", names.v[0]);
			r = change_to(sh, strdup(names.v[0]));
			strlist_clear(&names);
			return r;
		}
	}
	strlist_clear(&names);
	if (r >= 0)
		r = shell_get(sh, &call);
	return r == SHELL_OK ? SHELL_QUIT : r;
}

/* ---- one path ----------------------------------------------------------- */

int
shell_mkdir(struct shell *sh, const struct shell_call *call)
{
	struct sftp_attrs attrs = { .flags = SFTP_A_MODE, .mode = 0777 };
	char *path = shell_absolute(sh, call->words[0].text);
	int r;

	if (path == NULL)
		return ERR_NOMEM;
	r = shell_status(sftp_call_mkdir(sh->s, path, &attrs),
	    "remote mkdir \"%s\"", path);
	free(path);
	return r;
}

int
shell_rmdir(struct shell *sh, const struct shell_call *call)
{
	char *path = shell_absolute(sh, call->words[0].text);
	int r;

	if (path == NULL)
		return ERR_NOMEM;
	r = shell_status(sftp_call_path(sh->s, SFTP_RMDIR, path),
	    "remote rmdir \"%s\"", path);
	free(path);
	return r;
}

/* ---- all that match ----------------------------------------------------- */

typedef int (*each_fn)(struct shell *sh, const struct shell_call *call,
    const char *path);

static int
for_each(struct shell *sh, const struct shell_call *call, each_fn fn)
{
	struct strlist names = { NULL, 0 };
	int r = shell_match(sh, call->words[0].pattern, &names);

	for (size_t i = 0; i < names.n && r >= 0 && !shell_interrupted(sh);
	    i++)
		r = shell_worse(r, fn(sh, call, names.v[i]));
	strlist_clear(&names);
	return r;
}

static int
set(struct shell *sh, const struct shell_call *call, const char *path,
    const char *what, const struct sftp_attrs *attrs)
{
	bool follow = !call->flags['h'];

	if (!sh->p.quiet)
		shell_print("Changing %s on %s", what, path);
	return shell_status(sftp_call_setstat(sh->s, path, follow, attrs),
	    "remote %s \"%s\"", follow ? "setstat" : "lsetstat", path);
}

static int
chmod_one(struct shell *sh, const struct shell_call *call, const char *path)
{
	struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = call->number };

	return set(sh, call, path, "mode", &attrs);
}

int
shell_chmod(struct shell *sh, const struct shell_call *call)
{
	return for_each(sh, call, chmod_one);
}

/* SFTP sets user and group together, so the one that is to stay is looked up
 * first. */
static int
change_owner(struct shell *sh, const struct shell_call *call,
    const char *path, bool group)
{
	struct sftp_attrs attrs;
	int r = sftp_call_stat(sh->s, path, !call->flags['h'], &attrs);

	if (r != 0)
		return shell_status(r, "remote stat \"%s\"", path);
	if ((attrs.flags & SFTP_A_OWNER) == 0) {
		shell_error("%s: the server does not tell the owner", path);
		return SHELL_FAILED;
	}
	attrs.flags = SFTP_A_OWNER;
	if (group)
		attrs.gid = call->number;
	else
		attrs.uid = call->number;
	return set(sh, call, path, group ? "group" : "owner", &attrs);
}

static int
chown_one(struct shell *sh, const struct shell_call *call, const char *path)
{
	return change_owner(sh, call, path, false);
}

static int
chgrp_one(struct shell *sh, const struct shell_call *call, const char *path)
{
	return change_owner(sh, call, path, true);
}

int
shell_chown(struct shell *sh, const struct shell_call *call)
{
	return for_each(sh, call, chown_one);
}

int
shell_chgrp(struct shell *sh, const struct shell_call *call)
{
	return for_each(sh, call, chgrp_one);
}

/* ---- two paths ---------------------------------------------------------- */

typedef int (*pair_fn)(struct shell *sh, const struct shell_call *call,
    const char *from, const char *to);

static int
with_pair(struct shell *sh, const struct shell_call *call, pair_fn fn)
{
	char *from = shell_absolute(sh, call->words[0].text);
	char *to = shell_absolute(sh, call->words[1].text);
	int r = from != NULL && to != NULL ? fn(sh, call, from, to) :
					     ERR_NOMEM;

	free(from);
	free(to);
	return r;
}

static int
rename_pair(struct shell *sh, const struct shell_call *call,
    const char *from, const char *to)
{
	int r;

	if (!call->flags['l'] && sftp_has(sh->s, SFTP_EXT_POSIX_RENAME))
		r = sftp_call_ext(sh->s, SFTP_EXT_POSIX_RENAME, from, to);
	else
		r = sftp_call_paths(sh->s, SFTP_RENAME, from, to);
	return shell_status(r, "remote rename \"%s\" to \"%s\"", from, to);
}

int
shell_rename(struct shell *sh, const struct shell_call *call)
{
	return with_pair(sh, call, rename_pair);
}

/* The target of a symbolic link is text: it is not made absolute. */
static int
symlink_pair(struct shell *sh, const struct shell_call *call,
    const char *from, const char *to)
{
	const char *target = call->words[0].text;

	(void)from;
	return shell_status(sftp_call_paths(sh->s, SFTP_SYMLINK, target, to),
	    "remote symlink file \"%s\" to \"%s\"", target, to);
}

static int
link_pair(struct shell *sh, const struct shell_call *call, const char *from,
    const char *to)
{
	(void)call;
	return shell_status(sftp_call_ext(sh->s, SFTP_EXT_HARDLINK, from, to),
	    "remote link \"%s\" to \"%s\"", from, to);
}

int
shell_symlink(struct shell *sh, const struct shell_call *call)
{
	return with_pair(sh, call, symlink_pair);
}

int
shell_ln(struct shell *sh, const struct shell_call *call)
{
	return with_pair(sh, call, call->flags['s'] ? symlink_pair :
						      link_pair);
}

static int
copy_pair(struct shell *sh, const struct shell_call *call, const char *from,
    const char *to)
{
	struct sftp_attrs attrs;
	const char *failed;
	int r = sftp_call_stat(sh->s, from, true, &attrs);

	(void)call;
	if (r != 0)
		return shell_status(r, "remote stat \"%s\"", from);
	if ((attrs.flags & SFTP_A_MODE) && !S_ISREG(attrs.mode)) {
		shell_error("Cannot copy non-regular file: %s", from);
		return SHELL_FAILED;
	}
	attrs.flags &= SFTP_A_MODE;
	attrs.mode &= 0777;
	r = sftp_call_copy(sh->s, from, to, &attrs, &failed);
	if (failed != NULL)
		return shell_status(r, "remote open \"%s\"", failed);
	return shell_status(r, "remote copy \"%s\" to \"%s\"", from, to);
}

int
shell_copy(struct shell *sh, const struct shell_call *call)
{
	return with_pair(sh, call, copy_pair);
}
