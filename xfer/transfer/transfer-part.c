/* SPDX-License-Identifier: ISC */
/*
 * Where the data of a file goes first: to a part (xfer/part-name.h), which is
 * renamed over the target when it is whole, or into the target itself, so that
 * whatever hangs on the file stays. xfer/target-plan.h decides. The mode of
 * what is replaced is given to what takes its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/transfer/transfer-internal.h"

enum target_plan
xfer_plan(const struct xfer_file *f)
{
	const struct sftp_attrs *t = &f->target.attrs, *made = &f->part.made;
	unsigned facts = 0;

	/* A plan's target is replaced, whatever hangs on it, unless it is
	 * written in place. */
	if (f->duty != NULL && f->part.name != NULL)
		return TARGET_RENAME;
	facts |= xfer_between_same(f) ? TARGET_IS_SOURCE : 0;
	facts |= f->part.name == NULL ? TARGET_NO_PART : 0;
	facts |= f->target.read_only ? TARGET_READ_ONLY : 0;
	if (t->flags == 0)
		return target_plan(facts);
	facts |= TARGET_THERE;
	if (!(t->flags & SFTP_A_MODE) || S_ISREG(t->mode))
		facts |= TARGET_REGULAR;
	if (f->target.nlink > 1)
		facts |= TARGET_NAMES;
	if ((t->flags & made->flags & SFTP_A_OWNER) &&
	    (t->uid != made->uid || t->gid != made->gid))
		facts |= TARGET_OTHER_OWNER;
	return target_plan(facts);
}

bool
xfer_part_is_empty(const struct xfer_file *f)
{
	/* With -Z an empty part of this run is taken over. */
	bool made = f->target.reuse == XFER_REUSE_NOTHING ||
	    (f->target.reuse == XFER_REUSE_CHECKED && f->made.ours &&
		f->part.old.size == 0);

	return f->part.name != NULL && made && (!f->up || f->made.ours) &&
	    f->progress.moved == f->progress.skipped;
}

const char *
xfer_part_local(const struct xfer_file *f)
{
	return local_last_name(f->part.name);
}

struct local_dir *
xfer_part_at(const struct xfer_file *f)
{
	return xfer_in_temp(f) ? f->x->opts.temp->at : f->at;
}

static void
stat_name(struct local_dir *at, const char *name,
    struct sftp_attrs *attrs, struct xfer_exact *exact)
{
	struct stat st;

	attrs->flags = 0;
	if (local_stat(at, name, LOCAL_LINKS_NONE, &st) != 0)
		return;
	sftp_attrs_from_stat(attrs, &st);
	xfer_exact_from_stat(exact, &st);
}

/* The target is a link, and links are copied: it is replaced, and not written
 * through, also where other targets are written in place. What has the part's
 * name was not asked for then. */
static void
skip_link(struct xfer_file *f)
{
	xfer_target_link(f);
	if (f->part.name != NULL)
		return;
	xfer_part_named(f, xfer_part_path(f, f->part_number));
	xfer_part_avoid_plan(f);
	xfer_part_foreign(f, f->up);
}

void
xfer_target_skip_replaced(struct xfer_file *f)
{
	if ((f->x->opts.links || f->duty != NULL) &&
	    (f->target.attrs.flags & SFTP_A_MODE) &&
	    S_ISLNK(f->target.attrs.mode))
		skip_link(f);
	if (f->x->opts.hard_links)
		xfer_target_names(f, 1);
}

void
xfer_part_stat(struct xfer_file *f)
{
	struct xfer_exact exact = { .known = false };
	struct sftp_attrs attrs = { .flags = 0 };

	stat_name(f->at, f->name, &attrs, &exact);
	xfer_target_seen(f, &attrs, &exact);
	xfer_target_skip_replaced(f);
	if (f->part.name == NULL || !f->resume)
		return;
	exact.nlink = 1;
	stat_name(xfer_part_at(f), xfer_part_local(f), &attrs, &exact);
	xfer_part_old(f, attrs.flags != 0 ? &attrs : NULL);
	if (f->part.there && (exact.nlink != 1 || attrs.uid != geteuid()))
		xfer_part_unused(f); /* not one of ours */
}

