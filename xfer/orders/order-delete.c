/* SPDX-License-Identifier: ISC */
/*
 * Deletes. Each name is looked at first, and goes if it is what the plan has
 * seen. At a server many are under way: they are looked at as they come, and
 * removed in the plan's order, in which what is in a directory is before it.
 */
#include <errno.h>
#include <stdlib.h>

#include "xfer/orders/ordered.h"

enum { DELETES_MAX = 2048 }; /* under way */

struct xfer_deletion {
	struct xfer_away away;
	uint64_t id;
	bool looked;
	TAILQ_ENTRY(xfer_deletion) entry;
};

bool
xfer_order_is_delete(const struct xfer_order *o)
{
	return o->kind == XFER_ORDER_DELETE ||
	    o->kind == XFER_ORDER_DELETE_DIR;
}

/* Tells how a delete has ended. A directory that is not empty has got something
 * since it was read, or what is in it had to stay: no failure. */
static void
tell(const struct xfer_away *a, uint64_t id)
{
	bool gone = a->end == XFER_AWAY_DONE || a->end == XFER_AWAY_GONE;

	if (a->end == XFER_AWAY_KEPT)
		xfer_note(a->x, a->path, "not deleted: it is not empty");
	else if (!gone && !a->x->over)
		xfer_away_report(a);
	xfer_order_ends(a->x, id, gone, 0);
}

static bool
init(struct xfer_away *a, struct xfer *x, const struct xfer_order *o)
{
	if (!xfer_away_init(a, x, xfer_order_target(x, o), o->was, o->backup))
		return false;
	a->dir = o->kind == XFER_ORDER_DELETE_DIR;
	return true;
}

/* ---- at a server -------------------------------------------------------- */

static void
deletion_ends(struct xfer_deletion *d)
{
	struct xfer_ordered *s = d->away.x->orders;

	if (s->unsent == d)
		s->unsent = TAILQ_NEXT(d, entry);
	TAILQ_REMOVE(&s->deletions, d, entry);
	s->deletes--;
	s->delete_backups -= d->away.backup != NULL;
	tell(&d->away, d->id);
	xfer_away_clear(&d->away);
	free(d);
}

/* Must the deletion of the directory d wait for the answers to those before it?
 * A backup may take several requests, so the order of requests alone does not
 * ensure that the directory is empty by then. */
static bool
waits(const struct xfer_deletion *d, bool orderly)
{
	const struct xfer_ordered *s = d->away.x->orders;
	const struct xfer_deletion *before;

	if (!d->away.dir || d == TAILQ_FIRST(&s->deletions))
		return false;
	if (!orderly)
		return true;
	if (s->delete_backups == 0)
		return false;
	TAILQ_FOREACH(before, &s->deletions, entry) {
		if (before == d)
			return false;
		if (before->away.backup != NULL)
			return true;
	}
	return false;
}

/* Removes what was looked at, up to the first that was not. Where the server
 * keeps no order, a directory waits for the answers of all before it. */
static void
send_on(struct xfer *x)
{
	struct xfer_stream *l = xfer_stream_first(x);
	bool orderly = l != NULL && sftp_keeps_order(l->s);
	struct xfer_ordered *s = x->orders;
	struct xfer_deletion *d;

	/* A request that could not be made ends its deletion at once, and
	 * perhaps the next one. */
	while ((d = s->unsent) != NULL && d->looked && !waits(d, orderly)) {
		s->unsent = TAILQ_NEXT(d, entry);
		if (d->away.end == XFER_AWAY_DONE && !x->over)
			xfer_away_go(&d->away);
		else
			deletion_ends(d);
	}
}

static void
looked(struct xfer_away *a)
{
	struct xfer_deletion *d = (struct xfer_deletion *)a;

	d->looked = true;
	send_on(a->x);
}

static void
done(struct xfer_away *a)
{
	struct xfer *x = a->x;

	deletion_ends((struct xfer_deletion *)a);
	if (!x->over)
		send_on(x);
}

static void
delete_remote(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_deletion *d = calloc(1, sizeof *d);

	if (d == NULL || !init(&d->away, x, o)) {
		free(d);
		xfer_order_fails(x, o, ENOMEM);
		return;
	}
	d->away.looked = looked;
	d->away.done = done;
	d->id = o->id;
	TAILQ_INSERT_TAIL(&x->orders->deletions, d, entry);
	if (x->orders->unsent == NULL)
		x->orders->unsent = d;
	x->orders->deletes++;
	x->orders->delete_backups += d->away.backup != NULL;
	xfer_away_look(&d->away);
}

/* ---- on this host ------------------------------------------------------- */

static void
delete_local(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_below backup = xfer_order_below(o);
	struct local_dir *at;
	struct xfer_away a;
	const char *name;

	at = xfer_order_place(x, o, &name);
	if (at == NULL && errno == ENOENT) { /* with all that it was in */
		xfer_order_ends(x, o->id, true, 0);
		return;
	}
	if (at == NULL) {
		xfer_order_fails(x, o, errno);
		return;
	}
	if (init(&a, x, o)) {
		backup.path = a.backup;
		xfer_away_here(&a, a.backup != NULL ? &backup : NULL, at,
		    name);
		tell(&a, o->id);
		xfer_away_clear(&a);
	} else {
		xfer_order_fails(x, o, ENOMEM);
	}
	if (o->at != NULL)
		xfer_place_forget(&x->orders->places,
		    &(struct xfer_below){ .root = o->at, .path = o->local });
	local_dir_unref(at);
}

/* ---- both --------------------------------------------------------------- */

void
xfer_order_may_delete(struct xfer *x, const struct xfer_order *o)
{
	x->orders->may_delete = x->failures == 0 || x->opts.delete_anyway;
	if (!x->orders->may_delete)
		xfer_report(x, xfer_order_target(x, o), "not deleted, nor what "
		    "follows it: not all else could be done");
}

bool
xfer_order_delete(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_ordered *s = x->orders;

	if (s->deletes >= DELETES_MAX)
		return false;
	if (!s->may_delete)
		xfer_order_ends(x, o->id, false, 0);
	else if (s->up)
		delete_remote(x, o);
	else
		delete_local(x, o);
	return true;
}
