/* SPDX-License-Identifier: ISC */
/*
 * Links. A symbolic link is made directly or, if its name is taken, under
 * another name and renamed; what it leads to does not matter. Of several names
 * of a file the first that is found is copied; the others become hard links to
 * it when it is complete, except where a copy would be written through a link
 * or to a device.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/state/hard-table.h"
#include "xfer/transfer/transfer-internal.h"
#include "xfer/transfer/transfer-link.h"

enum { HARDS_MAX = 1000000, TRIES = 8 /* to rename a link */ };

/* --- both kinds --- */

void
xfer_link_free(struct xfer_file *f)
{
	free(f->link.text);
	f->link.text = NULL;
	xfer_linking_forget(f);
}

void
xfer_link_ends(struct xfer_file *f, bool ok)
{
	f->failed |= !ok;
	if (f->failed)
		xfer_way_back(f);
	xfer_file_done(f);
}

/* The link cannot be made: the file is copied. */
static void
copy_instead(struct xfer_file *f, const char *why)
{
	struct xfer *x = f->x;

	if (!x->noted.no_hard_links)
		xfer_note(x, f->up ? f->remote : f->local, why);
	x->noted.no_hard_links = true;
	f->link.copied = true;
	if (f->duty != NULL)
		f->duty->linked = false;
	xfer_file_restart(f, f->resume);
}

bool
xfer_link_may_replace(const struct xfer_file *f, mode_t mode)
{
	return f->source.symlink || S_ISREG(mode) ||
	    (f->duty != NULL && f->duty->replaces_kind) ||
	    (S_ISLNK(mode) && f->x->opts.links);
}

/* A link that replaces something is made under a name of our own, and renamed.
 * True if what has that name already may be removed: a link, which a killed run
 * has left; or a file with the size and time of the file that gets a further
 * name, so that nothing is lost with it. Anything else is left alone. */
static bool
is_left(const struct xfer_file *f, const struct sftp_attrs *found)
{
	const struct sftp_attrs *a = &f->source.attrs;
	uint32_t known = SFTP_A_SIZE | SFTP_A_TIMES | SFTP_A_MODE;

	if ((found->flags & SFTP_A_MODE) && S_ISLNK(found->mode))
		return true;
	return !f->source.symlink && (found->flags & a->flags & known) ==
	    known && S_ISREG(found->mode) && found->size == a->size &&
	    found->mtime == a->mtime;
}

static void
note_left_alone(struct xfer_file *f)
{
	if (!f->part_noted)
		xfer_note(f->x, f->up ? f->remote : f->local, "a file that "
		    "has the name under which its link is made is left alone");
	f->part_noted = true;
}

/* --- at this end --- */

/* Makes a link on this host: a further name of h, whose first name is complete,
 * or a symbolic link if h is NULL. */
static int
make_local(
    const struct xfer_file *f, const struct xfer_hard *h, const char *name)
{
	return h == NULL ? local_symlink(f->link.text, f->at, name) :
			   local_link(h->at, local_last_name(h->path), f->at,
			       name);
}

/* May what has this name of our own be removed? Yes if it is another name of
 * h's file, or if is_left() says so. */
static bool
is_left_here(const struct xfer_file *f, const struct xfer_hard *h,
    const char *name)
{
	struct sftp_attrs found;
	struct stat st, first;

	if (local_stat(f->at, name, LOCAL_LINKS_NONE, &st) != 0)
		return false;
	sftp_attrs_from_stat(&found, &st);
	return is_left(f, &found) || (h != NULL &&
	    local_stat(h->at, local_last_name(h->path), LOCAL_LINKS_NONE,
		&first) == 0 &&
	    st.st_dev == first.st_dev && st.st_ino == first.st_ino);
}

/* Makes the link under a name of our own. *part is that name, which the caller
 * frees. */
