/* SPDX-License-Identifier: ISC */
/*
 * Before a file of a plan gets its target's name: what has that name becomes
 * the backup; or, where it is of another kind, it must still be what the plan
 * has seen, and goes if it is an (empty) directory. Anything else is replaced
 * by the rename itself. If that fails, the backup gets its name back.
 */
#include <errno.h>
#include <stdlib.h>

#include "xfer/orders/ordered.h"

struct way {
	struct xfer_away away;
	struct xfer_file *file;
};

static bool
is_clear(const struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;

	return d == NULL || d->way_clear ||
	    (d->backup == NULL && !d->replaces_kind);
}

static bool
begin(struct xfer_away *a, struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;
	const struct sftp_attrs *was =
	    d->replaces_kind && d->knows ? &d->was : NULL;

	if (xfer_away_init(a, f->x, f->up ? f->remote : f->local, was,
	    d->backup))
		return true;
	xfer_report_errno(f->x, f->up ? f->remote : f->local, ENOMEM);
	return false;
}

/* Notes the outcome. False: the file fails. */
static bool
conclude(struct xfer_file *f, const struct xfer_away *a)
{
	bool gone = a->end == XFER_AWAY_DONE || a->end == XFER_AWAY_GONE;

	if (!gone && !f->x->over)
		xfer_away_report(a);
	f->duty->way_clear = gone;
	f->duty->set_aside = a->end == XFER_AWAY_DONE && a->backup != NULL &&
	    !a->dir;
	return gone;
}

/* ---- at a server -------------------------------------------------------- */

static void
way_ends(struct xfer_away *a)
{
	struct way *w = (struct way *)a;
	struct xfer_file *f = w->file;

	if (!conclude(f, a))
		xfer_file_fail(f);
	xfer_away_clear(a);
	free(w);
	f->pending--;
	if (!f->x->over)
		xfer_file_touch(f);
}

static void
looked(struct xfer_away *a)
{
	if (a->end == XFER_AWAY_DONE && !a->x->over &&
	    (a->dir || a->backup != NULL))
		xfer_away_go(a);
	else
		way_ends(a);
}

bool
xfer_way_is_clear(struct xfer_file *f)
{
	struct way *w;

	if (is_clear(f))
		return true;
	w = calloc(1, sizeof *w);
	if (w == NULL || !begin(&w->away, f)) {
		free(w);
		xfer_file_fail(f);
		return true;
	}
	w->file = f;
	w->away.looked = looked;
	w->away.done = way_ends;
	f->pending++;
	xfer_away_look(&w->away);
	return false;
}

/* ---- on this host ------------------------------------------------------- */

static struct xfer_below
backup_of(const struct xfer_duty *d)
{
	return (struct xfer_below){ .root = d->root, .links = d->links,
		.path = d->backup };
}

bool
xfer_way_clear_here(struct xfer_file *f)
{
	const struct xfer_below backup =
	    f->duty != NULL ? backup_of(f->duty) :
			      (struct xfer_below){ .root = NULL };
	struct xfer_away a;
	bool fine;

	if (is_clear(f))
		return true;
	if (!begin(&a, f))
		return false;
	a.only_looks = !a.dir && a.backup == NULL;
	xfer_away_here(&a, a.backup != NULL ? &backup : NULL, f->at, f->name);
	fine = conclude(f, &a);
	xfer_away_clear(&a);
	return fine;
}

void
xfer_way_back(struct xfer_file *f)
{
	struct xfer_duty *d = f->duty;
	struct xfer_path_request q = { .type = SFTP_RENAME, .once = true };
	struct xfer_below backup;
	const char *name = NULL;
	struct local_dir *from;
	struct stat st;

	if (d == NULL || !d->set_aside)
		return;
	d->set_aside = d->way_clear = false;
	if (f->up) {
		q.path = d->backup;
		q.second = f->remote;
		xfer_request_path(f->x, &q, NULL, NULL);
		return;
	}
	backup = backup_of(d);
	from = d->root != NULL ?
	    xfer_place_of(&f->x->orders->backups, &backup, &name) :
	    local_place(f->x->local, d->backup, LOCAL_LINKS_OWN, &name);
	if (from == NULL)
		return;
	/* Not every file system has hard links. */
	if (local_link(from, name, f->at, f->name) != 0 &&
	    local_stat(f->at, f->name, LOCAL_LINKS_NONE, &st) != 0)
		(void)!local_rename_to(from, name, f->at, f->name);
	local_dir_unref(from);
}