/* Chooses the final mode: that of a replaced target, if there is one. Else the
 * mode of a new part shows what the umask leaves. The mode of an old part says
 * nothing of this copy: a download applies the umask itself; an upload, which
 * does not know the umask of the server, only takes bits away. */
void
xfer_part_mode(struct xfer_file *f)
{
	uint32_t made = f->part.made.mode & XFER_MODE_KEPT;
	uint32_t mode = xfer_part_first_mode(f);

	if (f->target.attrs.flags & SFTP_A_MODE)
		mode = f->target.attrs.mode & XFER_MODE_KEPT;
	else if (!f->up && xfer_keeps_data(f))
		mode &= ~f->x->umask;
	else
		mode &= made;
	xfer_target_gets_mode(f, mode, made);
}

/* If a target is replaced, the part is made for its owner alone: others who
 * open it early could go on reading after its mode was changed to that of the
 * target. With -p the target gets the mode of the source in any case. Without
 * it the owner of what is downloaded may write, as with scp. */
uint32_t
xfer_part_first_mode(const struct xfer_file *f)
{
	uint32_t mode = f->source.attrs.flags & SFTP_A_MODE ?
	    f->source.attrs.mode & XFER_MODE_COPIED :
	    0666;

	if (!f->up && f->duty == NULL && !f->x->opts.preserve)
		mode |= S_IWUSR;
	if (f->part.name != NULL && (f->target.attrs.flags & SFTP_A_MODE) &&
	    (xfer_sets(f) & SFTP_A_MODE) == 0)
		mode &= S_IRWXU;
	return mode;
}

bool
xfer_part_is_lax(const struct xfer_file *f)
{
	uint32_t mode = f->part.made.flags & SFTP_A_MODE ? f->part.made.mode :
						      f->source.attrs.mode;

	return f->part.name != NULL && (f->target.attrs.flags & SFTP_A_MODE) &&
	    (xfer_sets(f) & SFTP_A_MODE) == 0 && !xfer_keeps_data(f) &&
	    (mode & ~f->target.attrs.mode & (S_IRWXG | S_IRWXO)) != 0;
}

/* --- opening --- */

static void
use_nothing(struct xfer_file *f)
{
	xfer_target_use(f, XFER_REUSE_NOTHING);
	xfer_part_unused(f);
	xfer_part_proven(f);
}

static bool
is_empty(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == 0;
}

/* Has this run made the file that has the part's name? */
static bool
is_ours(const struct xfer_file *f)
{
	struct stat st;

	return f->made.ours && f->made.seen &&
	    local_stat(xfer_part_at(f), xfer_part_local(f), LOCAL_LINKS_NONE,
		&st) == 0 &&
	    st.st_dev == f->made.dev && st.st_ino == f->made.ino;
}

void
xfer_part_refused(struct xfer_file *f)
{
	if (f->up || !is_ours(f)) {
		xfer_part_pass(f);
		return;
	}
	(void)local_remove(xfer_part_at(f), xfer_part_local(f));
	xfer_made_nothing(f);
	xfer_file_restart(f, f->resume);
}

/* Opens the old part, or makes a new one. -1 with errno. A part that was empty
 * when it was looked at needs no proof of its content, so it must still be
 * empty. */
