/* SPDX-License-Identifier: ISC */
/*
 * Directories. One that is found waits (in x->waiting, last found first);
 * an upload's is made on the server before anything in it is opened; it is
 * then listed, and what it holds is queued. It ends when all below it has
 * ended: then its attributes are set, for until then they change.
 *
 * A server's listing is hostile until checked: names with '/' or of "." and
 * ".." are refused, depth and number are limited.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/transfer-int.h"

enum {
	MODE_OWNER = 0700,
	READS_MAX = 4, /* READDIR of one directory under way */
	REQUESTS_MAX = 8192,
};

char *
xfer_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path;

	if (asprintf(&path, "%s%s%s", dir,
	    len > 0 && dir[len - 1] == '/' ? "" : "/", name) < 0)
		return NULL;
	return path;
}

static void
dir_free(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	TAILQ_REMOVE(&x->all_dirs, d, all);
	x->dirs--;
	if (d->stream != NULL)
		closedir(d->stream);
	free(d->local);
	free(d->remote);
	free(d);
}

void
xfer_dirs_free(struct xfer *x)
{
	struct xfer_dir *d;

	while ((d = TAILQ_FIRST(&x->all_dirs)) != NULL)
		dir_free(d);
}

/* --- the end of a directory --- */

static void
dir_gone(struct xfer_dir *d)
{
	struct xfer_dir *parent = d->parent;

	dir_free(d);
	if (parent != NULL)
		xfer_dir_unref(parent);
}

static void
fix_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err != 0 || reply->status != SFTP_OK)
		xfer_report_reply(d->x, d->remote, reply);
	if (sftp_error(d->x->s) == 0)
		dir_gone(d);
}

static void
fix_local(struct xfer_dir *d)
{
	const struct sftp_attrs *a = &d->attrs;
	struct timespec ts[2] = { { .tv_sec = a->atime },
		{ .tv_sec = a->mtime } };
	mode_t mode = a->mode & 07777;

	if (!d->x->opts.preserve)
		mode &= 0777 & ~d->x->umask;
	if (((a->flags & SFTP_A_MODE) && chmod(d->local, mode) != 0) ||
	    (d->x->opts.preserve && (a->flags & SFTP_A_TIMES) &&
		utimensat(AT_FDCWD, d->local, ts, 0) != 0))
		xfer_report_errno(d->x, d->local, errno);
}

void
xfer_dir_unref(struct xfer_dir *d)
{
	struct sftp_attrs a = d->attrs;

	ENSURE(d->refs > 0);
	/* When the session is over, xfer_free() does it all. */
	if (--d->refs > 0 || sftp_error(d->x->s) != 0)
		return;
	if (d->fix && !d->failed && d->up) {
		a.flags &= SFTP_A_MODE |
		    (d->x->opts.preserve ? SFTP_A_TIMES : 0);
		a.mode &= d->x->opts.preserve ? 07777 : 0777;
		sftp_attrs_request(d->x->s, SFTP_SETSTAT, d->remote, &a,
		    fix_done, d);
		return;
	}
	if (d->fix && !d->failed)
		fix_local(d);
	dir_gone(d);
}

/* Nothing more will be listed. */
static void
listing_ends(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	if (d->stream != NULL)
		closedir(d->stream);
	d->stream = NULL;
	TAILQ_REMOVE(&x->listing, d, entry);
	x->listings--;
	xfer_dir_unref(d);
}

/* --- the start of a directory --- */

static void
wait_for_listing(struct xfer_dir *d)
{
	TAILQ_INSERT_HEAD(&d->x->waiting, d, entry);
}

static void
exists_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    S_ISDIR(reply->attrs.mode)) {
		wait_for_listing(d);
		return;
	}
	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_report(d->x, d->remote, "Not a directory");
	else
		xfer_report_reply(d->x, d->remote, reply);
	d->failed = true;
	xfer_dir_unref(d);
}

static void
mkdir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err == 0 && reply->status == SFTP_OK) {
		wait_for_listing(d);
		return;
	}
	if (reply->err == 0 && reply->status == SFTP_FAILURE) {
		/* There may be one already. */
		sftp_path_request(d->x->s, SFTP_STAT, d->remote, exists_done,
		    d);
		return;
	}
	xfer_report_reply(d->x, d->remote, reply);
	d->failed = true;
	xfer_dir_unref(d);
}