static int
make_beside(struct xfer_file *f, const struct xfer_hard *h, char **part)
{
	unsigned number = 0;

	while ((*part = xfer_free_name(f->x, f->local, &number,
	    xfer_link_name)) != NULL) {
		const char *name = local_last_name(*part);

		if (make_local(f, h, name) == 0)
			return 0;
		if (errno == EEXIST && is_left_here(f, h, name) &&
		    local_remove(f->at, name) == 0 &&
		    make_local(f, h, name) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
		note_left_alone(f);
		free(*part);
	}
	return -1;
}

/* Makes the link and renames it over the target. ENOENT means that another copy
 * has removed or renamed the link: it is made again. */
static int
rename_over(struct xfer_file *f, const struct xfer_hard *h)
{
	char *part;
	int error, r;

	for (int tries = 1;; tries++) {
		r = make_beside(f, h, &part);
		error = errno;
		if (r == 0) {
			r = local_rename(f->at, local_last_name(part),
			    f->name);
			error = errno;
			/* rename(2) leaves both names if they are of one file
			 * already. */
			(void)local_remove(f->at, local_last_name(part));
		}
		free(part);
		errno = error;
		if (r == 0 || errno != ENOENT || tries == TRIES)
			return r;
	}
}

/* Makes the link at the target. 0, or -1 and errno; errno 0: it was
 * reported. */
static int
link_local(struct xfer_file *f, const struct xfer_hard *h)
{
	struct stat st;

	if (strchr(f->name, '/') != NULL) { /* "name/": a directory is meant */
		errno = ENOTDIR;
		return -1;
	}
	xfer_part_make_way(f->x, f->at, f->name);
	if (make_local(f, h, f->name) == 0)
		return 0;
	if (errno != EEXIST)
		return -1;
	if (local_stat(f->at, f->name, LOCAL_LINKS_NONE, &st) == 0 &&
	    !xfer_link_may_replace(f, st.st_mode))
		return -1;
	errno = 0;
	return xfer_way_clear_here(f) ? rename_over(f, h) : -1;
}

/* --- at the server --- */

/* Notes the answer to a step's request, for xfer_link_continue(). */
static void
answered(void *arg, const struct sftp_reply *reply)
{
	xfer_linking_answered(arg, reply);
}

void
xfer_link_begin(struct xfer_file *f, enum xfer_link_step step,
    const struct xfer_path_request *q)
{
	xfer_linking_step(f, step);
	f->pending++;
	xfer_request_path(f->x, q, answered, f);
}

/* The last answer as a reply that has only a status. */
static struct sftp_reply
last_answer(const struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;

	return (struct sftp_reply){ .type = SFTP_STATUS, .err = l->err,
		.status = l->status, .words = l->words != NULL ? l->words :
			sftp_status_text(l->status) };
}

bool
xfer_link_is_done(const struct xfer_file *f)
{
	return f->linking.err == 0 && f->linking.status == SFTP_OK;
}

void
xfer_link_fails(struct xfer_file *f)
{
	const struct sftp_reply reply = last_answer(f);

	xfer_report_reply(f->x, f->remote, &reply);
	xfer_link_ends(f, false);
}

/* Sets extended attributes behind the other ones. Few systems keep times of
 * links, so failures there are not reported. */
static void
attrs_set(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_XATTRS, .path = f->remote,
		.xattrs = xfer_xattrs(f) };

	if (!f->source.symlink || q.xattrs.kinds == 0)
		xfer_link_ends(f, true);
	else
		xfer_link_begin(f, XFER_LINK_XATTRS, &q);
}

static void
xattrs_set(struct xfer_file *f)
{
	const struct sftp_reply reply = last_answer(f);

	if (!xfer_link_is_done(f))
		xfer_report_reply_tried(f->x, XFER_TRIED_XATTRS, f->remote,
		    &reply);
	xfer_link_ends(f, true);
}

