/* SPDX-License-Identifier: ISC */
/*
 * Directories. One that is found waits (in x->waiting, last found first) to
 * be listed, and what it holds is queued. An upload's is made on the server
 * meanwhile: directories in it are asked for right behind, files are held
 * until it is there. It ends when all below it has ended: then its
 * attributes are set, for until then they change.
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
#include "base/str.h"
#include "xfer/transfer-int.h"

enum {
	MODE_OWNER = 0700,
	READS_MAX = 4, /* READDIR of one directory under way */
	READDIRS_MAX = 32, /* of all: each may bring a thousand names */
	REQUESTS_MAX = 8192,
	TRIES_MAX = 8, /* of MKDIR: its parent's may have been lost */
	NAMES_FIRST = 64,
};

/* --- names that were found --- */

/* When a listing is lost and begins anew, what it had told is not told
 * twice. Names are known by a hash: two with the same one are the doing of
 * a server that wants a file of its own left out. */
struct xfer_names {
	size_t used, cap;
	uint64_t *v; /* 0: free */
};

static uint64_t
name_hash(const char *name)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(1099511628211);
	return h != 0 ? h : 1;
}

static bool
names_insert(struct xfer_names *n, uint64_t h)
{
	size_t i = h & (n->cap - 1);

	while (n->v[i] != 0 && n->v[i] != h)
		i = (i + 1) & (n->cap - 1);
	if (n->v[i] == h)
		return false;
	n->v[i] = h;
	n->used++;
	return true;
}

static int
names_grow(struct xfer_names *n)
{
	struct xfer_names more = { .cap = n->cap != 0 ? n->cap * 2 :
							NAMES_FIRST };

	more.v = calloc(more.cap, sizeof *more.v);
	if (more.v == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < n->cap; i++)
		if (n->v[i] != 0)
			(void)names_insert(&more, n->v[i]);
	free(n->v);
	*n = more;
	return 0;
}

/* False: it was found before. */
static bool
name_is_new(struct xfer_dir *d, const char *name)
{
	if (d->x->source.ops == NULL)
		return true; /* no listing is made anew */
	if (d->names == NULL &&
	    (d->names = calloc(1, sizeof *d->names)) == NULL)
		return true;
	if (d->names->used * 2 >= d->names->cap && names_grow(d->names) < 0)
		return true;
	return names_insert(d->names, name_hash(name));
}

static void
names_free(struct xfer_dir *d)
{
	if (d->names != NULL)
		free(d->names->v);
	free(d->names);
	d->names = NULL;
}

/* --- life --- */

static void
dir_free(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	TAILQ_REMOVE(&x->all_dirs, d, all);
	x->dirs--;
	if (d->stream != NULL)
		closedir(d->stream);
	names_free(d);
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
	mode_t mode = a->mode & 07777;
	struct timespec ts[2];

	xfer_times(a, &d->exact, ts);
	if (!d->x->opts.preserve)
		mode &= 0777 & ~d->x->umask;
	if (((a->flags & SFTP_A_MODE) && chmod(d->local, mode) != 0) ||
	    (d->x->opts.preserve && (a->flags & SFTP_A_TIMES) &&
		utimensat(AT_FDCWD, d->local, ts, 0) != 0))
		xfer_report_errno(d->x, d->local, errno);
}

static void
fix_remote(struct xfer_dir *d, uint32_t what)
{
	struct sftp_attrs a = d->attrs;
	const struct xfer_question q = { .type = SFTP_SETSTAT,
		.path = d->remote, .attrs = &a };

	a.flags &= what;
	a.mode &= d->x->opts.preserve ? 07777 : 0777;
	xfer_ask(d->x, &q, fix_done, d);
}

/* Were the exact times set? If not, those of version 3 are. */
static void
times_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err == ERR_CANCELLED || d->x->over)
		return;
	fix_remote(d, reply->err == 0 && reply->status == SFTP_OK ?
		SFTP_A_MODE : SFTP_A_MODE | SFTP_A_TIMES);
}

/* The handle is given back before the mode may forbid to open it. */
static void
times_open(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	struct sftp_handle h;

	if (reply->err == ERR_CANCELLED || d->x->over)
		return;
	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		fix_remote(d, SFTP_A_MODE | SFTP_A_TIMES);
		return;
	}
	sftp_keep_handle(&h, reply);
	sftp_times_ns(d->lane->s, &h, d->exact.times, times_done, d);
	sftp_close(d->lane->s, &h, NULL, NULL);
}

