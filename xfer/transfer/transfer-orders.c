/* SPDX-License-Identifier: ISC */
#include "xfer/transfer/transfer-orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/transfer/transfer-internal.h"

struct xfer_ordered {
	const struct xfer_orders *from; /* borrowed */
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

/* --- files --- */

static bool
add(struct xfer *x, const struct xfer_order *o)
{
	bool link = o->attrs != NULL && (o->attrs->flags & SFTP_A_MODE) &&
	    S_ISLNK(o->attrs->mode);
	struct xfer_found found = { .up = x->orders->up,
		.only_attrs = o->kind == XFER_ORDER_ATTRS && !link,
		.links = xfer_target_links(x), .local = strdup(o->local),
		.remote = strdup(o->remote), .attrs = o->attrs,
		.exact = o->exact };

	if (o->at != NULL)
		found.at = local_dir_ref(o->at);
	return xfer_add_file(x, NULL, &found) == 0;
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
		xfer_report_errno(x, o->remote, ENOMEM);
		return;
	}
	d->x = x;
	memcpy(d->path, o->remote, size);
	x->orders->under_way++;
	xfer_request_path(x, &q, deleted, d);
}

static void
delete_local(struct xfer *x, const struct xfer_order *o)
{
	struct local_dir *at = o->at;
	const char *name = local_last_name(o->local);
	int r;

	if (at != NULL)
		at = local_dir_ref(at);
	else
		at = local_place(x->local, o->local, LOCAL_LINKS_OWN, &name);
	if (at == NULL) {
		xfer_report_errno(x, o->local, ENOMEM);
		return;
	}
	r = o->kind == XFER_ORDER_DELETE ? local_remove(at, name) :
					   local_remove_dir(at, name);
	if (r != 0 && errno != ENOENT)
		xfer_report_errno(x, o->local, errno);
	local_dir_unref(at);
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
	if (x->orders->deleting)
		xfer_report(x, o->local, "is to be copied after a deletion");
	else if (add(x, o))
		return true;
	else
		xfer_report(x, o->local, err_text(ERR_NOMEM));
	no_more(x);
	return true;
}

/* True if the next order is in s->next, where it is read to if need be. False
 * at the end of the orders, or after an error. */
static bool
take(struct xfer *x)
{
	struct xfer_ordered *s = x->orders;
	int r;

	if (s->taken)
		return true;
	r = s->from->next(s->from->arg, &s->next);
	s->taken = r > 0;
	if (r < 0)
		xfer_report(x, "plan", err_text(r));
	if (r <= 0)
		no_more(x);
	return r > 0;
}

bool
xfer_orders_turn(struct xfer *x)
{
	struct xfer_ordered *s = x->orders;
	bool any = false;

	while (!xfer_orders_done(x) && xfer_may_find_more(x) && take(x) &&
	    obey(x, &s->next)) {
		s->taken = false;
		any = true;
	}
	return any;
}
