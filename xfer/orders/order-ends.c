/* SPDX-License-Identifier: ISC */
/* How orders end, and where they are. */
#include <errno.h>
#include <stdlib.h>

#include "xfer/orders/ordered.h"

void
xfer_duty_free(struct xfer_duty *d)
{
	if (d == NULL)
		return;
	local_dir_unref(d->root);
	local_dir_unref(d->link_root);
	free(d->link);
	local_dir_unref(d->basis_at);
	free(d->basis);
	free(d->backup);
	free(d->text);
	buf_clear(&d->xattr_set);
	free(d);
}

void
xfer_order_ends(struct xfer *x, uint64_t id, bool ok, uint64_t bytes)
{
	const struct xfer_orders *from = x->orders->from;

	if (from->done != NULL && !x->over)
		from->done(from->arg, id, ok, bytes);
}

void
xfer_order_fails(struct xfer *x, const struct xfer_order *o, int error)
{
	xfer_report_errno(x, o->local != NULL ? o->local : o->remote, error);
	xfer_order_ends(x, o->id, false, 0);
}

const char *
xfer_order_target(const struct xfer *x, const struct xfer_order *o)
{
	return x->orders->up ? o->remote : o->local;
}

struct xfer_below
xfer_order_below(const struct xfer_order *o)
{
	return (struct xfer_below){ .root = o->at, .links = o->links,
		.path = o->local };
}

struct local_dir *
xfer_order_place(struct xfer *x, const struct xfer_order *o, const char **name)
{
	const struct xfer_below below = xfer_order_below(o);
	struct local_dir *at;

	if (o->at != NULL)
		return xfer_place_of(&x->orders->places, &below, name);
	at = local_place(x->local, o->local,
	    x->orders->up ? LOCAL_LINKS_ALL : LOCAL_LINKS_OWN, name);
	if (at == NULL)
		errno = ENOMEM;
	return at;
}
