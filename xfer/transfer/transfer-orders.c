/* SPDX-License-Identifier: ISC */
#include "xfer/transfer/transfer-orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

enum { ORDERS_PER_TURN = 512, HASHES_MAX = 4096 };

int
xfer_follow(struct xfer *x, bool up, const struct xfer_orders *orders)
{
	xfer_orders_free(x);
	x->orders = calloc(1, sizeof *x->orders);
	if (x->orders == NULL)
		return ERR_NOMEM;
	x->orders->from = orders;
	x->orders->up = up;
	TAILQ_INIT(&x->orders->deletions);
	TAILQ_INIT(&x->orders->making);
	TAILQ_INIT(&x->orders->keeps);
	return 0;
}

void
xfer_orders_free(struct xfer *x)
{
	xfer_settle_free(x->settle);
	x->settle = NULL;
	if (x->orders == NULL)
		return;
	xfer_places_free(&x->orders->places);
	xfer_places_free(&x->orders->backups);
	xfer_places_free(&x->orders->links);
	free(x->orders->far);
	free(x->orders);
	x->orders = NULL;
}

/* How many orders wait for answers that no file waits for? */
static size_t
asked(const struct xfer *x)
{
	const struct xfer_ordered *s = x->orders;

	return s->dirs + s->fixes + s->sources + s->deletes +
	    xfer_settle_files(x);
}

bool
xfer_orders_done(const struct xfer *x)
{
	return xfer_settled(x) && (x->orders == NULL ||
	    ((x->orders->ended || x->stopped) && asked(x) == 0));
}

static void
no_more(struct xfer *x)
{
	x->orders->ended = true;
}

/* --- files --- */

/* Copies a text that o may have. False: no memory. */
static bool
keep(char **to, const char *text)
{
	*to = text != NULL ? strdup(text) : NULL;
	return text == NULL || *to != NULL;
}

/* Keeps the basis that the order names. For a download, its directory is looked
 * up below the root of the order; if that fails, the file is sent whole. False:
 * no memory. */
static bool
keep_basis(const struct xfer *x, struct xfer_duty *d,
    const struct xfer_order *o)
{
	const struct xfer_below below = { .root = o->at,
		.links = LOCAL_LINKS_NONE, .path = o->basis };
	const char *name = o->basis;

	if (name == NULL || (!x->orders->up && (o->at == NULL ||
	    (d->basis_at = xfer_place_of(&x->orders->links, &below,
		&name)) == NULL)))
		return true;
	d->basis_size = o->basis_size;
	return keep(&d->basis, name);
}

static struct xfer_duty *
duty_new(const struct xfer *x, const struct xfer_order *o)
{
	const struct sftp_attrs *a = o->attrs;
	struct xfer_duty *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	*d = (struct xfer_duty){ .id = o->id, .mode = a->mode, .uid = a->uid,
		.gid = a->gid, .after = x->orders->dirs_asked,
		.links = o->links, .link_moves = o->link_moves,
		.replaces_kind = o->replaces_kind,
		.remove_source = o->remove_source,
		.sets = a->flags &
		    (SFTP_A_MODE | SFTP_A_TIMES | SFTP_A_OWNER) };
	d->xattr_kinds = o->xattrs.kinds;
	buf_put(&d->xattr_set, o->xattrs.set.p, o->xattrs.set.len);
	if (o->at != NULL)
		d->root = local_dir_ref(o->at);
	if (o->was != NULL) {
		d->knows = true;
		d->was = *o->was;
	}
	if (o->link_at != NULL)
		d->link_root = local_dir_ref(o->link_at);
	if (keep(&d->backup, o->backup) && keep(&d->text, o->text) &&
	    keep(&d->link, o->link) && keep_basis(x, d, o) &&
	    buf_err(&d->xattr_set) == 0)
		return d;
	xfer_duty_free(d);
	return NULL;
}

static void
copy(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_found found = { .up = x->orders->up,
		.only_attrs = o->kind == XFER_ORDER_ATTRS,
		.resume = o->resume || (o->kind == XFER_ORDER_COPY &&
		    x->opts.temp != NULL && x->opts.temp->old),
		.links = xfer_target_links(x), .attrs = o->attrs,
		.exact = o->exact };
	const char *name;

	if (o->at != NULL) {
		found.links = found.up ? o->links : LOCAL_LINKS_NONE;
		found.at = xfer_order_place(x, o, &name);
		if (found.at == NULL) {
			xfer_order_fails(x, o, errno);
			return;
		}
	}
	found.duty = duty_new(x, o);
	if (found.duty == NULL) {
		local_dir_unref(found.at);
		xfer_order_fails(x, o, ENOMEM);
		return;
	}
	found.local = strdup(o->local);
	found.remote = strdup(o->remote);
	if (xfer_add_file(x, NULL, &found) != 0)
		xfer_order_fails(x, o, ENOMEM);
}