void
xfer_link_made(struct xfer_file *f)
{
	struct sftp_attrs a = f->source.attrs;
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_LSETSTAT, .path = f->remote, .attrs = &a };

	if (f->duty != NULL && (f->duty->sets & SFTP_A_OWNER))
		a.flags |= SFTP_A_OWNER;
	a.flags &= xfer_sets(f) & (SFTP_A_TIMES | SFTP_A_OWNER);
	if (!f->source.symlink || a.flags == 0 ||
	    !xfer_has(f->x, SFTP_EXT_LSETSTAT))
		attrs_set(f);
	else
		xfer_link_begin(f, XFER_LINK_ATTRS, &q);
}

static void
make_remote(struct xfer_file *f, enum xfer_link_step step, const char *name)
{
	const struct xfer_path_request q = {
		.type = f->source.symlink ? SFTP_SYMLINK : SFTP_EXTENDED,
		.ext = SFTP_EXT_HARDLINK,
		.path = f->link.text,
		.second = name,
		.once = step == XFER_LINK_MAKE_AGAIN
	};

	xfer_link_begin(f, step, &q);
}

static void
remove_remote(struct xfer_file *f, enum xfer_link_step step, const char *name)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = name, .once = step == XFER_LINK_CLEAR };

	xfer_link_begin(f, step, &q);
}

void
xfer_link_look(struct xfer_file *f, enum xfer_link_step step, const char *name)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = name };

	xfer_link_begin(f, step, &q);
}

/* Reports that the link cannot be made. status: the server's. */
static void
not_made(struct xfer_file *f, uint32_t status)
{
	if (f->source.symlink) {
		xfer_report(f->x, f->remote, sftp_status_text(status));
		xfer_link_ends(f, false);
	} else {
		copy_instead(f, "cannot be made a hard link: copied");
	}
}

/* The link's other name is removed after the rename, because a rename between
 * two names of one file does nothing. */
static void
tidied(struct xfer_file *f)
{
	if (f->failed)
		xfer_link_ends(f, false);
	else
		xfer_link_made(f);
}

/* Makes the link under the next free temporary name. */
static void
try_name(struct xfer_file *f)
{
	unsigned number = f->linking.number;

	xfer_part_named(f, xfer_free_name(f->x, f->remote, &number,
		xfer_link_name));
	xfer_linking_beside(f, number);
	if (f->part.name != NULL) {
		make_remote(f, XFER_LINK_BESIDE, f->part.name);
		return;
	}
	xfer_report(f->x, f->remote, "no name is left for its link");
	xfer_link_ends(f, false);
}

/* Takes the answer to the rename. NO_SUCH_FILE: an earlier rename was done but
 * its answer lost, or another copy makes the same link. The link is then made
 * again, which does no harm. */
static void
renamed(struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;
	bool again = l->err != 0 || l->status == SFTP_NO_SUCH_FILE;
	const struct sftp_reply reply = last_answer(f);

	if (again && xfer_linking_again(f)) {
		xfer_linking_beside(f, 0);
		try_name(f);
		return;
	}
	if (!xfer_link_is_done(f)) {
		xfer_report_reply(f->x, f->remote, &reply);
		xfer_file_fail(f);
	}
	if (f->failed || !f->source.symlink)
		remove_remote(f, XFER_LINK_TIDY, f->part.name);
	else
		xfer_link_made(f);
}

static void
left_removed(struct xfer_file *f)
{
	make_remote(f, XFER_LINK_BESIDE, f->part.name);
}

/* Takes the answer to LSTAT of the temporary name, which is taken. */
static void
beside_seen(struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;

	if (l->err == 0 && l->status == SFTP_NO_SUCH_FILE) {
		not_made(f, l->refused);
	} else if (!l->cleared && is_left(f, &l->found)) {
		xfer_linking_cleared(f);
		remove_remote(f, XFER_LINK_BESIDE_REMOVE, f->part.name);
	} else {
		note_left_alone(f);
		try_name(f);
	}
}

