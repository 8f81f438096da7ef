/* SPDX-License-Identifier: ISC */
/*
 * Brings names to the disk. The order of a file ends, or in a transfer without
 * orders the run, only when that is done. The data of such a file was synced
 * before its rename; what is left are the directories that have got a name.
 * They are synced in rounds: each takes all directories that have come since
 * the last one began, so a directory with many new files is synced a few times
 * only. At the end of a round the orders of its files end, and sources that are
 * to be moved are removed.
 *
 * A directory at a server is opened as a file is, for fsync@openssh.com. If the
 * server refuses that, names are as safe as the server makes them. A failed
 * sync counts as a failure of all files in that directory and below.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "compat/file.h"
#include "xfer/orders/ordered.h"
#include "xfer/streams/handle-limit.h"

enum {
	SYNCS_MAX = 16, /* under way */
	ROUND = 1024,	/* number of directories at which a round begins
			 * early */
};

/* A directory or file of the target that has to be synced. */
struct xfer_unsynced {
	char *path;	      /* owned; at a server */
	struct local_dir *at; /* owned; on this host */
	bool is_file, failed, lost;
	unsigned refusals; /* perhaps because other handles were open */
};

/* A file that has its name at the target, and waits for a round. */
struct xfer_landed {
	uint64_t id, bytes;
	char *path;	      /* owned; of the target */
	struct xfer_source_end *moves; /* owned; the source, which is removed
					* afterwards; NULL: it is kept */
	bool failed;
	TAILQ_ENTRY(xfer_landed) entry;
};
TAILQ_HEAD(landed, xfer_landed);

struct unsynced {
	struct xfer_unsynced *v; /* owned */
	size_t n, room;
};

struct xfer_settle {
	struct xfer *x;
	struct unsynced next, now; /* directories for the next round, and those
				    * of the present one */
	struct landed waiting, moving;
	size_t files;	    /* in both lists */
	size_t sent, under_way; /* of `now` */
	struct xfer_handle_limit limit; /* of OPENs under way */
	bool no_dirs; /* the server opens no directories */
};

struct sync_op {
	struct xfer_settle *s;
	unsigned number; /* of this OPEN */
	bool alone;	 /* OPEN: no other handle was in use */
	struct xfer_stream *stream;
	struct xfer_unsynced *what;
	struct sftp_handle handle;
};

/* ---- what is to be synced ----------------------------------------------- */

static void
unsynced_clear(struct unsynced *u)
{
	for (size_t i = 0; i < u->n; i++) {
		free(u->v[i].path);
		local_dir_unref(u->v[i].at);
	}
	u->n = 0;
}

static bool
is_same(const struct xfer_unsynced *a, const struct xfer_unsynced *b)
{
	return a->at == b->at && a->is_file == b->is_file &&
	    (a->path == b->path || (a->path != NULL && b->path != NULL &&
		strcmp(a->path, b->path) == 0));
}

/* Adds w, which is taken over, unless it is in the list. False: no memory. */
static bool
unsynced_add(struct unsynced *u, struct xfer_unsynced w)
{
	struct xfer_unsynced *v;

	/* Files that follow each other are mostly in one directory, so only the
	 * last elements are compared. */
	for (size_t i = u->n; i > 0 && u->n - i < 8; i--) {
		if (is_same(&u->v[i - 1], &w)) {
			free(w.path);
			local_dir_unref(w.at);
			return true;
		}
	}
	if (u->n == u->room) {
		size_t room = u->room > 0 ? 2 * u->room : 16;

		v = realloc(u->v, room * sizeof *v);
		if (v == NULL) {
			free(w.path);
			local_dir_unref(w.at);
			return false;
		}
		u->v = v;
		u->room = room;
	}
	u->v[u->n++] = w;
	return true;
}

static struct xfer_settle *
settle_of(struct xfer *x)
{
	struct xfer_settle *s = x->settle;

	if (s == NULL && (s = calloc(1, sizeof *s)) != NULL) {
		s->x = x;
		TAILQ_INIT(&s->waiting);
		TAILQ_INIT(&s->moving);
		x->settle = s;
	}
	return s;
}

/* Notes the directory of a name: that of a path at a server, or (at not NULL)
 * one on this host. */
