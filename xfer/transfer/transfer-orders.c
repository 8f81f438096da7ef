/* SPDX-License-Identifier: ISC */
#include "xfer/transfer/transfer-orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/orders/ordered.h"
#include "xfer/transfer/transfer-internal.h"

struct xfer_ordered {
	const struct xfer_orders *from; /* borrowed */
	struct xfer_places places;
	struct xfer_order next;
	bool taken;	    /* next holds an order that is not done yet */
	bool up, ended;
	bool deleting;	    /* only deletes may follow */
	bool may_delete;    /* nothing has failed when all else was done */
	unsigned under_way; /* deletes */
};

int
xfer_follow(struct xfer *x, bool up, const struct xfer_orders *orders)
{
	xfer_orders_free(x);
	x->orders = calloc(1, sizeof *x->orders);
	if (x->orders == NULL)
		return ERR_NOMEM;
	x->orders->from = orders;
	x->orders->up = up;
	return 0;
}

void
xfer_orders_free(struct xfer *x)
{
	if (x->orders != NULL)
		xfer_places_free(&x->orders->places);
	free(x->orders);
	x->orders = NULL;
}

bool
xfer_orders_done(const struct xfer *x)
{
	return x->orders == NULL || x->orders->ended || x->stopped;
}

static void
no_more(struct xfer *x)
{
	x->orders->ended = true;
}

/* An order has ended. */
static void
ended(struct xfer *x, uint64_t id, bool ok, uint64_t bytes)
{
	const struct xfer_orders *from = x->orders->from;

	if (from->done != NULL && !x->over)
		from->done(from->arg, id, ok, bytes);
}

/* An order fails on this host, or for lack of memory (ENOMEM). */
static void
fails(struct xfer *x, const struct xfer_order *o, int error)
{
	xfer_report_errno(x, o->local != NULL ? o->local : o->remote, error);
	ended(x, o->id, false, 0);
}

/* --- files --- */

static bool
is_link(const struct xfer_order *o)
{
	return o->attrs != NULL && (o->attrs->flags & SFTP_A_MODE) &&
	    S_ISLNK(o->attrs->mode);
}

/* Adds the file or link of o, which is in the directory at; NULL: where its
 * path says. */
static void
add(struct xfer *x, const struct xfer_order *o, struct local_dir *at)
{
	bool up = x->orders->up;
	struct xfer_found found = { .up = up, .at = at,
		.only_attrs = o->kind == XFER_ORDER_ATTRS && !is_link(o),
		.links = xfer_target_links(x), .local = strdup(o->local),
		.remote = strdup(o->remote), .attrs = o->attrs,
		.exact = o->exact, .duty = calloc(1, sizeof *found.duty) };

	if (o->at != NULL)
		found.links = up ? o->links : LOCAL_LINKS_NONE;
	if (found.duty == NULL) {
		local_dir_unref(at);
		free(found.local);
		free(found.remote);
		fails(x, o, ENOMEM);
		return;
	}
	found.duty->id = o->id;
	if (xfer_add_file(x, NULL, &found) != 0)
		fails(x, o, ENOMEM);
}

static void
copy(struct xfer *x, const struct xfer_order *o)
{
	struct local_dir *at = NULL;
	const char *name;

	if (o->at != NULL) {
		at = xfer_place_of(&x->orders->places, o, &name);
		if (at == NULL) {
			fails(x, o, errno);
			return;
		}
	}
	add(x, o, at);
}

void
xfer_orders_file_ended(struct xfer_file *f)
{
	bool ok = f->state == XFER_DONE && !f->failed;
	uint64_t bytes = 0;

	if (f->duty == NULL)
		return;
	if (ok && !f->only_attrs && !f->source.symlink)
		bytes = f->source.size;
	ended(f->x, f->duty->id, ok, bytes);
	free(f->duty);
}

/* --- deletes --- */

static bool
is_delete(const struct xfer_order *o)
{
	return o->kind == XFER_ORDER_DELETE ||
	    o->kind == XFER_ORDER_DELETE_DIR;
}