static void
made_beside(struct xfer_file *f)
{
	const struct xfer_path_request to = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_POSIX_RENAME, .path = f->part.name,
		.second = f->remote, .once = true };

	xfer_linking_refused(f);
	if (f->linking.err != 0)
		xfer_link_fails(f);
	else if (f->linking.status == SFTP_OK)
		xfer_link_begin(f, XFER_LINK_RENAME, &to);
	else if (f->linking.status == SFTP_FAILURE)
		xfer_link_look(f, XFER_LINK_BESIDE_LOOK, f->part.name);
	else
		not_made(f, f->linking.status);
}

/* Removes the target: without posix-rename nothing can be renamed over it. */
static void
clear_target(struct xfer_file *f)
{
	remove_remote(f, XFER_LINK_CLEAR, f->remote);
}

static void
made_again(struct xfer_file *f)
{
	if (f->linking.err != 0 && xfer_linking_again(f))
		clear_target(f); /* the answer was lost */
	else if (f->linking.err != 0)
		xfer_link_fails(f);
	else if (f->linking.status == SFTP_OK)
		xfer_link_made(f);
	else
		not_made(f, f->linking.status);
}

static void
cleared(struct xfer_file *f)
{
	/* After a timeout the server may still remove the target at any time,
	 * also when that is the link already. */
	if (f->linking.err == ERR_TIMEOUT)
		xfer_link_fails(f);
	else if (f->linking.err != 0 && xfer_linking_again(f))
		clear_target(f);
	else
		make_remote(f, XFER_LINK_MAKE_AGAIN, f->remote);
}

/* Goes on when order-way.c has cleared the way, unless f has failed. */
static void
may_be_replaced(struct xfer_file *f)
{
	if (f->failed)
		xfer_link_ends(f, false);
	else if (xfer_has(f->x, SFTP_EXT_POSIX_RENAME))
		try_name(f);
	else
		clear_target(f);
}

static void
replace(struct xfer_file *f)
{
	xfer_linking_step(f, XFER_LINK_WAY);
	if (xfer_way_is_clear(f))
		xfer_file_touch(f);
}

static void
looked(struct xfer_file *f)
{
	const struct sftp_attrs *found = &f->linking.found;

	if ((found->flags & SFTP_A_MODE) &&
	    !xfer_link_may_replace(f, found->mode))
		copy_instead(f, "cannot be made a hard link: copied");
	else
		replace(f);
}

/* Takes the answer to the first try, under the target's name. */
static void
made(struct xfer_file *f)
{
	if (xfer_link_is_done(f))
		xfer_link_made(f);
	else if (f->linking.err == 0 && f->linking.status != SFTP_FAILURE &&
	    f->duty != NULL && f->duty->linked)
		not_made(f, f->linking.status);
	else if (f->linking.err != 0 || f->linking.status != SFTP_FAILURE)
		xfer_link_fails(f);
	else if (f->source.symlink)
		replace(f);
	else
		xfer_link_look(f, XFER_LINK_LOOK, f->remote); /* is it taken? */
}

static void
link_remote(struct xfer_file *f)
{
	make_remote(f, XFER_LINK_MAKE, f->remote);
}

/* --- symbolic links --- */

static void
read_and_put(struct xfer_file *f)
{
	char text[PATH_MAX + 1];
	ssize_t len = local_read_link(f->at, f->name, text, sizeof text);
	struct stat st;

	if (len < 0 ||
	    local_stat(f->at, f->name, LOCAL_LINKS_NONE, &st) != 0) {
		xfer_report_errno(f->x, f->local, errno);
		xfer_link_ends(f, false);
		return;
	}
	f->link.text = strndup(text, (size_t)len);
	if (f->link.text == NULL || len == sizeof text) {
		xfer_report_errno(f->x, f->local, ENAMETOOLONG);
		xfer_link_ends(f, false);
		return;
	}
	xfer_source_seen(f, &st);
	link_remote(f);
}

