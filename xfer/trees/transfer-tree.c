/* SPDX-License-Identifier: ISC */
/*
 * Directories: their beginning and their end. One that is found waits (in
 * x->dirs.waiting, last found first) until transfer-list.c lists it. An upload
 * makes it on the server meanwhile. MKDIRs for the directories in it follow at
 * once; its files are held until it is there. A directory ends when all below
 * it has ended. Only then are its attributes set, because its times change
 * before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/trees/transfer-dir.h"
#include "xfer/trees/transfer-meet.h"
#include "xfer/trees/transfer-space.h"

enum {
	MODE_OWNER = 0700,
	TRIES_MAX = 8, /* tries of MKDIR: that of its parent may have been
			* lost */
};

/* --- life --- */

static void
dir_free(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	TAILQ_REMOVE(&x->dirs.all, d, all);
	x->dirs.count--;
	xfer_dir_unlist(d);
	xfer_there_free(d);
	xfer_meet_free(d->meet);
	local_dir_unref(d->at);
	free(d->local);
	free(d->remote);
	free(d);
}

void
xfer_dirs_free(struct xfer *x)
{
	struct xfer_dir *d;

	while ((d = TAILQ_FIRST(&x->dirs.all)) != NULL)
		dir_free(d);
}

/* --- the end of a directory --- */

static void
dir_gone(struct xfer_dir *d)
{
	struct xfer_dir *parent = d->parent;

	d->x->found->dir_whole(d);
	dir_free(d);
	xfer_dir_unref(parent);
}

static void
fix_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (d->x->over)
		return;
	if (reply->err != 0 || reply->status != SFTP_OK)
		xfer_report_reply(d->x, d->remote, reply);
	dir_gone(d);
}

static void
fix_local(struct xfer_dir *d)
{
	const struct sftp_attrs *a = &d->attrs;
	mode_t mode = a->mode & XFER_MODE_PRESERVED;
	struct timespec ts[2];

	xfer_times(a, &d->exact, ts);
	if (!d->x->opts.preserve)
		mode &= XFER_MODE_COPIED & ~d->x->umask;
	if (((a->flags & SFTP_A_MODE) &&
		local_dir_set_mode(d->at, mode) != 0) ||
	    (d->x->opts.preserve && (a->flags & SFTP_A_TIMES) &&
		local_dir_set_times(d->at, ts) != 0))
		xfer_report_errno(d->x, d->local, errno);
}

static void
fix_remote(struct xfer_dir *d, uint32_t what)
{
	struct sftp_attrs a = d->attrs;
	const struct xfer_path_request q = { .type = SFTP_SETSTAT,
		.path = d->remote, .attrs = &a };

	a.flags &= what;
	a.mode &= d->x->opts.preserve ? XFER_MODE_PRESERVED : XFER_MODE_COPIED;
	xfer_request_path(d->x, &q, fix_done, d);
}

/* Answer to the request for exact times. If it failed, the times of version 3
 * are set. */
static void
times_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err == ERR_CANCELLED || d->x->over)
		return;
	fix_remote(d, reply->err == 0 && reply->status == SFTP_OK ?
		SFTP_A_MODE : SFTP_A_MODE | SFTP_A_TIMES);
}

/* Answer to OPENDIR of a directory that gets exact times. It is opened for that
 * before its mode is set, because the mode may forbid to open it. */
static void
times_open(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	struct xfer_stream *stream = d->listing.stream;
	bool refused = xfer_opendir_answered(d, stream, reply);
	struct sftp_handle h;

	d->listing.stream = NULL;
	if (reply->err == ERR_CANCELLED || d->x->over)
		return;
	if (refused || reply->err != 0) {
		TAILQ_INSERT_TAIL(&d->x->dirs.fixing, d, entry);
		return;
	}
	if (reply->type != SFTP_HANDLE) {
		fix_remote(d, SFTP_A_MODE | SFTP_A_TIMES);
		return;
	}
	sftp_keep_handle(&h, reply);
	sftp_times_ns(stream->s, &h, d->exact.times, times_done, d);
	xfer_closedir_send(stream, &h);
}

/* Sets exact times of directories that have ended. Each one needs a handle for
 * that. */
void
xfer_dirs_fix(struct xfer *x)
{
	struct xfer_stream *first;
	struct xfer_dir *d;

	while ((d = TAILQ_FIRST(&x->dirs.fixing)) != NULL &&
	    (first = xfer_stream_first(x)) != NULL) {
		if (!sftp_has(first->s, SFTP_EXT_TIMES_NS)) {
			TAILQ_REMOVE(&x->dirs.fixing, d, entry);
			fix_remote(d, SFTP_A_MODE | SFTP_A_TIMES);
		} else if (xfer_opendirs_left(first) > 0) {
			TAILQ_REMOVE(&x->dirs.fixing, d, entry);
			xfer_opendir_send(d, first, d->remote, times_open);
		} else {
			break;
		}
	}
}

