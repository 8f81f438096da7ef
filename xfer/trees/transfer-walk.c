/* SPDX-License-Identifier: ISC */
/*
 * Directories of this host that are sources. They are read one at a time, each
 * to its end. When many wait (WALK_CROWD), reading one stops at the next
 * subdirectory found, and that is read first; but only as many as there are
 * descriptors for (walking_max) stay open meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "xfer/trees/transfer-dir.h"
#include "xfer/trees/transfer-meet.h"

enum {
	WALK_CROWD = 1024, /* waiting directories: then depth first */
	WALK_TURN = 64,	   /* directories read in one turn of the loop */
};

/* Is st that of d, or of a directory above d? Then a link has led back. */
static bool
is_loop(const struct xfer_dir *d, const struct stat *st)
{
	for (; d != NULL; d = d->parent)
		if (d->exact.dev == (uint64_t)st->st_dev &&
		    d->exact.ino == (uint64_t)st->st_ino)
			return true;
	return false;
}

/* Is an entry of d copied? If not, the reason is told here. */
static bool
is_wanted(struct xfer_dir *d, const char *local, const struct stat *st)
{
	bool links = d->x->opts.links;

	if (S_ISLNK(st->st_mode) && d->x->opts.skip_links)
		xfer_note(d->x, local, "not a regular file");
	else if (S_ISDIR(st->st_mode) && is_loop(d, st))
		xfer_report(d->x, local, "leads back to a directory it is in");
	else if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) &&
	    !(links && S_ISLNK(st->st_mode)))
		xfer_report(d->x, local, "not a regular file");
	else
		return true;
	return false;
}

static int
add_found(struct xfer_dir *d, const char *name, char *local, char *remote,
    const struct stat *st, enum local_links links)
{
	unsigned meets = xfer_meet_note(d->x, d, name, st);
	struct xfer_exact exact;
	struct sftp_attrs attrs;
	struct local_dir *at;

	sftp_attrs_from_stat(&attrs, st);
	xfer_exact_from_stat(&exact, st);
	if (!S_ISDIR(st->st_mode))
		return xfer_meet_take(d->x, d, meets, &(struct xfer_found){
			.up = true, .links = links, .local = local,
			.remote = remote, .attrs = &attrs, .exact = &exact });
	at = local_child(d->at, name, st, links);
	if (at != NULL)
		return xfer_meet_take(d->x, d, meets, &(struct xfer_found){
			.up = true, .at = at, .local = local,
			.remote = remote, .attrs = &attrs, .exact = &exact });
	free(local);
	free(remote);
	return ERR_NOMEM;
}

static int
found_local(struct xfer_dir *d, const char *name)
{
	char *local = str_join_path(d->local, name);
	char *remote = str_join_path(d->remote, name);
	const struct xfer_opts *o = &d->x->opts;
	enum local_links links = LOCAL_LINKS_NONE;
	struct stat st;
	int r;

	if (local == NULL || remote == NULL) {
		free(local);
		free(remote);
		return ERR_NOMEM;
	}
	r = local_stat(d->at, name, links, &st);
	if (r == 0 && S_ISLNK(st.st_mode) && !o->links && !o->skip_links) {
		links = LOCAL_LINKS_ALL;
		r = local_stat(d->at, name, links, &st);
	}
	if (r != 0)
		xfer_report_tried(d->x, XFER_TRIED_STAT_LOCAL, local,
		    local_error_text(errno));
	else if (is_wanted(d, local, &st))
		return add_found(d, name, local, remote, &st, links);
	free(local);
	free(remote);
	return 0;
}

void
xfer_walk_ends(struct xfer_dir *d)
{
	TAILQ_REMOVE(&d->x->dirs.walking, d, entry);
	d->x->dirs.walking_count--;
	xfer_dir_unlist(d);
	xfer_dir_unref(d);
}

/* Reads d until it ends, the queue is full, or a subdirectory was found that is
 * to be read first. 1 if there is no descriptor for d now. */
static int
walk(struct xfer_dir *d)
{
	struct xfer *x = d->x;
	size_t waits;
	struct dirent *de;
	int r;

	if (d->state == XFER_DIR_FAILED) {
		xfer_walk_ends(d);
		return 0;
	}
	if (d->dirp == NULL && (d->dirp = local_dir_list(d->at)) == NULL) {
		/* Files that are under way will give some descriptors back. */
		if ((errno == EMFILE || errno == ENFILE) &&
		    x->files.active_count > 0)
			return 1;
		xfer_report_errno(x, d->local, errno);
		xfer_walk_ends(d);
		return 0;
	}
	xfer_look_for_extras(x, dirfd(d->dirp), d->local);
	do {
		errno = 0;
		de = readdir(d->dirp);
		if (de == NULL) {
			if (errno != 0)
				xfer_report_errno(x, d->local, errno);
			xfer_walk_ends(d);
			return 0;
		}
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		waits = x->dirs.waiting_count;
		if ((r = found_local(d, de->d_name)) < 0)
			return r;
		if (x->dirs.waiting_count > waits &&
		    x->dirs.waiting_count >= WALK_CROWD &&
		    x->dirs.walking_count < x->dirs.walking_max)
			break; /* what was found is read first */
	} while (xfer_may_find_more(x));
	return 0;
}

bool
xfer_walk(struct xfer *x)
{
	struct xfer_dir *d;
	int r;

	for (int turn = 0; xfer_may_find_more(x); turn++) {
		d = TAILQ_FIRST(&x->dirs.waiting);
		if (d != NULL && xfer_dir_is_local(d) &&
		    (x->dirs.waiting_count >= WALK_CROWD ||
			TAILQ_EMPTY(&x->dirs.walking))) {
			xfer_dir_stop_waiting(d);
			TAILQ_INSERT_HEAD(&x->dirs.walking, d, entry);
			x->dirs.walking_count++;
		} else if ((d = TAILQ_FIRST(&x->dirs.walking)) == NULL) {
			return false;
		}
		if (turn == WALK_TURN)
			return true;
		r = walk(d);
		if (r > 0)
			return false;
		if (r < 0) {
			xfer_report(x, d->local, err_text(ERR_NOMEM));
			return true;
		}
	}
	return false;
}
