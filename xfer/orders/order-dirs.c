/* SPDX-License-Identifier: ISC */
/*
 * Directories of a plan. They are made as they are ordered, many at a time. A
 * server that keeps the order of requests gets what is in a directory right
 * behind its MKDIR, over the same stream; else that waits for the answer (see
 * xfer_orders_wait()). While a directory is filled its owner may write to it,
 * whatever its mode says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/orders/ordered.h"

enum {
	MODE_OWNER = 0700,
	DIRS_MAX = 1024, /* under way */
	FIXES_MAX = 8192,
	MODE_ALL = 07777,
};

/* A directory that the server is asked to make. */
struct xfer_order_dir {
	struct xfer_away away; /* away removes what has the directory's name */
	uint64_t id, number;
	uint32_t mode;
	bool slow, follow, answered;
	TAILQ_ENTRY(xfer_order_dir) entry;
};

static uint32_t
mode_of(const struct xfer_order *o)
{
	return (o->attrs->mode & 0777) | MODE_OWNER;
}

/* ---- made on this host -------------------------------------------------- */

/* Something that is no directory goes, if the order says so. False: an errno,
 * or 0 if that was reported. */
static bool
clear_here(struct xfer *x, const struct xfer_order *o, struct local_dir *at,
    const char *name, int *error)
{
	struct xfer_below backup = xfer_order_below(o);
	struct xfer_away a;
	bool gone;

	*error = EEXIST;
	if (!o->replaces_kind)
		return false;
	*error = ENOMEM;
	if (!xfer_away_init(&a, x, o->local, o->was, o->backup))
		return false;
	a.dir = false;
	backup.path = a.backup;
	xfer_away_here(&a, a.backup != NULL ? &backup : NULL, at, name);
	*error = 0;
	gone = a.end == XFER_AWAY_DONE || a.end == XFER_AWAY_GONE;
	if (!gone)
		xfer_away_report(&a);
	xfer_away_clear(&a);
	return gone;
}

/* Makes the directory of an order on this host. 0, or an errno; -1: the failure
 * was reported. */
static int
make_here(struct xfer *x, const struct xfer_order *o, struct local_dir *at,
    const char *name)
{
	struct local_dir *d = NULL;
	int r, error;
	struct stat st;
	bool made;

	if (strcmp(name, ".") == 0) /* the root, which is held */
		return 0;
	x->found->make_way(x, at, name);
	r = local_make(at, name, mode_of(o), o->links, &d, &made);
	if (r != 0 && (errno == EEXIST || errno == ELOOP || errno == ENOLINK)) {
		if (!clear_here(x, o, at, name, &error))
			return error != 0 ? error : -1;
		r = local_make(at, name, mode_of(o), o->links, &d, &made);
	}
	if (r != 0)
		return errno;
	/* The owner must be able to make files in a directory that existed
	 * before. */
	if (!made && local_dir_stat(d, &st) == 0 &&
	    (st.st_mode & MODE_OWNER) != MODE_OWNER)
		(void)!local_dir_set_mode(d,
		    (st.st_mode & MODE_ALL) | MODE_OWNER);
	local_dir_unref(d);
	return 0;
}

static void
make_local(struct xfer *x, const struct xfer_order *o)
{
	const char *name;
	struct local_dir *at = xfer_order_place(x, o, &name);
	int error = at == NULL ? errno : make_here(x, o, at, name);

	if (error == 0)
		xfer_settle_dir(x, o->local, at);
	local_dir_unref(at);
	if (error > 0)
		xfer_order_fails(x, o, error);
	else
		xfer_order_ends(x, o->id, error == 0, 0);
}

/* ---- made at a server --------------------------------------------------- */

static void
dir_ends(struct xfer_order_dir *d, bool ok)
{
	struct xfer *x = d->away.x;
	struct xfer_ordered *s = x->orders;

	d->answered = true;
	s->slow_dirs -= d->slow;
	s->dirs--;
	xfer_order_ends(x, d->id, ok, 0);
	xfer_away_clear(&d->away);
	while ((d = TAILQ_FIRST(&s->making)) != NULL && d->answered) {
		s->dirs_answered = d->number;
		TAILQ_REMOVE(&s->making, d, entry);
		free(d);
	}
}