/* It must be ours to write while it is filled. */
static void
make_dir(struct xfer_dir *d)
{
	mode_t mode = (d->attrs.mode & 0777) | MODE_OWNER;
	struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = mode };
	struct stat st;

	if ((d->attrs.flags & SFTP_A_MODE) == 0)
		a.mode = mode = 0777;
	else
		d->fix = (d->attrs.mode & MODE_OWNER) != MODE_OWNER;
	d->fix |= d->x->opts.preserve;
	if (d->up) {
		sftp_attrs_request(d->x->s, SFTP_MKDIR, d->remote, &a,
		    mkdir_done, d);
		return;
	}
	if (mkdir(d->local, mode) == 0 ||
	    (errno == EEXIST && stat(d->local, &st) == 0 &&
		S_ISDIR(st.st_mode))) {
		wait_for_listing(d);
		return;
	}
	xfer_report_errno(d->x, d->local, errno);
	d->failed = true;
	xfer_dir_unref(d);
}

int
xfer_add_dir(struct xfer *x, struct xfer_dir *parent, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs)
{
	struct xfer_dir *d = NULL;
	int depth = parent != NULL ? parent->depth + 1 : 0, r = 0;

	if (local == NULL || remote == NULL ||
	    (d = calloc(1, sizeof *d)) == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if (depth > XFER_DEPTH_MAX || x->dirs >= XFER_DIRS_MAX) {
		xfer_report(x, up ? local : remote,
		    depth > XFER_DEPTH_MAX ? "directories are too deep" :
					     "too many directories");
		goto out;
	}
	*d = (struct xfer_dir){ .x = x, .parent = parent, .refs = 1,
		.up = up, .depth = depth, .local = local, .remote = remote,
		.attrs = *attrs, .reads_max = 1 };
	if (parent != NULL)
		parent->refs++;
	TAILQ_INSERT_TAIL(&x->all_dirs, d, all);
	x->dirs++;
	make_dir(d);
	return 0;
out:
	free(d);
	free(local);
	free(remote);
	return r;
}

/* What is found makes requests (MKDIR, STAT) and waits in the queue. */
static bool
may_find_more(const struct xfer *x)
{
	return x->queued < XFER_QUEUE_MAX &&
	    sftp_pending(x->s) < REQUESTS_MAX;
}

/* --- listing what is local --- */

static int
found_local(struct xfer_dir *d, const char *name)
{
	char *local = xfer_join(d->local, name);
	char *remote = xfer_join(d->remote, name);
	struct sftp_attrs attrs;
	struct stat st;

	if (local != NULL && stat(local, &st) != 0) {
		xfer_report_errno(d->x, local, errno);
	} else if (local != NULL && S_ISDIR(st.st_mode)) {
		sftp_attrs_from_stat(&attrs, &st);
		return xfer_add_dir(d->x, d, true, local, remote, &attrs);
	} else if (local != NULL && !S_ISREG(st.st_mode)) {
		xfer_report(d->x, local, "not a regular file");
	} else {
		return xfer_add_file(d->x, d, true, local, remote, NULL);
	}
	free(local);
	free(remote);
	return 0;
}

static int
list_local(struct xfer_dir *d)
{
	struct dirent *de;
	int r;

	if (d->stream == NULL &&
	    (d->stream = opendir(d->local)) == NULL) {
		xfer_report_errno(d->x, d->local, errno);
		listing_ends(d);
		return 0;
	}
	while (may_find_more(d->x)) {
		errno = 0;
		de = readdir(d->stream);
		if (de == NULL) {
			if (errno != 0)
				xfer_report_errno(d->x, d->local, errno);
			listing_ends(d);
			return 0;
		}
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if ((r = found_local(d, de->d_name)) < 0)
			return r;
	}
	return 0;
}

/* --- listing what is remote --- */

static int
add_remote(struct xfer_dir *d, char *local, char *remote,
    const struct sftp_attrs *attrs)
{
	if (S_ISDIR(attrs->mode))
		return xfer_add_dir(d->x, d, false, local, remote, attrs);
	if (S_ISREG(attrs->mode))
		return xfer_add_file(d->x, d, false, local, remote, attrs);
	xfer_report(d->x, remote, "not a regular file");
	free(local);
	free(remote);
	return 0;
}

/* A link, or an entry without a mode: what it leads to is asked. */
struct lookup {
	struct xfer_dir *dir; /* holds a reference */
	char *local, *remote;
};

static void
lookup_done(void *arg, const struct sftp_reply *reply)
{
	struct lookup *l = arg;
	struct xfer_dir *d = l->dir;

	d->pending--;
	if (reply->err == 0 && reply->type == SFTP_ATTRS) {
		if (add_remote(d, l->local, l->remote, &reply->attrs) < 0)
			xfer_report(d->x, d->remote, "out of memory");
	} else {
		xfer_report_reply(d->x, l->remote, reply);
		free(l->local);
		free(l->remote);
	}
	free(l);
	xfer_dir_unref(d);
}

static int
found_remote(struct xfer_dir *d, const struct sftp_entry *entry)
{
	char *name = span_dup(entry->name), *local, *remote;
	const struct sftp_attrs *a = &entry->attrs;
	struct lookup *l;

	local = name != NULL ? xfer_join(d->local, name) : NULL;
	remote = name != NULL ? xfer_join(d->remote, name) : NULL;
	free(name);
	if ((a->flags & SFTP_A_MODE) && (a->mode & S_IFMT) != 0 &&
	    !S_ISLNK(a->mode) && local != NULL && remote != NULL)
		return add_remote(d, local, remote, a);
	l = malloc(sizeof *l);
	if (l == NULL || local == NULL || remote == NULL) {
		free(l);
		free(local);
		free(remote);
		return ERR_NOMEM;
	}
	*l = (struct lookup){ d, local, remote };
	d->refs++;
	d->pending++;
	sftp_path_request(d->x->s, SFTP_STAT, remote, lookup_done, l);
	return 0;
}

static void
closed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	(void)reply;
	xfer_dir_unref(d);
}