/* Sets the mode and times of d. False if the server is asked to, so that d ends
 * with its answer. */
static bool
fix(struct xfer_dir *d)
{
	bool preserve = d->x->opts.preserve;

	/* Without -p a directory that was there before keeps its mode. */
	if (d->state == XFER_DIR_FAILED || !d->fix ||
	    !(preserve || d->state == XFER_DIR_MADE))
		return true;
	if (!d->up) {
		fix_local(d);
		return true;
	}
	if (preserve && xfer_wants_times_ns(d->x, &d->exact))
		TAILQ_INSERT_TAIL(&d->x->dirs.fixing, d, entry);
	else
		fix_remote(d, preserve ? SFTP_A_MODE | SFTP_A_TIMES :
					 SFTP_A_MODE);
	return false;
}

/* Ends d and the directories above it that had nothing else left. This is no
 * recursion, because a tree may be deep. */
void
xfer_dir_unref(struct xfer_dir *d)
{
	struct xfer_dir *parent;

	for (; d != NULL; d = parent) {
		ENSURE(d->refs > 0);
		/* When the transfer is over, xfer_free() frees all
		 * directories. */
		if (--d->refs > 0 || d->x->over || !fix(d))
			return;
		parent = d->parent;
		d->x->found->dir_whole(d);
		dir_free(d);
	}
}

/* --- the start of a directory --- */

/* Is d listed only after it was made? That is so for a root. If links are
 * copied it is so for each directory: no MKDIR below it may go through a link
 * that has its name. */
static bool
is_listed_late(const struct xfer_dir *d)
{
	return d->up && (d->parent == NULL || d->x->opts.links);
}

/* Called when it is known whether d can be filled. Its files are queued, or
 * dropped. */
static void
dir_settled(struct xfer_dir *d, enum xfer_dir_state state)
{
	bool there = state != XFER_DIR_FAILED;
	struct xfer_file *f;

	d->state = state;
	if (is_listed_late(d) && there)
		xfer_dir_wait(d);
	else if (is_listed_late(d))
		d->refs--; /* it will not be listed */
	while ((f = TAILQ_FIRST(&d->held)) != NULL) {
		TAILQ_REMOVE(&d->held, f, entry);
		d->x->files.held--;
		if (there && !d->x->stopped)
			xfer_queue_file(f);
		else
			TAILQ_INSERT_TAIL(&d->x->files.done, f, entry);
	}
	xfer_meet_turn(d->meet);
	xfer_dir_unref(d);
}

void
xfer_dir_found(struct xfer_dir *d)
{
	dir_settled(d, XFER_DIR_FOUND);
}

/* d cannot be made. If its parent has failed, that was reported, and d is not
 * reported. */
static void
dir_refused(struct xfer_dir *d, const struct sftp_reply *reply)
{
	if (d->parent != NULL && d->parent->state == XFER_DIR_FAILED)
		;
	else if (reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_report(d->x, d->remote, "Not a directory");
	else
		xfer_report_reply(d->x, d->remote, reply);
	dir_settled(d, XFER_DIR_FAILED);
}

static void
exists_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (d->x->over)
		return;
	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    S_ISDIR(reply->attrs.mode)) {
		if (!xfer_there_begin(d))
			xfer_dir_found(d);
	} else {
		dir_refused(d, reply);
	}
}

static void
mkdir_done(void *arg, const struct sftp_reply *reply);

static void
make_remote(struct xfer_dir *d)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE,
		.mode = d->attrs.flags & SFTP_A_MODE ?
		    (d->attrs.mode & 0777) | MODE_OWNER :
		    0777 };
	const struct xfer_path_request q = { .type = SFTP_MKDIR,
		.path = d->remote, .attrs = &a };

	d->tries++;
	xfer_request_path(d->x, &q, mkdir_done, d);
}

static void
mkdir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	/* If links are copied, no file may be written through a link, not even
	 * where a root is one: another copy to the same name may have made it
	 * just before. */
	const struct xfer_path_request q = { .path = d->remote,
		.type = d->x->opts.links ? SFTP_LSTAT : SFTP_STAT };

	if (d->x->over)
		return;
	if (reply->err == 0 && reply->status == SFTP_OK) {
		dir_settled(d, XFER_DIR_MADE);
	} else if (reply->err == 0 && reply->status == SFTP_FAILURE) {
		/* A directory of that name may be there already. */
		xfer_request_path(d->x, &q, exists_done, d);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE &&
	    d->parent != NULL && d->parent->state != XFER_DIR_FAILED &&
	    d->tries < TRIES_MAX) {
		make_remote(d);
	} else {
		dir_refused(d, reply);
	}
}

/* Makes d on this host. Where links are copied, d must not be a link, not even
 * as a root: the server could write files elsewhere through a link that it has
 * sent, maybe by another copy. */