static void
dir_refused(struct xfer_order_dir *d, const struct sftp_reply *reply)
{
	struct xfer *x = d->away.x;

	if (!x->over && reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_report(x, d->away.path, "Not a directory");
	else if (!x->over)
		xfer_report_reply(x, d->away.path, reply);
	dir_ends(d, false);
}

static void
opened_up(void *arg, const struct sftp_reply *reply)
{
	(void)reply; /* a failure shows when files are made in it */
	dir_ends(arg, true);
}

/* The directory is there already. Its owner gets the right to fill it. */
static void
open_up(struct xfer_order_dir *d, const struct sftp_attrs *found)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE,
		.mode = (found->mode & MODE_ALL) | MODE_OWNER };
	const struct xfer_path_request q = { .type = SFTP_SETSTAT,
		.path = d->away.path, .attrs = &a };

	if ((found->mode & MODE_OWNER) == MODE_OWNER ||
	    !(found->flags & SFTP_A_MODE))
		dir_ends(d, true);
	else
		xfer_request_path(d->away.x, &q, opened_up, d);
}

static void
exists(void *arg, const struct sftp_reply *reply)
{
	struct xfer_order_dir *d = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    S_ISDIR(reply->attrs.mode) && !d->away.x->over) {
		open_up(d, &reply->attrs);
	} else if (reply->err == 0 && reply->type == SFTP_STATUS &&
	    d->away.words != NULL) {
		/* The way was free: the reason why MKDIR failed is reported. */
		if (!d->away.x->over)
			xfer_report(d->away.x, d->away.path, d->away.words);
		dir_ends(d, false);
	} else
		dir_refused(d, reply);
}

static void
made(void *arg, const struct sftp_reply *reply)
{
	struct xfer_order_dir *d = arg;
	const struct xfer_path_request q = { .path = d->away.path,
		.type = d->follow ? SFTP_STAT : SFTP_LSTAT };

	if (reply->err == 0 && reply->status == SFTP_OK) {
		if (!d->away.x->over)
			xfer_settle_dir(d->away.x, d->away.path, NULL);
		dir_ends(d, true);
	} else if (reply->err == 0 && reply->status == SFTP_FAILURE &&
	    !d->away.x->over) {
		xfer_keep_words(&d->away.words, reply);
		xfer_request_path(d->away.x, &q, exists, d);
	} else
		dir_refused(d, reply);
}

static void
make(struct xfer_order_dir *d)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = d->mode };
	const struct xfer_path_request q = { .type = SFTP_MKDIR,
		.path = d->away.path, .attrs = &a };

	xfer_request_path(d->away.x, &q, made, d);
}

static void
cleared(struct xfer_away *a)
{
	struct xfer_order_dir *d = (struct xfer_order_dir *)a;

	if ((a->end == XFER_AWAY_DONE || a->end == XFER_AWAY_GONE) &&
	    !a->x->over) {
		make(d);
		return;
	}
	if (!a->x->over)
		xfer_away_report(a);
	dir_ends(d, false);
}

static void
looked(struct xfer_away *a)
{
	if (a->end == XFER_AWAY_DONE && !a->x->over)
		xfer_away_go(a);
	else
		cleared(a);
}

static void
make_remote(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_ordered *s = x->orders;
	struct xfer_order_dir *d = calloc(1, sizeof *d);

	if (d == NULL || !xfer_away_init(&d->away, x, o->remote, o->was,
	    o->backup)) {
		free(d);
		xfer_order_fails(x, o, ENOMEM);
		return;
	}
	d->away.dir = false;
	d->away.looked = looked;
	d->away.done = cleared;
	d->id = o->id;
	d->number = ++s->dirs_asked;
	d->mode = mode_of(o);
	d->follow = o->links != LOCAL_LINKS_NONE;
	d->slow = o->replaces_kind;
	s->slow_dirs += d->slow;
	s->dirs++;
	TAILQ_INSERT_TAIL(&s->making, d, entry);
	if (d->slow)
		xfer_away_look(&d->away);
	else if (o->was != NULL && S_ISDIR(o->was->mode))
		open_up(d, o->was);
	else
		make(d);
}

bool
xfer_order_make_dir(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_ordered *s = x->orders;
	struct xfer_stream *l = xfer_stream_first(x);

	if (!s->up) {
		make_local(x, o);
		return true;
	}
	/* If the server may change the order of requests, the directory above
	 * has to exist before this one is asked for. */
	if (s->slow_dirs > 0 || s->dirs >= DIRS_MAX ||
	    (s->dirs > 0 && (l == NULL || !sftp_keeps_order(l->s))))
		return false;
	make_remote(x, o);
	return true;
}

/* ---- attributes, on this host ------------------------------------------- */