static void
put_symlink(struct xfer_file *f)
{
	if (f->only_attrs)
		xfer_link_made(f);
	else if (f->link.text != NULL)
		link_remote(f);
	else
		read_and_put(f);
}

static bool
set_link_attrs(const struct xfer_file *f)
{
	const struct xattrs x = xfer_xattrs(f);
	struct timespec ts[2];

	if ((xfer_sets(f) & SFTP_A_OWNER) && local_set_link_owner(f->at,
		f->name, f->source.attrs.uid, f->source.attrs.gid) != 0)
		return false;
	if (x.kinds != 0 && local_set_xattrs(f->at, f->name, &x) != 0)
		xfer_report_tried(f->x, XFER_TRIED_XATTRS, f->local,
		    local_error_text(errno));
	xfer_times(&f->source.attrs, &f->source.exact, ts);
	return (xfer_sets(f) & SFTP_A_TIMES) == 0 ||
	    (f->source.attrs.flags & SFTP_A_TIMES) == 0 ||
	    local_set_link_times(f->at, f->name, ts) == 0;
}

/* Makes the link on this host, with its attributes. */
static void
put_here(struct xfer_file *f)
{
	bool ok = true;

	if ((!f->only_attrs && link_local(f, NULL) != 0) ||
	    !set_link_attrs(f)) {
		if (errno != 0)
			xfer_report_errno(f->x, f->local, errno);
		ok = false;
	}
	xfer_link_ends(f, ok);
}

static void
link_exact(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	xfer_source_numbered(f, reply);
	f->pending--;
	xfer_path_answered(f, reply);
}

static void
link_read(void *arg, const struct sftp_reply *reply)
{
	struct sftp_reply noted = *reply;
	struct xfer_file *f = arg;
	struct sftp_entry entry;
	struct rd r = reply->body;

	if (reply->err == 0 && reply->status == SFTP_OK) {
		if (reply->type != SFTP_NAME || reply->count != 1 ||
		    !sftp_next_entry(&r, &entry) || entry.name.len == 0) {
			noted.status = SFTP_BAD_MESSAGE;
			noted.words = sftp_status_text(SFTP_BAD_MESSAGE);
		} else if ((f->link.text = span_dup(entry.name)) == NULL) {
			noted.err = ERR_NOMEM;
		}
	}
	xfer_linking_answered(f, &noted);
}

static void
read_there(struct xfer_file *f)
{
	if (f->link.text != NULL)
		put_here(f);
	else
		xfer_link_fails(f);
}

/* Asks the server for the text of the link. */
static void
ask_for_link(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_READLINK,
		.path = f->remote };
	bool exact = (xfer_sets(f) & SFTP_A_TIMES) &&
	    !f->source.exact.known && xfer_has(f->x, SFTP_EXT_STAT_NS);

	xfer_linking_step(f, XFER_LINK_READ);
	f->pending += 1 + exact;
	xfer_request_path(f->x, &q, link_read, f);
	q.type = SFTP_EXTENDED;
	q.ext = SFTP_EXT_STAT_NS;
	if (exact)
		xfer_request_path(f->x, &q, link_exact, f);
}

void
xfer_symlink_start(struct xfer_file *f)
{
	xfer_file_enter(f, XFER_LINKING);
	xfer_link_free(f);
	if (f->duty != NULL && (f->duty->text != NULL || f->only_attrs)) {
		f->link.text = strdup(f->duty->text != NULL ? f->duty->text :
			"");
		if (f->link.text == NULL) {
			xfer_report_errno(f->x, f->remote, ENOMEM);
			xfer_link_ends(f, false);
			return;
		}
	}
	if (f->up)
		put_symlink(f);
	else if (f->link.text != NULL)
		put_here(f);
	else
		ask_for_link(f);
}

/* --- steps --- */