static int
claim_part(struct xfer_file *f, mode_t mode)
{
	struct xfer_exact exact;
	struct sftp_attrs seen;
	int fd = -1;

	if (xfer_keeps_data(f))
		fd = local_part_take(xfer_part_at(f), xfer_part_local(f),
		    f->x->copy);
	if (fd >= 0 && (f->part.old.size > 0 || is_empty(fd)))
		return fd;
	fd_close(&fd);
	use_nothing(f); /* the old part is another copy's, or gone */
	for (;;) {
		fd = local_part_make(xfer_part_at(f), xfer_part_local(f),
		    mode, f->x->copy);
		if (fd < 0 && errno == EEXIST && is_ours(f)) {
			/* a part of this run, which begins the file anew */
			xfer_made_nothing(f);
			(void)local_remove(xfer_part_at(f), xfer_part_local(f));
			continue;
		}
		if (fd >= 0)
			xfer_made_here(f, fd);
		if (fd >= 0 || errno != EEXIST)
			return fd;
		stat_name(xfer_part_at(f), xfer_part_local(f), &seen, &exact);
		if (!xfer_part_next(f, &seen)) {
			errno = EEXIST;
			return -1;
		}
	}
}

/* Opens the part: 0, or the errno of the failure. After a failure the target is
 * written in place, unless is_final(). */
static int
open_part(struct xfer_file *f, mode_t mode)
{
	struct sftp_attrs made;
	struct stat st;

	f->fd = claim_part(f, mode);
	if (f->fd < 0)
		return errno;
	if (fstat(f->fd, &st) != 0)
		return 0;
	sftp_attrs_from_stat(&made, &st);
	xfer_part_opened(f, &made);
	return 0;
}

/* Closes the part and forgets its name: the target is written in place. */
static void
forget_part(struct xfer_file *f)
{
	if (f->fd >= 0) {
		if (!xfer_keeps_data(f)) /* an old one stays */
			xfer_part_remove(f, NULL);
		fd_close(&f->fd);
	}
	xfer_part_named(f, NULL);
	use_nothing(f);
}

/* Does a failure to make the part fail the file? Yes if a write in place would
 * fail as well, or spoil what another copy does. */
static bool
is_final(int error)
{
	return error == EEXIST || error == ENOSPC || error == EDQUOT ||
	    error == EIO || error == EMFILE || error == ENFILE;
}

static void
report_open(struct xfer_file *f, int error)
{
	if (xfer_file_wait_for_fds(f, error))
		return;
	if (error != EEXIST) /* for EEXIST it was told that no name is left */
		xfer_report_tried(f->x, XFER_TRIED_OPEN_LOCAL, f->local,
		    local_error_text(error));
}

/* Opens the target to write it in place. It is not cut before all data is here,
 * because it may be the source. */
static bool
open_in_place(struct xfer_file *f)
{
	struct stat st;

	f->fd = local_open_target(f->at, f->name, O_CREAT |
	    (xfer_keeps_data(f) || f->x->opts.verify || xfer_keeps_copy(f) ?
		O_RDWR : O_WRONLY),
	    xfer_part_first_mode(f), f->links);
	if (f->fd < 0) {
		report_open(f, errno);
		return false;
	}
	if (!xfer_overwrites(f))
		return true;
	xfer_target_opened(f, UINT64_MAX); /* a device tells no size */
	if (fstat(f->fd, &st) != 0) {
		report_open(f, errno); /* old content behind the end would
					* stay */
		fd_close(&f->fd);
		return false;
	}
	if (S_ISREG(st.st_mode)) {
		xfer_target_opened(f, (uint64_t)st.st_size);
		xfer_progress_needs_size(f);
	}
	return true;
}

/* Opens the part, with a mode that lets a later run read it. True also if there
 * is no part, and the target is to be written in place. */
static bool
try_part(struct xfer_file *f)
{
	int error = open_part(f, xfer_part_first_mode(f) | XFER_MODE_PART);

	if (error != 0 && !is_final(error) && xfer_in_temp(f)) {
		xfer_part_beside(f, false);
		xfer_part_named(f, xfer_part_path(f, f->part_number));
		error = open_part(f, xfer_part_first_mode(f) | XFER_MODE_PART);
	}
	if (error != 0 && is_final(error)) {
		report_open(f, error);
		return false;
	}
	if (error != 0)
		forget_part(f);
	return true;
}