bool
xfer_orders_wait(const struct xfer *x, const struct xfer_file *f)
{
	const struct xfer_ordered *s = x->orders;
	const struct xfer_stream *first = TAILQ_FIRST(&x->streams);

	if (f->duty == NULL || !f->up || f->duty->after <= s->dirs_answered)
		return false;
	return s->slow_dirs > 0 || x->stream_count != 1 ||
	    !TAILQ_EMPTY(&x->requests.unsent) || !sftp_keeps_order(first->s);
}

void
xfer_orders_file_ended(struct xfer_file *f)
{
	bool ok = f->state == XFER_DONE && !f->failed;
	uint64_t bytes = 0;

	if (f->duty == NULL && ok && !f->x->over)
		xfer_settle_plain(f);
	if (f->duty == NULL)
		return;
	if (ok && !f->only_attrs && !f->source.symlink && !f->duty->linked)
		bytes = f->source.size;
	xfer_keep_free(f, ok);
	f->x->sum.bytes_matched += MIN(f->item.kept, bytes);
	if (ok && xfer_settles(f) && !f->x->over)
		xfer_settle_file(f, bytes);
	else
		xfer_order_ends(f->x, f->duty->id, ok, bytes);
	xfer_duty_free(f->duty);
}

/* --- phases --- */

static enum xfer_orders_phase
phase_of(const struct xfer_order *o)
{
	if (o->kind == XFER_ORDER_DIR_ATTRS)
		return XFER_ORDERS_FIX;
	if (o->waits)
		return XFER_ORDERS_LINK;
	return xfer_order_is_delete(o) ? XFER_ORDERS_DELETE : XFER_ORDERS_MAKE;
}

/* Is the phase that of o? Another one begins when all that was ordered before
 * has ended. */
static bool
enter(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_ordered *s = x->orders;

	if (s->phase == phase_of(o))
		return true;
	if (x->files.queued > 0 || x->files.active_count > 0 ||
	    !TAILQ_EMPTY(&x->files.done) || !TAILQ_EMPTY(&x->dirs.all) ||
	    xfer_hash_count(x) > 0 || asked(x) > 0)
		return false;
	s->phase = phase_of(o);
	if (s->phase == XFER_ORDERS_DELETE)
		xfer_order_may_delete(x, o);
	return true;
}

/* --- a turn --- */

/* Carries out o. False: o has to wait. */
static bool
obey(struct xfer *x, const struct xfer_order *o)
{
	if (!enter(x, o))
		return false;
	switch (o->kind) {
	case XFER_ORDER_DELETE:
	case XFER_ORDER_DELETE_DIR:
		return xfer_order_delete(x, o);
	case XFER_ORDER_DIR_ATTRS:
		return xfer_order_fix_dir(x, o);
	case XFER_ORDER_MAKE_DIR:
		return xfer_order_make_dir(x, o);
	default:
		if (!xfer_order_fix_file(x, o))
			copy(x, o);
		return true;
	}
}

/* True if the next order is in s->next, where it is read to if need be. False
 * at the end of the orders, after an error, or if the next one is not known
 * yet. */
static bool
take(struct xfer *x)
{
	struct xfer_ordered *s = x->orders;
	int r;

	if (s->taken)
		return true;
	if (s->ended)
		return false;
	r = s->from->next(s->from->arg, &s->next);
	s->taken = r > 0 && r != XFER_ORDERS_LATER;
	if (r < 0)
		xfer_report(x, "plan", err_text(r));
	if (r <= 0)
		no_more(x);
	return s->taken;
}

bool
xfer_orders_turn(struct xfer *x)
{
	struct xfer_ordered *s = x->orders;
	int n = 0;

	if (s == NULL)
		return xfer_settle_turn(x);
	if (s->taken && x->stopped) {
		s->taken = false;
		xfer_order_ends(x, s->next.id, false, 0);
	}
	n += xfer_settle_turn(x);
	n += xfer_keep_turn(x);
	while (!x->stopped && n < ORDERS_PER_TURN && xfer_may_find_more(x) &&
	    xfer_hash_count(x) < HASHES_MAX && take(x) && obey(x, &s->next)) {
		s->taken = false;
		n++;
	}
	return n > 0;
}