void
xfer_link_continue(struct xfer_file *f)
{
	static void (*const steps[])(struct xfer_file *f) = {
		[XFER_LINK_READ] = read_there,
		[XFER_LINK_MAKE] = made,
		[XFER_LINK_LOOK] = looked,
		[XFER_LINK_WAY] = may_be_replaced,
		[XFER_LINK_CLEAR] = cleared,
		[XFER_LINK_MAKE_AGAIN] = made_again,
		[XFER_LINK_BESIDE] = made_beside,
		[XFER_LINK_BESIDE_LOOK] = beside_seen,
		[XFER_LINK_BESIDE_REMOVE] = left_removed,
		[XFER_LINK_RENAME] = renamed,
		[XFER_LINK_TIDY] = tidied,
		[XFER_LINK_ATTRS] = attrs_set,
		[XFER_LINK_XATTRS] = xattrs_set,
	};
	enum xfer_link_step step = xfer_linking_take(f);

	if (!xfer_move_continue(f, step) && step != XFER_LINK_NOTHING)
		steps[step](f);
}

/* --- further names of a plan's files --- */

static void
duty_link_here(struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;
	const struct xfer_below first = { .root = d->link_root,
		.links = LOCAL_LINKS_NONE, .path = d->link };
	struct xfer_hard h = { .owner = NULL };
	const char *name = NULL;
	int r = -1, error;

	h.at = xfer_place_of(&f->x->orders->links, &first, &name);
	if (h.at != NULL && (h.path = strdup(name)) != NULL)
		r = link_local(f, &h);
	error = errno;
	local_dir_unref(h.at);
	free(h.path);
	if (r == 0 || error == 0)
		xfer_link_ends(f, r == 0);
	else
		copy_instead(f, "cannot be made a hard link: copied");
}

bool
xfer_duty_link_start(struct xfer_file *f)
{
	struct xfer_duty *d = f->duty;

	if (d == NULL || d->link == NULL || f->link.copied)
		return false;
	if (f->up && d->link_moves) {
		xfer_move_start(f);
		return true;
	}
	if (f->up && (!xfer_has(f->x, SFTP_EXT_HARDLINK) ||
	    (f->link.text == NULL &&
		(f->link.text = strdup(d->link)) == NULL))) {
		if (!f->x->noted.no_hard_links)
			xfer_note(f->x, NULL, "the server makes no hard links: "
			    "each name is copied");
		f->x->noted.no_hard_links = true;
		f->link.copied = true;
		return false;
	}
	d->linked = true;
	xfer_file_enter(f, XFER_LINKING);
	xfer_linking_forget(f);
	if (f->up)
		link_remote(f);
	else
		duty_link_here(f);
	return true;
}

/* --- hard links --- */

/* Adds a file with several names. False if there is no room for it: then each
 * of its names is copied. */
static bool
hard_add(struct xfer_file *f)
{
	struct xfer *x = f->x;
	struct xfer_hard *h;

	if ((x->hards == NULL &&
		(x->hards = calloc(1, sizeof *x->hards)) == NULL) ||
	    x->hards->used >= HARDS_MAX || !xfer_hard_grow(x->hards) ||
	    (h = calloc(1, sizeof *h)) == NULL)
		return false;
	*h = (struct xfer_hard){ .dev = f->source.exact.dev,
		.ino = f->source.exact.ino,
		.owner = f,
		.names = f->source.exact.nlink - 1 };
	TAILQ_INIT(&h->waiting);
	*xfer_hard_find(x->hards, h->dev, h->ino) = h;
	x->hards->used++;
	f->link.hard = h;
	return true;
}

static void
wait_for_owner(struct xfer_file *f, struct xfer_hard *h)
{
	struct xfer *x = f->x;

	fd_close(&f->fd);
	TAILQ_REMOVE(&x->files.active, f, entry);
	x->files.active_count--;
	xfer_file_enter(f, XFER_QUEUED);
	TAILQ_INSERT_TAIL(&h->waiting, f, entry);
	x->files.held++;
}