static bool
note_place(struct xfer_settle *s, const char *path, struct local_dir *at)
{
	struct xfer_unsynced w = { .path = NULL };

	if (at != NULL)
		w.at = local_dir_ref(at);
	else if ((w.path = path_parent(path)) == NULL)
		return false;
	return unsynced_add(&s->next, w);
}

/* Notes the directory d of a copied tree, in which names were made, and the one
 * above if d was made itself. */
static bool
note_tree(struct xfer_settle *s, const struct xfer_dir *d)
{
	struct xfer_unsynced w = { .path = NULL };
	bool made = d->parent == NULL && d->state == XFER_DIR_MADE;
	struct local_dir *above = NULL;
	const char *name;
	bool ok;

	if (d->up)
		return (w.path = strdup(d->remote)) != NULL &&
		    unsynced_add(&s->next, w) &&
		    (!made || note_place(s, d->remote, NULL));
	if (made && (above = local_place(s->x->local, d->local,
	    LOCAL_LINKS_OWN, &name)) == NULL)
		return false;
	ok = note_place(s, d->local, d->at) &&
	    (above == NULL || note_place(s, d->local, above));
	local_dir_unref(above);
	return ok;
}

void
xfer_settle_tree(struct xfer_dir *d)
{
	struct xfer_settle *s = d->x->opts.fsync && !d->x->over &&
	    xfer_dir_is_there(d) ? settle_of(d->x) : NULL;

	if (s != NULL && !note_tree(s, d))
		xfer_report_errno(d->x, d->up ? d->remote : d->local, ENOMEM);
}

void
xfer_settle_dir(struct xfer *x, const char *path, struct local_dir *at)
{
	struct xfer_settle *s = x->opts.fsync ? settle_of(x) : NULL;

	if (s != NULL && !note_place(s, path, at))
		xfer_report_errno(x, path, ENOMEM);
}

/* ---- files -------------------------------------------------------------- */

bool
xfer_settles(const struct xfer_file *f)
{
	return f->duty != NULL &&
	    (f->duty->remove_source || f->x->opts.fsync);
}

/* True if the data of the target may not be on the disk yet, for instance
 * because an earlier copy without --fsync has written it. */
static bool
lacks_sync(const struct xfer_file *f)
{
	/* With -Z, a file that was equal to its source was not written by this
	 * run. */
	bool passed = f->duty == NULL && f->item.kept >= f->source.size;

	return !f->source.symlink && (!f->x->opts.fsync || f->only_attrs ||
	    passed || f->target.reuse == XFER_REUSE_WHOLE);
}

/* Syncs the data of a target on this host. A plain copy has written through a
 * link at the target, so that is followed here, too; a link where none may be
 * followed was not written through, and nothing has to be synced. */
static int
sync_file_here(const struct xfer_file *f)
{
	enum local_links rule = f->duty != NULL ? LOCAL_LINKS_NONE :
						  LOCAL_LINKS_OWN;
	struct stat st;
	int fd = local_open_source(f->at, f->name, rule, &st);
	int r, error;

	if (fd < 0)
		return f->duty == NULL && errno == ELOOP ? 0 : -1;
	r = file_sync(fd);
	error = errno;
	close(fd);
	errno = error;
	return r;
}

/* Notes what has to be synced for f. -1 with errno. */
static int
note_file(struct xfer_settle *s, const struct xfer_file *f)
{
	struct xfer_unsynced w = { .is_file = true };

	if (!f->up && lacks_sync(f) && sync_file_here(f) != 0)
		return -1;
	errno = ENOMEM;
	if (f->up && lacks_sync(f) && ((w.path = strdup(f->remote)) == NULL ||
	    !unsynced_add(&s->next, w)))
		return -1;
	if (f->dir != NULL)
		return 0; /* the tree's directory is noted when it is whole */
	return note_place(s, f->remote, f->up ? NULL : f->at) ? 0 : -1;
}

void
xfer_settle_plain(const struct xfer_file *f)
{
	struct xfer_settle *s = f->x->opts.fsync &&
	    (f->up || f->at != NULL) ? settle_of(f->x) : NULL;

	if (s != NULL && note_file(s, f) != 0)
		xfer_report_errno(f->x, f->up ? f->remote : f->local, errno);
}

static void
landed_ends(struct xfer_settle *s, struct xfer_landed *l, bool ok)
{
	struct xfer *x = s->x;

	s->files--;
	if (l->moves != NULL && ok)
		xfer_source_goes(l->moves);
	else if (l->moves != NULL)
		xfer_source_stays(l->moves);
	else
		xfer_order_ends(x, l->id, ok, ok ? l->bytes : 0);
	free(l->path);
	free(l);
}

