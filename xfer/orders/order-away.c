/* SPDX-License-Identifier: ISC */
/*
 * What goes from the target: it is deleted, or makes room for something else.
 * It must still be what the plan has seen. With a backup it is renamed, so it
 * is there under one name or the other at any time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/orders/ordered.h"

bool
xfer_away_init(struct xfer_away *a, struct xfer *x, const char *path,
    const struct sftp_attrs *was, const char *backup)
{
	*a = (struct xfer_away){ .x = x, .path = strdup(path),
		.knows = was != NULL };
	if (was != NULL) {
		a->was = *was;
		a->dir = S_ISDIR(was->mode);
	}
	if (a->path != NULL &&
	    (backup == NULL || (a->backup = strdup(backup)) != NULL))
		return true;
	xfer_away_clear(a);
	return false;
}

void
xfer_away_clear(struct xfer_away *a)
{
	free(a->path);
	free(a->backup);
	free(a->words);
	a->path = a->backup = a->words = NULL;
}

/* Is what was found still what it was? Times and sizes of directories change
 * with what is in them. */
static bool
is_still(const struct sftp_attrs *was, const struct sftp_attrs *found)
{
	uint32_t known = was->flags & found->flags;

	if (((was->mode ^ found->mode) & S_IFMT) != 0)
		return false;
	if ((known & SFTP_A_OWNER) && was->uid != found->uid)
		return false;
	if (S_ISDIR(was->mode))
		return true;
	return (!(known & SFTP_A_SIZE) || was->size == found->size) &&
	    (!(known & SFTP_A_TIMES) || was->mtime == found->mtime);
}

void
xfer_away_report(const struct xfer_away *a)
{
	if (a->end == XFER_AWAY_CHANGED)
		xfer_report(a->x, a->path,
		    "has changed since it was compared: left alone");
	else
		xfer_report(a->x, a->path, a->words != NULL ? a->words :
			sftp_status_text(SFTP_CONNECTION_LOST));
}

static void
end(struct xfer_away *a, enum xfer_away_end how)
{
	a->end = how;
	if (a->x->over)
		a->end = XFER_AWAY_FAILED;
	a->done(a);
}

static void
end_refused(struct xfer_away *a, const struct sftp_reply *reply)
{
	xfer_keep_words(&a->words, reply);
	end(a, XFER_AWAY_FAILED);
}

/* ---- at a server: look -------------------------------------------------- */

static void
seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;

	if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE) {
		a->end = XFER_AWAY_GONE;
	} else if (reply->err != 0 || reply->type != SFTP_ATTRS) {
		xfer_keep_words(&a->words, reply);
		a->end = XFER_AWAY_FAILED;
	} else if (!(reply->attrs.flags & SFTP_A_MODE) ||
	    !is_still(&a->was, &reply->attrs)) {
		a->end = XFER_AWAY_CHANGED;
	}
	a->looked(a);
}

void
xfer_away_look(struct xfer_away *a)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = a->path };

	a->end = XFER_AWAY_DONE;
	if (a->knows)
		xfer_request_path(a->x, &q, seen, a);
	else
		a->looked(a);
}

/* ---- at a server: to a backup ------------------------------------------- */

static void rename_it(struct xfer_away *a);

static void
backup_cleared(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;

	if (reply->err != 0)
		end_refused(a, reply);
	else
		rename_it(a);
}

static void make_parents(struct xfer_away *a);

static void
parent_made(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;

	(void)reply; /* mostly the directory was there; if it is missing, RENAME
		      * will fail */
	a->pending--;
	make_parents(a);
}

/* Makes the directories above the backup; each after the one before, where the
 * server keeps no order. */
static void
make_parents(struct xfer_away *a)
{
	struct xfer_stream *l = xfer_stream_first(a->x);
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = S_IRWXU };
	bool all = l != NULL && sftp_keeps_order(l->s);
	struct xfer_path_request q = { .type = SFTP_MKDIR, .attrs = &attrs };
	char *slash;

	if (a->x->over) {
		if (a->pending == 0)
			end(a, XFER_AWAY_FAILED);
		return;
	}
	a->pending++; /* so that no answer goes on before all are sent */
	while ((all || a->pending == 1) && (slash =
		strchr(a->backup + a->parents + 1, '/')) != NULL) {
		a->parents = (size_t)(slash - a->backup);
		*slash = '\0';
		q.path = a->backup;
		a->pending++;
		xfer_request_path(a->x, &q, parent_made, a);
		*slash = '/';
	}
	if (--a->pending == 0)
		rename_it(a);
}