static void
link_to(struct xfer_file *f, struct xfer_hard **at)
{
	struct xfer_hard *h = *at;
	int r = 0;

	fd_close(&f->fd);
	if (f->up) {
		free(f->link.text);
		f->link.text = strdup(h->path);
		if (f->link.text == NULL) {
			xfer_report_errno(f->x, f->remote, ENOMEM);
			xfer_link_ends(f, false);
			return;
		}
	}
	if (!f->up)
		r = link_local(f, h);
	if (--h->names == 0)
		xfer_hard_remove(f->x->hards, at); /* it was the last name */
	if (f->up) {
		xfer_file_enter(f, XFER_LINKING);
		xfer_linking_forget(f);
		link_remote(f);
	} else if (r == 0) {
		xfer_link_ends(f, true);
	} else {
		copy_instead(f, "cannot be made a hard link: copied");
	}
}

bool
xfer_hard_start(struct xfer_file *f)
{
	struct xfer *x = f->x;
	struct xfer_hard **at = NULL;

	if (!(f->up ? xfer_has(x, SFTP_EXT_HARDLINK) : f->source.exact.known)) {
		if (!x->noted.no_hard_links)
			xfer_note(x, NULL, "the server knows nothing of hard "
			    "links: each name is copied");
		x->noted.no_hard_links = true;
		return false;
	}
	if (f->link.hard != NULL || f->source.exact.nlink < 2)
		return false;
	if (x->hards != NULL && x->hards->size > 0)
		at = xfer_hard_find(x->hards, f->source.exact.dev,
		    f->source.exact.ino);
	if (at == NULL || *at == NULL) {
		(void)hard_add(f);
		return false;
	}
	if ((*at)->owner != NULL)
		wait_for_owner(f, *at);
	else
		link_to(f, at);
	return true;
}

/* Is the target a copy of its own, to which further names may be linked? Not if
 * the data was written through a link or to a device. */
static bool
is_copy(const struct xfer_file *f)
{
	const struct sftp_attrs *t = &f->target.attrs;

	return !f->failed && (!(t->flags & SFTP_A_MODE) || S_ISREG(t->mode));
}

void
xfer_hard_done(struct xfer_file *f)
{
	struct xfer_hard *h = f->link.hard;
	struct xfer *x = f->x;
	struct xfer_file *other;

	if (h == NULL)
		return;
	f->link.hard = NULL;
	h->owner = NULL;
	if (is_copy(f))
		h->path = strdup(f->up ? f->remote : f->local);
	if (!f->up && h->path != NULL)
		h->at = local_dir_ref(f->at);
	while ((other = TAILQ_FIRST(&h->waiting)) != NULL) {
		TAILQ_REMOVE(&h->waiting, other, entry);
		x->files.held--;
		if (x->stopped)
			TAILQ_INSERT_TAIL(&x->files.done, other, entry);
		else
			xfer_queue_file(other);
	}
	if (h->path == NULL) /* the next name is copied */
		xfer_hard_remove(x->hards,
		    xfer_hard_find(x->hards, h->dev, h->ino));
}

void
xfer_hard_free(struct xfer *x)
{
	struct xfer_hard_table *t = x->hards;
	struct xfer_hard *h;
	struct xfer_file *f;

	for (size_t i = 0; t != NULL && i < t->size; i++)
		while ((h = t->rows[i]) != NULL) {
			while ((f = TAILQ_FIRST(&h->waiting)) != NULL) {
				TAILQ_REMOVE(&h->waiting, f, entry);
				f->dir = NULL;
				xfer_file_free(f);
			}
			xfer_hard_remove(t, &t->rows[i]);
		}
	if (t != NULL)
		free(t->rows);
	free(t);
	x->hards = NULL;
}
