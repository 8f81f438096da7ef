/* SPDX-License-Identifier: ISC */
/*
 * Sources that go when their targets are whole. The target must have the size
 * of what was read, and the source must be the file that was read: of this
 * host by its number as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/orders/ordered.h"

struct xfer_source_end {
	struct xfer_away away; /* away.path is the source's path, for a download
			        * at the server */
	char *path;	       /* owned; path of the source at a server; NULL:
			        * it is on this host */
	uint64_t id, bytes, size;
	bool is_file;
	struct xfer_exact exact;
	struct local_dir *at; /* owned; where it is on this host */
	char *name;	      /* owned; in at */
};

static void
source_ends(struct xfer_source_end *s, bool ok)
{
	struct xfer *x = s->away.x;

	x->orders->sources--;
	xfer_order_ends(x, s->id, ok, ok ? s->bytes : 0);
	xfer_away_clear(&s->away);
	local_dir_unref(s->at);
	free(s->name);
	free(s->path);
	free(s);
}

static void
not_whole(struct xfer_source_end *s)
{
	if (!s->away.x->over)
		xfer_report(s->away.x, s->away.path, "its copy is not what was "
		    "made: the source stays");
	source_ends(s, false);
}

static bool
is_copy(const struct xfer_source_end *s, const struct sftp_attrs *a)
{
	return !s->is_file || ((a->flags & SFTP_A_MODE) && S_ISREG(a->mode) &&
	    (a->flags & SFTP_A_SIZE) && a->size == s->size);
}

static void
away(struct xfer_away *a)
{
	bool gone = a->end == XFER_AWAY_DONE || a->end == XFER_AWAY_GONE;

	if (!gone && !a->x->over)
		xfer_away_report(a);
	source_ends((struct xfer_source_end *)a, gone);
}

static void
looked(struct xfer_away *a)
{
	if (a->end == XFER_AWAY_DONE && !a->x->over)
		xfer_away_go(a);
	else
		away(a);
}

/* True if st is of the file that was read. A plan does not know the inode of a
 * link, or of a file that was not read because the target had the data. */
static bool
is_what_was_read(const struct xfer_exact *e, const struct stat *st)
{
	struct xfer_exact now;

	xfer_exact_from_stat(&now, st);
	return !e->known ||
	    ((e->ino == 0 || (e->dev == now.dev && e->ino == now.ino)) &&
		e->times[1].tv_sec == now.times[1].tv_sec &&
		e->times[1].tv_nsec == now.times[1].tv_nsec);
}

static void
remove_here(struct xfer_source_end *s)
{
	struct stat st;

	if (local_stat(s->at, s->name, LOCAL_LINKS_NONE, &st) == 0 &&
	    !is_what_was_read(&s->exact, &st)) {
		s->away.end = XFER_AWAY_CHANGED;
		away(&s->away);
		return;
	}
	xfer_away_here(&s->away, NULL, s->at, s->name);
	away(&s->away);
}

static void
target_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_source_end *s = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    is_copy(s, &reply->attrs) && !s->away.x->over)
		remove_here(s);
	else
		not_whole(s);
}

void
xfer_source_goes(struct xfer_source_end *s)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = s->path };
	struct sftp_attrs a;
	struct stat st;

	if (s->path != NULL) {
		xfer_request_path(s->away.x, &q, target_seen, s);
		return;
	}
	if (local_stat(s->at, s->name, LOCAL_LINKS_NONE, &st) == 0) {
		sftp_attrs_from_stat(&a, &st);
		if (is_copy(s, &a)) {
			xfer_away_look(&s->away);
			return;
		}
	}
	not_whole(s);
}

void
xfer_source_stays(struct xfer_source_end *s)
{
	source_ends(s, false);
}

struct xfer_source_end *
xfer_source_end_new(const struct xfer_file *f, uint64_t bytes)
{
	const struct sftp_attrs *was = &f->source.attrs;
	struct xfer_source_end *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	if (!xfer_away_init(&s->away, f->x, f->up ? f->local : f->remote, was,
		NULL) ||
	    (f->up && (s->path = strdup(f->remote)) == NULL) ||
	    (s->name = strdup(f->name)) == NULL) {
		xfer_away_clear(&s->away);
		free(s->path);
		free(s);
		return NULL;
	}
	s->away.was.flags &= SFTP_A_SIZE | SFTP_A_TIMES;
	s->away.looked = looked;
	s->away.done = away;
	s->id = f->duty->id;
	s->bytes = bytes;
	s->size = f->source.size;
	s->is_file = !f->source.symlink;
	s->exact = f->source.exact;
	s->at = local_dir_ref(f->at);
	f->x->orders->sources++;
	return s;
}