static int
fix_here(struct xfer *x, struct local_dir *d, const struct xfer_order *o)
{
	static const struct xfer_exact none = { .known = false };
	const struct sftp_attrs *a = o->attrs;
	struct timespec ts[2];

	xfer_times(a, o->exact != NULL ? o->exact : &none, ts);
	if ((a->flags & SFTP_A_OWNER) &&
	    local_dir_set_owner(d, a->uid, a->gid) != 0)
		return errno;
	if (o->xattrs.kinds != 0 && local_dir_set_xattrs(d, &o->xattrs) != 0)
		xfer_report_tried(x, XFER_TRIED_XATTRS, o->local,
		    local_error_text(errno));
	if ((a->flags & SFTP_A_TIMES) && local_dir_set_times(d, ts) != 0)
		return errno;
	if ((a->flags & SFTP_A_MODE) &&
	    local_dir_set_mode(d, a->mode & MODE_ALL) != 0)
		return errno;
	return 0;
}

static void
fix_local(struct xfer *x, const struct xfer_order *o)
{
	const struct xfer_below below = xfer_order_below(o);
	struct local_dir *d = o->at != NULL ?
	    xfer_place_dir(&x->orders->places, &below) :
	    local_root(x->local, o->local, LOCAL_LINKS_OWN);
	int error = d == NULL ? errno : fix_here(x, d, o);

	local_dir_unref(d);
	if (error != 0)
		xfer_order_fails(x, o, error);
	else
		xfer_order_ends(x, o->id, true, 0);
}

/* ---- attributes, at a server -------------------------------------------- */

/* The steps by which a directory gets its attributes: the owner first, then
 * extended attributes, then times, for which it may have to be opened, and the
 * mode at the end, because it may forbid the others. */
struct fix {
	struct xfer *x;
	uint64_t id;
	struct sftp_attrs attrs; /* flags: what is left to be set */
	struct xfer_exact exact;
	struct xfer_stream *stream; /* of OPENDIR */
	unsigned pending;
	bool failed;
	bool follow; /* the path may be a link to the directory */
	uint32_t xattr_kinds; /* kinds of extended attributes that are left to
			       * be set */
	struct buf xattr_set;
	char path[];
};

static void fix_next(struct fix *f);

static void
fix_answered(struct fix *f)
{
	if (--f->pending == 0)
		fix_next(f);
}

static void
fix_done(void *arg, const struct sftp_reply *reply)
{
	struct fix *f = arg;

	if (reply->err != 0 || reply->status != SFTP_OK) {
		if (!f->failed && !f->x->over)
			xfer_report_reply(f->x, f->path, reply);
		f->failed = true;
	}
	fix_answered(f);
}

static void
fix_set(struct fix *f, uint32_t what)
{
	struct sftp_attrs a = f->attrs;
	const struct xfer_path_request q = { .type = SFTP_SETSTAT,
		.path = f->path, .attrs = &a };

	a.flags = f->attrs.flags & what;
	a.mode &= MODE_ALL;
	if (a.flags == 0)
		return;
	f->attrs.flags &= ~what;
	f->pending++;
	xfer_request_path(f->x, &q, fix_done, f);
}

/* A failure is reported, but the directory counts as made. */
static void
xattrs_done(void *arg, const struct sftp_reply *reply)
{
	struct fix *f = arg;

	if ((reply->err != 0 || reply->status != SFTP_OK) && !f->x->over)
		xfer_report_reply_tried(f->x, XFER_TRIED_XATTRS, f->path,
		    reply);
	fix_answered(f);
}

static void
fix_xattrs(struct fix *f)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_XATTRS, .path = f->path,
		.follow = f->follow,
		.xattrs = { f->xattr_kinds, buf_span(&f->xattr_set) } };

	f->xattr_kinds = 0;
	f->pending++;
	xfer_request_path(f->x, &q, xattrs_done, f);
}

/* Answer to the request for exact times. If it failed, those of version 3 are
 * set. */
static void
times_done(void *arg, const struct sftp_reply *reply)
{
	struct fix *f = arg;

	if (reply->err != 0 || reply->status != SFTP_OK)
		f->attrs.flags |= SFTP_A_TIMES;
	fix_answered(f);
}

/* Sets the times by the path, where the server can do that: this saves a round
 * trip. */
