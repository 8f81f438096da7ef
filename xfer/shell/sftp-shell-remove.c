/* SPDX-License-Identifier: ISC */
/*
 * rm: files, and with -r trees. The content of a directory is removed with many
 * requests at a time. A link is removed itself, and nothing behind it. (SFTP
 * names directories only by paths: a user of the server who exchanges a
 * directory meanwhile can lead the requests elsewhere.)
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/shell/sftp-shell-internal.h"

enum { AT_ONCE = 64, DEPTH_MAX = 1024 };

/* ---- one directory ------------------------------------------------------ */

struct names {
	struct strlist files, dirs;
	int err;
};

static bool
take_name(void *arg, const char *name, const struct sftp_entry *entry)
{
	struct names *n = arg;
	bool dir = (entry->attrs.flags & SFTP_A_MODE) &&
	    S_ISDIR(entry->attrs.mode);

	n->err = strlist_add(dir ? &n->dirs : &n->files, name);
	return n->err == 0;
}

static void
names_clear(struct names *n)
{
	strlist_clear(&n->files);
	strlist_clear(&n->dirs);
}

/* One REMOVE request. */
struct removal {
	char *path; /* owned */
	size_t *left;
	int *result;
};

static void
removed(void *arg, const struct sftp_reply *reply)
{
	struct removal *r = arg;

	(*r->left)--;
	if (reply->err == 0 && reply->status != SFTP_OK) {
		shell_error("remote delete %s: %s", r->path, reply->words);
		*r->result = SHELL_FAILED;
	}
}

static int
remove_some(struct shell *sh, const char *dir, char *const *names, size_t n)
{
	struct removal asked[AT_ONCE];
	size_t left = 0, begun = 0;
	int result = SHELL_OK;

	for (; begun < n; begun++) {
		asked[begun] = (struct removal){ str_join_path(dir,
			names[begun]), &left, &result };
		if (asked[begun].path == NULL)
			break;
		left++;
		sftp_path_request(sh->s, SFTP_REMOVE, asked[begun].path,
		    removed, &asked[begun]);
	}
	while (left > 0 && sftp_step(sh->s, false, -1) >= 0)
		continue;
	for (size_t i = 0; i < begun; i++)
		free(asked[i].path);
	if (sftp_error(sh->s) < 0)
		return sftp_error(sh->s);
	return begun < n ? ERR_NOMEM : result;
}

/* ---- trees -------------------------------------------------------------- */

static int remove_tree(struct shell *sh, const char *path, unsigned depth);

static int
empty(struct shell *sh, const char *path, const struct names *in,
    unsigned depth)
{
	int r = SHELL_OK;
	char *sub;

	for (size_t i = 0; i < in->files.n && r >= 0 &&
	     !shell_interrupted(sh); i += AT_ONCE)
		r = shell_worse(r, remove_some(sh, path, in->files.v + i,
		    MIN(in->files.n - i, (size_t)AT_ONCE)));
	for (size_t i = 0; i < in->dirs.n && r >= 0 && !shell_interrupted(sh);
	     i++) {
		if ((sub = str_join_path(path, in->dirs.v[i])) == NULL)
			return ERR_NOMEM;
		r = shell_worse(r, remove_tree(sh, sub, depth + 1));
		free(sub);
	}
	return r;
}

/* Removes the directory `path`, which must be no link, and all that is in
 * it. */
static int
remove_tree(struct shell *sh, const char *path, unsigned depth)
{
	struct names in = { .err = 0 };
	int r;

	if (depth == DEPTH_MAX) {
		shell_error("remote delete %s: too deep", path);
		return SHELL_FAILED;
	}
	r = sftp_call_list(sh->s, path, take_name, &in);
	if (in.err < 0)
		r = in.err;
	r = r != 0 ? shell_status(r, "remote readdir(\"%s\")", path) :
		     empty(sh, path, &in, depth);
	names_clear(&in);
	/* If something is left in the directory, the error was shown
	 * already. */
	if (r != SHELL_OK || shell_interrupted(sh))
		return r < 0 ? r : SHELL_FAILED;
	return shell_status(sftp_call_path(sh->s, SFTP_RMDIR, path),
	    "remote rmdir \"%s\"", path);
}

static bool
is_tree(struct shell *sh, const char *path)
{
	struct sftp_attrs a;

	return sftp_call_stat(sh->s, path, false, &a) == 0 &&
	    (a.flags & SFTP_A_MODE) && S_ISDIR(a.mode);
}

/* Is it "/", or is its last part "." or ".."? Such names must never be removed
 * as trees, as by "rm -r dir/..". */
static bool
is_above(const char *path)
{
	size_t end = strlen(path), len;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (len = 0; len < end && path[end - 1 - len] != '/';)
		len++;
	return len == 0 || (len == 1 && path[end - 1] == '.') ||
	    (len == 2 && path[end - 1] == '.' && path[end - 2] == '.');
}

static int
remove_one(struct shell *sh, bool trees, const char *path)
{
	if (!sh->p.quiet)
		shell_print("Removing %s", path);
	if (trees && is_tree(sh, path)) {
		if (!is_above(path))
			return remove_tree(sh, path, 0);
		shell_error("remote delete %s: a directory is removed by its "
		    "name", path);
		return SHELL_FAILED;
	}
	return shell_status(sftp_call_path(sh->s, SFTP_REMOVE, path),
	    "remote delete %s", path);
}

int
shell_rm(struct shell *sh, const struct shell_call *call)
{
	struct strlist names = { NULL, 0 };
	int r = shell_match(sh, call->words[0].pattern, &names);

	for (size_t i = 0; i < names.n && r >= 0 && !shell_interrupted(sh);
	    i++)
		r = shell_worse(r, remove_one(sh, call->flags['r'],
		    names.v[i]));
	strlist_clear(&names);
	return r;
}