static void
fix_remote_exact(struct xfer_dir *d)
{
	d->lane = xfer_lane_home(d->x);
	if (d->lane == NULL || !sftp_has(d->lane->s, SFTP_EXT_TIMES_NS))
		fix_remote(d, SFTP_A_MODE | SFTP_A_TIMES);
	else
		sftp_path_request(d->lane->s, SFTP_OPENDIR, d->remote,
		    times_open, d);
}

void
xfer_dir_unref(struct xfer_dir *d)
{
	bool preserve = d->x->opts.preserve;

	ENSURE(d->refs > 0);
	/* In the end, xfer_free() does it all. */
	if (--d->refs > 0 || d->x->over)
		return;
	/* The mode of a directory that was there is its owner's choice. */
	if (d->failed || !d->fix || !(preserve || d->made)) {
		dir_gone(d);
		return;
	}
	if (d->up) {
		if (preserve && xfer_wants_times_ns(d->x, &d->exact))
			fix_remote_exact(d);
		else
			fix_remote(d, preserve ? SFTP_A_MODE | SFTP_A_TIMES :
						 SFTP_A_MODE);
		return;
	}
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
	names_free(d);
	TAILQ_REMOVE(&x->listing, d, entry);
	x->listings--;
	xfer_dir_unref(d);
}

/* --- the start of a directory --- */

static void
wait_for_listing(struct xfer_dir *d)
{
	if (d->x->stopped) {
		xfer_dir_unref(d);
		return;
	}
	TAILQ_INSERT_HEAD(&d->x->waiting, d, entry);
}

/* Whether it can be filled is known: its files may start, or are gone. */
static void
dir_settled(struct xfer_dir *d, bool there)
{
	struct xfer_file *f;

	d->there = there;
	d->failed = !there;
	if (d->up && d->parent == NULL && there)
		wait_for_listing(d);
	else if (d->up && d->parent == NULL)
		d->refs--; /* it is not listed */
	while ((f = TAILQ_FIRST(&d->held)) != NULL) {
		TAILQ_REMOVE(&d->held, f, entry);
		d->x->held--;
		if (there && !d->x->stopped)
			xfer_queue_file(f);
		else
			TAILQ_INSERT_TAIL(&d->x->done, f, entry);
	}
	xfer_dir_unref(d);
}

/* What follows from a parent's failure was told with it. */
static void
dir_refused(struct xfer_dir *d, const struct sftp_reply *reply)
{
	if (d->parent != NULL && d->parent->failed)
		;
	else if (reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_report(d->x, d->remote, "Not a directory");
	else
		xfer_report_reply(d->x, d->remote, reply);
	dir_settled(d, false);
}

static void
exists_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (d->x->over)
		return;
	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    S_ISDIR(reply->attrs.mode))
		dir_settled(d, true);
	else
		dir_refused(d, reply);
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
	const struct xfer_question q = { .type = SFTP_MKDIR,
		.path = d->remote, .attrs = &a };

	d->tries++;
	xfer_ask(d->x, &q, mkdir_done, d);
}

static void
mkdir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	/* Links that are copied are not gone through. */
	const struct xfer_question q = { .path = d->remote,
		.type = d->x->opts.links && d->parent != NULL ? SFTP_LSTAT :
								SFTP_STAT };

	if (d->x->over)
		return;
	if (reply->err == 0 && reply->status == SFTP_OK) {
		d->made = true;
		dir_settled(d, true);
	} else if (reply->err == 0 && reply->status == SFTP_FAILURE) {
		/* There may be one already. */
		xfer_ask(d->x, &q, exists_done, d);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE &&
	    d->parent != NULL && !d->parent->failed && d->tries < TRIES_MAX) {
		make_remote(d);
	} else {
		dir_refused(d, reply);
	}
}