bool
xfer_part_open(struct xfer_file *f)
{
	if (strchr(f->name, '/') != NULL) { /* "name/": a directory is meant */
		report_open(f, EISDIR);
		return false;
	}
	xfer_target_refused(f, (f->target.attrs.flags & SFTP_A_MODE) &&
	    local_is_read_only(f->at, f->name, f->target.attrs.mode));
	if (f->part.name != NULL && xfer_plan(f) != TARGET_REFUSE &&
	    !try_part(f))
		return false;
	switch (xfer_plan(f)) {
	case TARGET_RENAME:
		xfer_part_mode(f);
		return true;
	case TARGET_REFUSE:
		report_open(f, EACCES);
		return false;
	default:
		if (f->part.name != NULL)
			forget_part(f);
		return open_in_place(f);
	}
}

/* Links the part to the target's name, in a directory where names may be added
 * but not removed. That replaces nothing. */
static bool
link_instead(struct xfer_file *f)
{
	if (local_link(xfer_part_at(f), xfer_part_local(f), f->at, f->name) !=
	    0)
		return false;
	xfer_part_remove_surely(f);
	return true;
}

bool
xfer_part_rename(struct xfer_file *f, int lock)
{
	const char *part = xfer_part_local(f);
	struct stat st;
	int error;

	if (!xfer_way_clear_here(f))
		return false;

	/* Another file of this run may have made its part under the target's
	 * name. */
	xfer_part_make_way(f->x, f->at, f->name);
	if (local_part_to_target(lock, xfer_part_at(f), part, f->at,
		f->name) == 0)
		return true;
	error = errno;
	xfer_way_back(f);
	if (error == EXDEV && xfer_in_temp(f)) {
		(void)local_remove(xfer_part_at(f), part);
		xfer_part_beside(f, true);
		xfer_renaming_again(f);
		return true;
	}
	if ((error == EPERM || error == EACCES) && link_instead(f))
		return true;
	if (error != ESTALE && error != ENOENT)
		xfer_report_errno(f->x, f->local, error);
	else if (local_stat(xfer_part_at(f), part, LOCAL_LINKS_NONE, &st) != 0)
		xfer_report(f->x, f->local, XFER_PART_GONE);
	else
		xfer_report(f->x, f->local, XFER_PART_EXCHANGED);
	return false;
}

/* Is the target a device or a pipe, whose times are not changed? A link at a
 * server counts as a file, because what it leads to is not known. */
static bool
is_special(const struct xfer_file *f, int lock)
{
	const struct sftp_attrs *t = &f->target.attrs;
	struct stat st;

	if (!f->up)
		return fstat(lock, &st) != 0 || !S_ISREG(st.st_mode);
	return (t->flags & SFTP_A_MODE) && !S_ISREG(t->mode) &&
	    !S_ISLNK(t->mode);
}

/* Withdraws a failed copy: its part is removed. A target without a part gets
 * another time, so that a later run does not take it for complete by its size
 * and time. */
void
xfer_part_withdraw(struct xfer_file *f, int lock)
{
	uint32_t mtime = f->source.attrs.mtime == 0;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)mtime } };
	const struct sftp_attrs a = { .flags = SFTP_A_TIMES,
		.atime = f->source.attrs.atime, .mtime = mtime };
	const struct xfer_path_request q = { .type = SFTP_SETSTAT,
		.path = f->remote, .attrs = &a };

	if (f->part.name != NULL &&
	    (f->up || local_part_is(lock, xfer_part_at(f), xfer_part_local(f))))
		xfer_part_remove_surely(f);
	else if (f->part.name != NULL || is_special(f, lock))
		return;
	else if (f->up)
		xfer_request_path(f->x, &q, NULL, NULL);
	else
		(void)futimens(lock, times);
}