void
xfer_settle_file(struct xfer_file *f, uint64_t bytes)
{
	struct xfer_settle *s = settle_of(f->x);
	const char *path = f->up ? f->remote : f->local;
	struct xfer_landed *l = calloc(1, sizeof *l);

	if (s == NULL || l == NULL || (l->path = strdup(path)) == NULL ||
	    (f->duty->remove_source &&
		(l->moves = xfer_source_end_new(f, bytes)) == NULL)) {
		if (l != NULL)
			free(l->path);
		free(l);
		xfer_report_errno(f->x, path, ENOMEM);
		xfer_order_ends(f->x, f->duty->id, false, 0);
		return;
	}
	l->id = f->duty->id;
	l->bytes = bytes;
	s->files++;
	TAILQ_INSERT_TAIL(&s->waiting, l, entry);
	if (note_file(s, f) == 0)
		return;
	xfer_report_errno(f->x, path, errno);
	TAILQ_REMOVE(&s->waiting, l, entry);
	landed_ends(s, l, false);
}

/* ---- a round ------------------------------------------------------------ */

/* True if the path is that of w, or below it. */
static bool
concerns(const struct xfer_unsynced *w, const char *path)
{
	size_t len = w->path != NULL ? strlen(w->path) : 0;

	return len == 0 || strcmp(w->path, ".") == 0 ||
	    (strncmp(path, w->path, len) == 0 &&
		(path[len] == '\0' || path[len] == '/' ||
		    w->path[len - 1] == '/'));
}

static void
sync_failed(struct xfer_settle *s, struct xfer_unsynced *w, const char *why)
{
	struct xfer_landed *l;

	w->failed = true;
	if (!s->x->over)
		xfer_report(s->x, w->path != NULL ? w->path : "directory",
		    why);
	TAILQ_FOREACH(l, &s->moving, entry)
		l->failed |= concerns(w, l->path);
}

/* Ends the round. A sync whose stream was lost is done again in the next round,
 * and the files of this one wait for it. */
static void
round_ends(struct xfer_settle *s)
{
	struct xfer_unsynced taken;
	struct xfer_landed *l;
	bool again = false;

	for (size_t i = 0; i < s->now.n && !s->x->over; i++) {
		struct xfer_unsynced *w = &s->now.v[i];

		if (!w->lost)
			continue;
		again = true;
		w->lost = false;
		/* unsynced_add() frees what it cannot add; then all files
		 * fail. */
		taken = *w;
		w->path = NULL;
		w->at = NULL;
		if (!unsynced_add(&s->next, taken))
			sync_failed(s, w, err_text(ERR_NOMEM));
	}
	unsynced_clear(&s->now);
	s->sent = 0;
	while ((l = TAILQ_FIRST(&s->moving)) != NULL) {
		TAILQ_REMOVE(&s->moving, l, entry);
		if (again && !l->failed)
			TAILQ_INSERT_HEAD(&s->waiting, l, entry);
		else
			landed_ends(s, l, !l->failed && !s->x->over);
	}
}

static void
op_ends(struct sync_op *op)
{
	struct xfer_settle *s = op->s;

	op->stream->handles--;
	free(op);
	s->under_way--;
}

static void
synced(void *arg, const struct sftp_reply *reply)
{
	struct sync_op *op = arg;
	bool cannot = !op->what->is_file &&
	    (reply->status == SFTP_BAD_MESSAGE ||
		reply->status == SFTP_OP_UNSUPPORTED);

	if (reply->err != 0)
		op->what->lost = true;
	else if (reply->status != SFTP_OK && !cannot)
		sync_failed(op->s, op->what, reply->words);
	op_ends(op);
}

/* OPEN was refused. FAILURE may mean that too many handles are open: then it is
 * sent again in the next round, and fewer are under way. Servers that open no
 * directories say so, too; that is no error. */
