/* SPDX-License-Identifier: ISC */
/* Attributes of files on this host that have their data already: no server is
 * asked for that. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/orders/ordered.h"

/* Sets the attributes of an order on the open file. 0, or an errno. */
static int
set(struct xfer *x, int fd, const struct xfer_order *o)
{
	const struct xattr_file file = { .fd = fd };
	const struct sftp_attrs *a = o->attrs;

	if ((a->flags & SFTP_A_OWNER) && fchown(fd, a->uid, a->gid) != 0)
		return errno;
	if (o->xattrs.kinds != 0 && xattrs_write(&file, &o->xattrs) != 0)
		xfer_report_tried(x, XFER_TRIED_XATTRS, o->local,
		    local_error_text(errno));
	if ((a->flags & SFTP_A_MODE) &&
	    fchmod(fd, a->mode & XFER_MODE_KEPT) != 0)
		return errno;
	if ((a->flags & SFTP_A_TIMES) && futimens(fd, o->exact->times) != 0)
		return errno;
	return 0;
}

/* A descriptor of the order's file, or -1: it cannot be read, or is no file. */
static int
open_file(struct xfer *x, const struct xfer_order *o)
{
	const char *name;
	struct local_dir *at = xfer_order_place(x, o, &name);
	struct stat st;
	int fd;

	if (at == NULL)
		return -1;
	fd = local_open_source(at, name, LOCAL_LINKS_NONE, &st);
	local_dir_unref(at);
	if (fd >= 0 && !S_ISREG(st.st_mode))
		fd_close(&fd);
	return fd;
}

bool
xfer_order_fix_file(struct xfer *x, const struct xfer_order *o)
{
	int fd, error;

	if (x->orders->up || o->kind != XFER_ORDER_ATTRS || o->remove_source ||
	    x->opts.summed != NULL || !S_ISREG(o->attrs->mode))
		return false;
	/* The server knows times that the plan does not. */
	if ((o->attrs->flags & SFTP_A_TIMES) &&
	    (o->exact == NULL || !o->exact->known))
		return false;
	fd = open_file(x, o);
	if (fd < 0)
		return false;
	error = set(x, fd, o);
	fd_close(&fd);
	if (error != 0)
		xfer_order_fails(x, o, error);
	else
		xfer_order_ends(x, o->id, true, 0);
	return true;
}