/* After the last answer to a READDIR: the handle is given back. */
static void
remote_ends(struct xfer_dir *d)
{
	if (!d->ended || d->reads > 0)
		return;
	if (d->handle_open) {
		d->handle_open = false;
		d->refs++;
		sftp_close(d->x->s, &d->handle, closed, d);
	}
	listing_ends(d);
}

static void
readdir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	struct sftp_entry entry;
	struct rd r = reply->body;
	char text[64];

	d->reads--;
	if (reply->err != 0 || reply->status != SFTP_OK) {
		if (reply->err != 0 || reply->status != SFTP_EOF)
			xfer_report_reply(d->x, d->remote, reply);
		d->ended = true;
		remote_ends(d);
		return;
	}
	d->reads_max = MIN(d->reads_max * 2, (unsigned)READS_MAX);
	while (sftp_next_entry(&r, &entry)) {
		if (span_equals(entry.name, ".") ||
		    span_equals(entry.name, ".."))
			continue;
		if (!sftp_name_is_safe(entry.name)) {
			xfer_report(d->x, d->remote,
			    "the server sent an unsafe file name");
			continue;
		}
		if (found_remote(d, &entry) < 0) {
			snprintf(text, sizeof text, "%s",
			    err_text(ERR_NOMEM));
			xfer_report(d->x, d->remote, text);
			d->ended = true;
		}
	}
	if (r.err != 0 || reply->count == 0)
		d->ended = true;
	remote_ends(d);
}

static void
opendir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	d->reads--;
	if (reply->err != 0 || reply->status != SFTP_OK) {
		xfer_report_reply(d->x, d->remote, reply);
		d->ended = true;
		remote_ends(d);
		return;
	}
	sftp_keep_handle(&d->handle, reply);
	d->handle_open = true;
}

/* Entries arrive later, in readdir_done(). */
static void
list_remote(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	if (!d->handle_open) {
		if (d->reads > 0 || d->ended)
			return;
		d->reads++;
		sftp_path_request(x->s, SFTP_OPENDIR, d->remote, opendir_done,
		    d);
		return;
	}
	while (!d->ended && d->reads < d->reads_max) {
		d->reads++;
		sftp_handle_request(x->s, SFTP_READDIR, &d->handle,
		    readdir_done, d);
	}
}

/* --- both --- */

bool
xfer_list(struct xfer *x)
{
	struct xfer_dir *d, *next;
	/* With a great many directories found, only the newest is read, so
	 * that they become fewer before there are more. */
	bool crowded = x->dirs > XFER_DIRS_CROWD;

	while (may_find_more(x) && (d = TAILQ_FIRST(&x->waiting)) != NULL &&
	    x->listings < XFER_LISTINGS_MAX) {
		TAILQ_REMOVE(&x->waiting, d, entry);
		TAILQ_INSERT_HEAD(&x->listing, d, entry);
		x->listings++;
	}
	for (d = TAILQ_FIRST(&x->listing); d != NULL && may_find_more(x);
	    d = crowded ? NULL : next) {
		next = TAILQ_NEXT(d, entry);
		if (!d->up)
			list_remote(d);
		else if (list_local(d) < 0)
			xfer_report(x, d->local, err_text(ERR_NOMEM));
	}
	return !TAILQ_EMPTY(&x->waiting) &&
	    x->listings < XFER_LISTINGS_MAX && may_find_more(x);
}