/* A server that sends links must not send files through them. */
static bool
make_local(struct xfer_dir *d, mode_t mode)
{
	struct stat st;

	d->made = mkdir(d->local, mode) == 0;
	if (d->made || errno != EEXIST)
		return d->made;
	if ((d->x->opts.links && d->parent != NULL ?
		lstat(d->local, &st) : stat(d->local, &st)) != 0)
		return false;
	errno = EEXIST;
	/* One that a copy with -p left read-only is to be filled again. */
	if (S_ISDIR(st.st_mode) && d->x->opts.preserve &&
	    (st.st_mode & MODE_OWNER) != MODE_OWNER)
		(void)chmod(d->local, (st.st_mode & 07777) | MODE_OWNER);
	return S_ISDIR(st.st_mode);
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
ask_exact(struct xfer_dir *d)
{
	const struct xfer_question q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STAT_NS, .path = d->remote, .follow = true };

	if (!d->x->opts.preserve || !xfer_has(d->x, SFTP_EXT_STAT_NS))
		return;
	d->refs++;
	xfer_ask(d->x, &q, exact_done, d);
}

/* It must be ours to write while it is filled. */
static void
make_dir(struct xfer_dir *d)
{
	mode_t mode = (d->attrs.mode & 0777) | MODE_OWNER;

	if ((d->attrs.flags & SFTP_A_MODE) == 0)
		mode = 0777;
	else
		d->fix = (d->attrs.mode & MODE_OWNER) != MODE_OWNER;
	d->fix |= d->x->opts.preserve;
	if (d->up) {
		/* What a root holds is of no interest if it cannot be made. */
		if (d->parent != NULL)
			wait_for_listing(d);
		d->refs++;
		make_remote(d);
		return;
	}
	if (make_local(d, mode)) {
		d->there = true;
		ask_exact(d);
		wait_for_listing(d);
		return;
	}
	xfer_report_errno(d->x, d->local, errno);
	d->failed = true;
	xfer_dir_unref(d);
}