/* RENAME has found no such file: was it the one that becomes the backup, or
 * could a directory above the backup not be made? */
static void
still_there(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;

	end(a, reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE ?
		XFER_AWAY_GONE : XFER_AWAY_FAILED);
}

static void
renamed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = a->backup };
	const struct xfer_path_request look = { .type = SFTP_LSTAT,
		.path = a->path };

	if (reply->err == 0 && reply->status == SFTP_OK) {
		end(a, XFER_AWAY_DONE);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE &&
	    !a->has_parents) {
		a->has_parents = true;
		make_parents(a);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE) {
		xfer_keep_words(&a->words, reply);
		xfer_request_path(a->x, &look, still_there, a);
	} else if (reply->err == 0 && reply->status == SFTP_FAILURE &&
	    !a->cleared && !xfer_has(a->x, SFTP_EXT_POSIX_RENAME)) {
		/* The RENAME of SFTP 3 replaces nothing: an older backup
		 * goes. */
		a->cleared = true;
		xfer_request_path(a->x, &q, backup_cleared, a);
	} else {
		end_refused(a, reply);
	}
}

/* Not repeated when its answer is lost: then it could be done to what has taken
 * the name. */
static void
rename_it(struct xfer_away *a)
{
	struct xfer_path_request q = { .type = SFTP_RENAME, .path = a->path,
		.second = a->backup, .once = true };

	if (xfer_has(a->x, SFTP_EXT_POSIX_RENAME)) {
		q.type = SFTP_EXTENDED;
		q.ext = SFTP_EXT_POSIX_RENAME;
	}
	xfer_request_path(a->x, &q, renamed, a);
}

/* ---- at a server: for good ---------------------------------------------- */

/* SFTP 3 has no status of its own for a directory that is not empty. */
static void
removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_away *a = arg;

	if (reply->err == 0 && reply->status == SFTP_OK)
		end(a, XFER_AWAY_DONE);
	else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE)
		end(a, XFER_AWAY_GONE);
	else if (reply->err == 0 && reply->status == SFTP_FAILURE && a->dir) {
		xfer_keep_words(&a->words, reply);
		end(a, XFER_AWAY_KEPT);
	} else
		end_refused(a, reply);
}

void
xfer_away_go(struct xfer_away *a)
{
	const struct xfer_path_request q = { .path = a->path,
		.type = a->dir ? SFTP_RMDIR : SFTP_REMOVE };

	if (a->backup != NULL && !a->dir)
		rename_it(a);
	else
		xfer_request_path(a->x, &q, removed, a);
}

/* ---- on this host ------------------------------------------------------- */

static int
rename_here(struct xfer_away *a, const struct xfer_below *backup,
    struct local_dir *at, const char *name)
{
	struct xfer_places *p = &a->x->orders->backups;
	struct local_dir *to;
	const char *second;
	int r, error;

	p->makes = true;
	to = backup->root != NULL ? xfer_place_of(p, backup, &second) :
	    local_place(a->x->local, backup->path, LOCAL_LINKS_OWN, &second);
	if (to == NULL)
		return -1;
	r = local_rename_to(at, name, to, second);
	error = errno;
	local_dir_unref(to);
	errno = error;
	return r;
}

static void
end_here(struct xfer_away *a, int error, bool renamed)
{
	a->end = XFER_AWAY_DONE;
	if (error == 0)
		return;
	free(a->words);
	a->words = strdup(local_error_text(error));
	if (error == ENOENT && (a->dir || !renamed))
		a->end = XFER_AWAY_GONE;
	else if (a->dir && (error == ENOTEMPTY || error == EEXIST ||
	    error == EBUSY))
		a->end = XFER_AWAY_KEPT;
	else
		a->end = XFER_AWAY_FAILED;
}

void
xfer_away_here(struct xfer_away *a, const struct xfer_below *backup,
    struct local_dir *at, const char *name)
{
	struct sftp_attrs found;
	struct stat st;
	int r;

	r = local_stat(at, name, LOCAL_LINKS_NONE, &st);
	if (r == 0) {
		sftp_attrs_from_stat(&found, &st);
		a->end = XFER_AWAY_CHANGED;
		if (a->knows && !is_still(&a->was, &found))
			return;
		if (a->only_looks)
			r = 0;
		else if (a->dir)
			r = local_remove_dir(at, name);
		else if (backup != NULL)
			r = rename_here(a, backup, at, name);
		else
			r = local_remove(at, name);
	} else if (errno == ENOENT) {
		a->end = XFER_AWAY_GONE;
		return;
	}
	end_here(a, r == 0 ? 0 : errno, backup != NULL);
}