static bool
make_local(struct xfer_dir *d, mode_t mode)
{
	struct xfer *x = d->x;
	const char *name = local_last_name(d->local);
	struct local_dir *above = d->parent != NULL ?
	    local_dir_ref(d->parent->at) :
	    local_place(x->local, d->local, LOCAL_LINKS_OWN, &name);
	bool made = false;
	struct stat st;
	int r = -1;

	if (above != NULL)
		x->found->make_way(x, above, name);
	if (above != NULL)
		r = local_make(above, name, mode, xfer_target_links(x), &d->at,
		    &made);
	local_dir_unref(above);
	if (r != 0)
		return false;
	/* A directory that a copy with -p has left read-only is to be filled
	 * again. */
	if (!made && x->opts.preserve && local_dir_stat(d->at, &st) == 0 &&
	    (st.st_mode & MODE_OWNER) != MODE_OWNER)
		(void)!local_dir_set_mode(d->at,
		    (st.st_mode & 07777) | MODE_OWNER);
	d->state = made ? XFER_DIR_MADE : XFER_DIR_FOUND;
	return true;
}

static void
exact_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (d->x->over)
		return;
	if (xfer_exact_from_reply(&d->exact, reply))
		d->attrs.flags |= SFTP_A_TIMES;
	xfer_dir_unref(d);
}

static void
stat_exact(struct xfer_dir *d)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STAT_NS, .path = d->remote, .follow = true };

	if (!d->x->opts.preserve || !xfer_has(d->x, SFTP_EXT_STAT_NS))
		return;
	d->refs++;
	xfer_request_path(d->x, &q, exact_done, d);
}

static void
tell_entered(const struct xfer_dir *d)
{
	const struct xfer_opts *o = &d->x->opts;

	if (o->entered != NULL)
		o->entered(o->report_arg, d->up, d->up ? d->local : d->remote);
}

/* Makes d, with a mode that lets us write to it while it is filled. */
static void
make_dir(struct xfer_dir *d)
{
	mode_t mode = (d->attrs.mode & 0777) | MODE_OWNER;

	tell_entered(d);
	if ((d->attrs.flags & SFTP_A_MODE) == 0)
		mode = 0777;
	else
		d->fix = (d->attrs.mode & MODE_OWNER) != MODE_OWNER;
	d->fix |= d->x->opts.preserve;
	if (d->up) {
		if (!is_listed_late(d))
			xfer_dir_wait(d);
		d->refs++;
		make_remote(d);
		return;
	}
	if (make_local(d, mode)) {
		stat_exact(d);
		xfer_dir_wait(d);
		return;
	}
	xfer_report_errno(d->x, d->local, errno);
	d->state = XFER_DIR_FAILED;
	xfer_dir_unref(d);
}

/* The reason why a directory that was found is not copied; NULL: it is
 * copied. */
static const char *
refusal(const struct xfer *x, const struct xfer_found *found, unsigned links)
{
	if (strlen(found->local) >= XFER_PATH_MAX ||
	    strlen(found->remote) >= XFER_PATH_MAX)
		return "the path is too long";
	if (links > XFER_LINKS_MAX)
		return "directories are too deep (a loop of links?)";
	return x->dirs.count >= XFER_DIRS_MAX ? "too many directories" : NULL;
}

static void
found_drop(const struct xfer_found *found)
{
	local_dir_unref(found->at);
	free(found->local);
	free(found->remote);
}

static struct xfer_dir *
dir_new(struct xfer *x, struct xfer_dir *parent,
    const struct xfer_found *found, unsigned links)
{
	struct xfer_dir *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	*d = (struct xfer_dir){ .x = x, .parent = parent, .refs = 1,
		.up = found->up,
		.depth = parent != NULL ? parent->depth + 1 : 0,
		.links = links, .at = found->at, .local = found->local,
		.remote = found->remote, .attrs = *found->attrs };
	if (found->exact != NULL)
		d->exact = *found->exact;
	TAILQ_INIT(&d->held);
	if (parent != NULL)
		parent->refs++;
	TAILQ_INSERT_TAIL(&x->dirs.all, d, all);
	x->dirs.count++;
	x->dirs.any = true;
	return d;
}

int
xfer_add_dir(struct xfer *x, struct xfer_dir *parent,
    const struct xfer_found *found)
{
	unsigned links = (parent != NULL ? parent->links : 0) + found->by_link;
	struct xfer_dir *d = NULL;
	const char *why = NULL;
	int r = 0;

	if (found->local == NULL || found->remote == NULL)
		r = ERR_NOMEM;
	else if (!x->stopped)
		why = refusal(x, found, links);
	if (why != NULL)
		xfer_report(x, found->up ? found->local : found->remote, why);
	else if (r == 0 && !x->stopped &&
	    (d = dir_new(x, parent, found, links)) == NULL)
		r = ERR_NOMEM;
	if (d != NULL)
		xfer_space_tree(d);
	if (d != NULL)
		make_dir(d);
	else
		found_drop(found);
	return x->stopped ? 0 : r;
}