static void
fix_times_by_name(struct fix *f)
{
	f->exact.known = false; /* from here on */
	f->attrs.flags &= ~(uint32_t)SFTP_A_TIMES;
	f->pending++;
	sftp_times_ns_name(f->stream->s, f->path, f->exact.times, times_done,
	    f);
	if (sftp_keeps_order(f->stream->s))
		fix_set(f, SFTP_A_MODE);
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct fix *f = arg;
	struct sftp_handle h;

	f->exact.known = false; /* from here on */
	if (reply->err == 0 && reply->type == SFTP_HANDLE && !f->x->over) {
		sftp_keep_handle(&h, reply);
		f->attrs.flags &= ~(uint32_t)SFTP_A_TIMES;
		f->pending++;
		sftp_times_ns(f->stream->s, &h, f->exact.times, times_done, f);
		sftp_close(f->stream->s, &h, NULL, NULL);
		if (sftp_keeps_order(f->stream->s))
			fix_set(f, SFTP_A_MODE);
	}
	fix_answered(f);
}

static void
fix_next(struct fix *f)
{
	struct xfer *x = f->x;
	bool before, in_order;

	f->pending++; /* until all is sent */
	if (x->over)
		f->attrs.flags = f->xattr_kinds = 0;
	f->stream = xfer_stream_first(x);
	in_order = f->stream != NULL && sftp_keeps_order(f->stream->s) &&
	    TAILQ_EMPTY(&x->requests.unsent);
	before = (f->attrs.flags & SFTP_A_OWNER) != 0 || f->xattr_kinds != 0;
	if ((f->attrs.flags & SFTP_A_OWNER) != 0)
		fix_set(f, SFTP_A_OWNER);
	if (f->xattr_kinds != 0)
		fix_xattrs(f);
	/* Extended attributes come before the mode: setting them may clear bits
	 * of it, and an ACL changes it. */
	if (before && !in_order) {
		fix_answered(f);
		return;
	}
	/* times-ns-name would set the times of the link itself. */
	if ((f->attrs.flags & SFTP_A_TIMES) && !f->follow &&
	    xfer_wants_times_ns(x, &f->exact) && f->stream != NULL &&
	    sftp_has(f->stream->s, SFTP_EXT_TIMES_NS_NAME)) {
		fix_times_by_name(f);
	} else if ((f->attrs.flags & SFTP_A_TIMES) &&
	    xfer_wants_times_ns(x, &f->exact) && f->stream != NULL) {
		f->pending++;
		sftp_path_request(f->stream->s, SFTP_OPENDIR, f->path, opened,
		    f);
	} else if (f->attrs.flags != 0) {
		fix_set(f, SFTP_A_TIMES | SFTP_A_MODE);
	} else if (f->pending == 1) {
		x->orders->fixes--;
		xfer_order_ends(x, f->id, !f->failed, 0);
		buf_clear(&f->xattr_set);
		free(f);
		return;
	}
	fix_answered(f);
}

static void
fix_remote(struct xfer *x, const struct xfer_order *o)
{
	size_t size = strlen(o->remote) + 1;
	struct fix *f = calloc(1, sizeof *f + size);

	if (f != NULL)
		buf_put(&f->xattr_set, o->xattrs.set.p, o->xattrs.set.len);
	if (f == NULL || buf_err(&f->xattr_set) < 0) {
		free(f);
		xfer_order_fails(x, o, ENOMEM);
		return;
	}
	f->x = x;
	f->id = o->id;
	f->xattr_kinds = o->xattrs.kinds;
	f->follow = o->dir_links;
	f->attrs = *o->attrs;
	f->attrs.flags &= SFTP_A_OWNER | SFTP_A_TIMES | SFTP_A_MODE;
	if (o->exact != NULL)
		f->exact = *o->exact;
	memcpy(f->path, o->remote, size);
	x->orders->fixes++;
	fix_next(f);
}

/* The number of directories that may get their attributes at a time: each may
 * need a handle, if times cannot be set by the path. */
static size_t
fixes_max(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_stream *l = xfer_stream_first(x);
	size_t handles = l != NULL ? sftp_handles_max(l->s) / 2 : 0;

	if (l != NULL && !o->dir_links &&
	    sftp_has(l->s, SFTP_EXT_TIMES_NS_NAME))
		return FIXES_MAX;
	return MIN(handles, (size_t)FIXES_MAX);
}

bool
xfer_order_fix_dir(struct xfer *x, const struct xfer_order *o)
{
	/* A directory whose new mode closes it to its owner waits for those
	 * below it. */
	bool closes = (o->attrs->flags & SFTP_A_MODE) &&
	    (o->attrs->mode & S_IXUSR) == 0;
	size_t most = fixes_max(x, o);

	if (!x->orders->up) {
		fix_local(x, o);
		return true;
	}
	if (x->orders->fixes > 0 && (closes || x->orders->fixes >= most))
		return false;
	fix_remote(x, o);
	return true;
}