int
xfer_add_dir(struct xfer *x, struct xfer_dir *parent, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact)
{
	struct xfer_dir *d = NULL;
	int depth = parent != NULL ? parent->depth + 1 : 0, r = 0;

	if (x->stopped)
		goto out;
	if (local == NULL || remote == NULL ||
	    (d = calloc(1, sizeof *d)) == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if (depth > XFER_DEPTH_MAX || x->dirs >= XFER_DIRS_MAX) {
		xfer_report(x, up ? local : remote,
		    depth > XFER_DEPTH_MAX ?
			"directories are too deep (a loop of links?)" :
					     "too many directories");
		goto out;
	}
	*d = (struct xfer_dir){ .x = x, .parent = parent, .refs = 1,
		.up = up, .depth = depth, .local = local, .remote = remote,
		.attrs = *attrs, .reads_max = 1 };
	if (exact != NULL)
		d->exact = *exact;
	TAILQ_INIT(&d->held);
	if (parent != NULL)
		parent->refs++;
	TAILQ_INSERT_TAIL(&x->all_dirs, d, all);
	x->dirs++;
	x->trees = true;
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
may_find_more(struct xfer *x)
{
	struct xfer_lane *home = xfer_lane_home(x);

	return home != NULL && x->queued + x->held < XFER_QUEUE_MAX &&
	    sftp_pending(home->s) < REQUESTS_MAX;
}

/* --- listing what is local --- */

/* Does a link lead back to where it was found? */
static bool
is_loop(const struct xfer_dir *d, const struct stat *st)
{
	for (; d != NULL; d = d->parent)
		if (d->exact.dev == st->st_dev && d->exact.ino == st->st_ino)
			return true;
	return false;
}

static int
found_local(struct xfer_dir *d, const char *name)
{
	char *local = str_join_path(d->local, name);
	char *remote = str_join_path(d->remote, name);
	bool links = d->x->opts.links;
	struct xfer_exact exact;
	struct sftp_attrs attrs;
	struct stat st;

	if (d->x->opts.skip_links && local != NULL &&
	    lstat(local, &st) == 0 && S_ISLNK(st.st_mode)) {
		xfer_note(d->x, local, "not a regular file");
	} else if (local != NULL &&
	    (links ? lstat(local, &st) : stat(local, &st)) != 0) {
		xfer_report_errno(d->x, local, errno);
	} else if (local != NULL && S_ISDIR(st.st_mode) && is_loop(d, &st)) {
		xfer_report(d->x, local, "leads back to a directory it is in");
	} else if (local != NULL && S_ISDIR(st.st_mode)) {
		sftp_attrs_from_stat(&attrs, &st);
		xfer_exact_from_stat(&exact, &st);
		return xfer_add_dir(d->x, d, true, local, remote, &attrs,
		    &exact);
	} else if (local != NULL && !S_ISREG(st.st_mode) &&
	    !(links && S_ISLNK(st.st_mode))) {
		xfer_report(d->x, local, "not a regular file");
	} else {
		sftp_attrs_from_stat(&attrs, &st);
		return xfer_add_file(d->x, d, true, local, remote,
		    local != NULL ? &attrs : NULL);
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

	if (d->failed) {
		listing_ends(d);
		return 0;
	}
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
		return xfer_add_dir(d->x, d, false, local, remote, attrs,
		    NULL);
	if (S_ISREG(attrs->mode) ||
	    (S_ISLNK(attrs->mode) && d->x->opts.links))
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
	struct xfer_question q = { .type = d->x->opts.links ? SFTP_LSTAT :
							      SFTP_STAT };
	struct lookup *l;

	if (name != NULL && !name_is_new(d, name)) {
		free(name);
		return 0;
	}
	local = name != NULL ? str_join_path(d->local, name) : NULL;
	remote = name != NULL ? str_join_path(d->remote, name) : NULL;
	free(name);
	if (d->x->opts.skip_links && (a->flags & SFTP_A_MODE) &&
	    S_ISLNK(a->mode) && remote != NULL) {
		xfer_note(d->x, remote, "not a regular file");
		free(local);
		free(remote);
		return 0;
	}
	if ((a->flags & SFTP_A_MODE) && (a->mode & S_IFMT) != 0 &&
	    (!S_ISLNK(a->mode) || d->x->opts.links) && local != NULL && remote != NULL)
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
	q.path = remote;
	xfer_ask(d->x, &q, lookup_done, l);
	return 0;
}

/* After the last answer to a READDIR: the handle is given back. */
static void
remote_ends(struct xfer_dir *d)
{
	if (!d->ended || d->reads > 0)
		return;
	if (d->handle_open) {
		d->handle_open = false;
		sftp_close(d->lane->s, &d->handle, NULL, NULL);
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
	d->x->readdirs--;
	if (reply->err != 0)
		return; /* see xfer_dirs_lost() */
	if (reply->status != SFTP_OK) {
		if (reply->status != SFTP_EOF)
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
	if (reply->err != 0)
		return;
	if (reply->status != SFTP_OK) {
		xfer_report_reply(d->x, d->remote, reply);
		d->ended = true;
		remote_ends(d);
		return;
	}
	sftp_keep_handle(&d->handle, reply);
	d->handle_open = true;
	remote_ends(d); /* if it was stopped meanwhile */
}

/* Entries arrive later, in readdir_done(). */
static void
list_remote(struct xfer_dir *d)
{
	if (!d->handle_open) {
		if (d->reads > 0 || d->ended)
			return;
		d->lane = xfer_lane_home(d->x);
		if (d->lane == NULL)
			return;
		d->reads++;
		sftp_path_request(d->lane->s, SFTP_OPENDIR, d->remote,
		    opendir_done, d);
		return;
	}
	while (!d->ended && d->handle_open && d->reads < d->reads_max &&
	    d->x->readdirs < READDIRS_MAX) {
		d->reads++;
		d->x->readdirs++;
		sftp_handle_request(d->lane->s, SFTP_READDIR, &d->handle,
		    readdir_done, d);
	}
}

/* Those listed over lane are listed anew over another. */
void
xfer_dirs_lost(struct xfer *x, const struct xfer_lane *lane)
{
	struct xfer_dir *d, *next;

	for (d = TAILQ_FIRST(&x->listing); d != NULL; d = next) {
		next = TAILQ_NEXT(d, entry);
		if (d->up || d->lane != lane)
			continue;
		d->lane = NULL;
		d->handle_open = false;
		d->reads_max = 1;
		remote_ends(d);
	}
}

/* --- both --- */

void
xfer_dirs_stop(struct xfer *x)
{
	struct xfer_dir *d, *next;

	while ((d = TAILQ_FIRST(&x->waiting)) != NULL) {
		TAILQ_REMOVE(&x->waiting, d, entry);
		xfer_dir_unref(d);
	}
	for (d = TAILQ_FIRST(&x->listing); d != NULL; d = next) {
		next = TAILQ_NEXT(d, entry);
		d->ended = true;
		if (d->up)
			listing_ends(d);
		else
			remote_ends(d);
	}
}

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