static bool
is_crowded(struct sync_op *op, const struct sftp_reply *reply)
{
	struct xfer_settle *s = op->s;
	bool is_dir = !op->what->is_file;

	if (reply->status != SFTP_FAILURE)
		return false;
	s->no_dirs |= is_dir && op->alone;
	if (op->alone || (is_dir && s->no_dirs) ||
	    op->what->refusals++ >= XFER_CROWDED_MAX)
		return false;
	xfer_handle_limit_refused(&s->limit, op->number,
	    (unsigned)s->under_way);
	return true;
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct sync_op *op = arg;
	struct sftp *s = op->stream->s;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		op->what->lost = reply->err != 0 || is_crowded(op, reply);
		if (!op->what->lost && op->what->is_file)
			sync_failed(op->s, op->what, reply->words);
		op_ends(op);
		return;
	}
	xfer_handle_limit_given(&op->s->limit, SYNCS_MAX);
	sftp_keep_handle(&op->handle, reply);
	if (sftp_has(s, SFTP_EXT_FSYNC)) {
		sftp_ext_handle(s, SFTP_EXT_FSYNC, &op->handle, synced, op);
		sftp_close(s, &op->handle, NULL, NULL);
		return;
	}
	sftp_close(s, &op->handle, NULL, NULL);
	op_ends(op);
}

static void
sync_remote(struct xfer_settle *s, struct xfer_stream *l,
    struct xfer_unsynced *w)
{
	const struct sftp_attrs none = { .flags = 0 };
	struct sync_op *op = calloc(1, sizeof *op);

	if (op == NULL) {
		sync_failed(s, w, err_text(ERR_NOMEM));
		return;
	}
	l->handles++;
	*op = (struct sync_op){ .s = s, .stream = l, .what = w,
		.number = ++s->limit.sent,
		.alone = l->handles + l->dirs_open == 1 };
	s->under_way++;
	sftp_open(l->s, w->path, SFTP_O_READ, &none, opened, op);
}

/* A directory that this user may not read cannot be synced, which is no
 * error. */
static void
sync_here(struct xfer_settle *s, struct xfer_unsynced *w)
{
	if (local_dir_sync(w->at) != 0 && errno != EACCES &&
	    errno != EINVAL)
		sync_failed(s, w, local_error_text(errno));
}

static void
take_waiting(struct xfer_settle *s)
{
	struct xfer_landed *l;

	while ((l = TAILQ_FIRST(&s->waiting)) != NULL) {
		TAILQ_REMOVE(&s->waiting, l, entry);
		TAILQ_INSERT_TAIL(&s->moving, l, entry);
	}
}

static bool
begins(const struct xfer_settle *s)
{
	const struct xfer *x = s->x;
	bool last = x->orders != NULL ? x->orders->ended :
	    s->next.n >= ROUND ||
	    (x->files.queued == 0 && x->files.active_count == 0);

	return s->now.n == 0 && s->next.n > 0 && !x->over &&
	    (!TAILQ_EMPTY(&s->waiting) || last || x->stopped);
}

static void
begin_round(struct xfer_settle *s)
{
	struct unsynced done = s->now;

	s->now = s->next;
	s->next = done;
	take_waiting(s);
}

static size_t
syncs_at_once(const struct xfer_settle *s)
{
	return s->limit.max != 0 ? s->limit.max : SYNCS_MAX;
}

bool
xfer_settle_turn(struct xfer *x)
{
	struct xfer_settle *s = x->settle;
	struct xfer_stream *l = xfer_stream_first(x);
	struct xfer_unsynced *w;

	if (s == NULL)
		return false;
	if (begins(s))
		begin_round(s);
	if (s->now.n == 0)
		return false;
	while (s->sent < s->now.n && s->under_way < syncs_at_once(s)) {
		w = &s->now.v[s->sent];
		if (w->at != NULL)
			sync_here(s, w);
		else if (l != NULL && sftp_error(l->s) == 0)
			sync_remote(s, l, w);
		else
			return false;
		s->sent++;
	}
	if (s->sent < s->now.n || s->under_way > 0)
		return false;
	round_ends(s);
	return true;
}

size_t
xfer_settle_files(const struct xfer *x)
{
	return x->settle != NULL ? x->settle->files : 0;
}

bool
xfer_settled(const struct xfer *x)
{
	const struct xfer_settle *s = x->settle;

	return s == NULL ||
	    (s->files == 0 && s->now.n == 0 && s->next.n == 0);
}

void
xfer_settle_free(struct xfer_settle *s)
{
	if (s == NULL)
		return;
	take_waiting(s);
	round_ends(s);
	unsynced_clear(&s->next);
	free(s->now.v);
	free(s->next.v);
	free(s);
}
