/* SPDX-License-Identifier: ISC */
/*
 * xattrs@hpnssh.org: extended attributes and ACLs of files; docs/SFTP.md has
 * the wire format. A file is opened without access to its content, and
 * attributes are read or changed through that descriptor, so a link that gets
 * the file's name meanwhile has no effect.
 */
#include <errno.h>

#include "base/fd.h"
#include "compat/file.h"
#include "xfer/local/local-beneath.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

bool
serve_get_xattrs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	uint32_t kinds = rd_u32(r), needs = 0;
	struct span set = rd_string(r);
	int err = rd_err(r);

	if (err == 0)
		err = xattrs_check(set, kinds);
	if (err < 0) {
		rd_fail(r, err);
		return false;
	}
	if ((kinds & ~(uint32_t)XATTRS_ALL) != 0) {
		serve_status(s, op->id, SFTP_OP_UNSUPPORTED);
		return false;
	}
	if ((kinds & XATTRS_ACL) != 0)
		needs |= SFTP_MAY_MODE;
	if ((kinds & ~(uint32_t)XATTRS_ACL) != 0)
		needs |= SFTP_MAY_CHANGE;
	if (!serve_may(s, needs)) {
		rd_fail(r, ERR_DENIED);
		return false;
	}
	op->xattrs.kinds = kinds;
	buf_put(&op->xattrs.set, set.p, set.len);
	if (buf_err(&op->xattrs.set) < 0)
		rd_fail(r, buf_err(&op->xattrs.set));
	return r->err == 0;
}

int
serve_apply_xattrs(const struct serve_op *op, int fd)
{
	const struct xattr_file f = { .fd = fd };
	const struct xattrs x = { op->xattrs.kinds, buf_span(&op->xattrs.set) };

	return x.kinds == 0 ? 0 : xattrs_write(&f, &x);
}

/* ---- by path ------------------------------------------------------------ */

/* Reads the set of the request's path into op->data; or sets it, if x is not
 * NULL. */
static int
of_path(struct serve_op *op, const struct xattrs *x)
{
	uint32_t kinds = op->xattrs.kinds;
	bool follow = op->flags != 0;
	struct serve_place p;
	int r, held;

	if (follow && op->below != NULL) {
		char name[32];
		struct xattr_file f = { .fd = -1, .path = name,
			.follow = true };

		held = local_beneath_open(op->below, op->path, FILE_HANDLE, 0);
		if (held < 0)
			return -1;
		(void)file_name_of(held, name);
		r = x != NULL ? xattrs_write(&f, x) :
				xattrs_read(&f, kinds, &op->data);
		fd_close(&held);
		return r;
	}
	r = serve_at(op, op->path, &p);
	if (r == 0)
		r = x != NULL ? xattrs_write_at(p.at, p.name, follow, x) :
				xattrs_read_at(p.at, p.name, follow, kinds,
				    &op->data);
	serve_leave(&p);
	return r;
}

static int
run_get(struct serve_op *op)
{
	return of_path(op, NULL);
}

static void
done_get(struct sftp_serve *s, struct serve_op *op)
{
	size_t mark;

	if (op->error != 0 || buf_err(&op->data) != 0) {
		serve_done_status(s, op);
		return;
	}
	mark = serve_begin_reply(s, op->id);
	buf_put_string_buf(&s->out, &op->data);
	buf_close_string(&s->out, mark);
}

int
serve_xattrs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err;

	op->path = serve_get_path(s, r);
	op->flags = rd_u32(r) != 0;
	op->xattrs.kinds = rd_u32(r);
	if ((err = rd_end(r)) < 0)
		return err;
	if ((op->xattrs.kinds & ~(uint32_t)XATTRS_ALL) != 0) {
		serve_status(s, op->id, SFTP_OP_UNSUPPORTED);
		return 0;
	}
	serve_verbose(s, "xattrs name \"%s\"", op->path);
	op->run = run_get;
	op->done = done_get;
	return 0;
}

static int
run_set(struct serve_op *op)
{
	const struct xattrs x = { op->xattrs.kinds, buf_span(&op->xattrs.set) };

	return of_path(op, &x);
}

int
serve_set_xattrs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	op->flags = rd_u32(r) != 0;
	if (!serve_get_xattrs(s, op, r))
		return r->err;
	serve_info(s, "set \"%s\" xattrs", op->path);
	op->order.changes = true;
	op->run = run_set;
	op->done = serve_done_status;
	return 0;
}

/* ---- by handle ---------------------------------------------------------- */

static int
run_fset(struct serve_op *op)
{
	return serve_apply_xattrs(op, op->file.fd);
}

int
serve_fset_xattrs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err;

	if (!serve_get_xattrs(s, op, r))
		return r->err;
	if ((err = serve_check_handle(s, op, r, h, SFTP_FAILURE)) <= 0)
		return err;
	serve_info(s, "set \"%s\" xattrs", h->path);
	serve_touch_handle(s, op, h, true);
	op->run = run_fset;
	op->done = serve_done_status;
	return 0;
}
