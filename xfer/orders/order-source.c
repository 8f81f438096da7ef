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

struct source {
	struct xfer_away away; /* the path is the source's; of a download it
				* goes from the server */
	uint64_t id, bytes, size;
	bool is_file;
	struct xfer_exact exact;
	struct local_dir *at; /* owned; where it is on this host */
	char *name;	      /* owned; in at */
};

static void
source_ends(struct source *s, bool ok)
{
	struct xfer *x = s->away.x;

	x->orders->sources--;
	xfer_order_ends(x, s->id, ok, ok ? s->bytes : 0);
	xfer_away_clear(&s->away);
	local_dir_unref(s->at);
	free(s->name);
	free(s);
}

static void
not_whole(struct source *s)
{
	if (!s->away.x->over)
		xfer_report(s->away.x, s->away.path, "its copy is not what was "
		    "made: the source stays");
	source_ends(s, false);
}

static bool
is_copy(const struct source *s, const struct sftp_attrs *a)
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
	source_ends((struct source *)a, gone);
}

static void
looked(struct xfer_away *a)
{
	if (a->end == XFER_AWAY_DONE && !a->x->over)
		xfer_away_go(a);
	else
		away(a);
}

static void
remove_here(struct source *s)
{
	struct stat st;

	/* A plan does not know which inode a link was. */
	if (s->exact.known && s->exact.ino != 0 &&
	    local_stat(s->at, s->name, LOCAL_LINKS_NONE, &st) == 0 &&
	    ((uint64_t)st.st_dev != s->exact.dev ||
		(uint64_t)st.st_ino != s->exact.ino)) {
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
	struct source *s = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    is_copy(s, &reply->attrs) && !s->away.x->over)
		remove_here(s);
	else
		not_whole(s);
}

static void
begin(struct source *s, const struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->remote };
	struct sftp_attrs a;
	struct stat st;

	if (f->up) {
		xfer_request_path(f->x, &q, target_seen, s);
		return;
	}
	if (local_stat(f->at, f->name, LOCAL_LINKS_NONE, &st) == 0) {
		sftp_attrs_from_stat(&a, &st);
		if (is_copy(s, &a)) {
			xfer_away_look(&s->away);
			return;
		}
	}
	not_whole(s);
}

void
xfer_order_remove_source(struct xfer *x, const struct xfer_file *f,
    uint64_t bytes)
{
	const struct sftp_attrs *was = &f->source.attrs;
	struct source *s = calloc(1, sizeof *s);

	if (s == NULL || !xfer_away_init(&s->away, x,
	    f->up ? f->local : f->remote, was, NULL) ||
	    (s->name = strdup(f->name)) == NULL) {
		if (s != NULL)
			xfer_away_clear(&s->away);
		free(s);
		xfer_report_errno(x, f->up ? f->local : f->remote, ENOMEM);
		xfer_order_ends(x, f->duty->id, false, 0);
		return;
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
	x->orders->sources++;
	begin(s, f);
}