/* A request to delete path, which a server is to answer. */
struct deletion {
	struct xfer *x;
	uint64_t id;
	char path[];
};

static void
deleted(void *arg, const struct sftp_reply *reply)
{
	struct deletion *d = arg;
	bool gone = reply->err == 0 && (reply->status == SFTP_OK ||
	    reply->status == SFTP_NO_SUCH_FILE);

	d->x->orders->under_way--;
	if (!gone && reply->err != ERR_CANCELLED)
		xfer_report_reply(d->x, d->path, reply);
	ended(d->x, d->id, gone, 0);
	free(d);
}

static void
delete_remote(struct xfer *x, const struct xfer_order *o)
{
	const struct xfer_path_request q = { .path = o->remote,
		.type = o->kind == XFER_ORDER_DELETE ? SFTP_REMOVE :
						       SFTP_RMDIR };
	size_t size = strlen(o->remote) + 1;
	struct deletion *d = malloc(sizeof *d + size);

	if (d == NULL) {
		fails(x, o, ENOMEM);
		return;
	}
	d->x = x;
	d->id = o->id;
	memcpy(d->path, o->remote, size);
	x->orders->under_way++;
	xfer_request_path(x, &q, deleted, d);
}

static void
delete_local(struct xfer *x, const struct xfer_order *o)
{
	struct local_dir *at;
	const char *name;
	int r;

	at = o->at != NULL ? xfer_place_of(&x->orders->places, o, &name) :
	    local_place(x->local, o->local, LOCAL_LINKS_OWN, &name);
	if (at == NULL && errno == ENOENT) { /* with all that it was in */
		ended(x, o->id, true, 0);
		return;
	}
	if (at == NULL) {
		fails(x, o, errno);
		return;
	}
	r = o->kind == XFER_ORDER_DELETE ? local_remove(at, name) :
					   local_remove_dir(at, name);
	local_dir_unref(at);
	if (r != 0 && errno != ENOENT)
		fails(x, o, errno);
	else
		ended(x, o->id, true, 0);
}

/* Have all copies ended, so that deleting may begin? */
static bool
is_last(const struct xfer *x)
{
	return x->files.queued == 0 && x->files.active_count == 0 &&
	    TAILQ_EMPTY(&x->files.done) && TAILQ_EMPTY(&x->dirs.all) &&
	    x->requests.count == x->orders->under_way;
}

/* False if nothing may be deleted, because a copy has failed; the user was
 * told. */
static bool
begin_deleting(struct xfer *x, const struct xfer_order *o)
{
	if (x->failures == 0)
		return true;
	xfer_report(x, x->orders->up ? o->remote : o->local,
	    "not deleted, nor what follows it: not all else could be done");
	ended(x, o->id, false, 0);
	no_more(x);
	return false;
}

/* Deletes the target of o when all copies have ended. False: o has to wait. */
static bool
delete(struct xfer *x, const struct xfer_order *o)
{
	struct xfer_ordered *s = x->orders;

	s->deleting = true;
	if (!is_last(x) || s->under_way >= XFER_QUEUE_MAX)
		return false;
	if (!s->may_delete && !begin_deleting(x, o))
		return true;
	s->may_delete = true;
	if (s->up)
		delete_remote(x, o);
	else
		delete_local(x, o);
	return true;
}

/* --- a turn --- */

/* Carries out o. False: o has to wait. */
static bool
obey(struct xfer *x, const struct xfer_order *o)
{
	if (is_delete(o))
		return delete(x, o);
	if (x->orders->deleting) {
		xfer_report(x, o->local, "is to be copied after a deletion");
		ended(x, o->id, false, 0);
		no_more(x);
		return true;
	}
	copy(x, o);
	return true;
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
	bool any = false;

	if (s != NULL && s->taken && x->stopped) {
		s->taken = false;
		ended(x, s->next.id, false, 0);
	}
	while (!xfer_orders_done(x) && xfer_may_find_more(x) && take(x) &&
	    obey(x, &s->next)) {
		s->taken = false;
		any = true;
	}
	return any;
}
