/* SPDX-License-Identifier: ISC */
/*
 * What a server is asked of a target before anything of it is touched: may it
 * be written, and how much old content has it?
 */
#include <errno.h>
#include <stdlib.h>

#include "xfer/transfer/transfer-internal.h"

bool
xfer_overwrites(const struct xfer_file *f)
{
	return f->part.name == NULL && f->target.reuse == XFER_REUSE_NOTHING;
}

struct asking {
	struct xfer_file *file;
	struct sftp *s;
};

/* Answer to the OPEN that only asks whether the target may be written. A handle
 * is closed at once. */
static void
writable_done(void *arg, const struct sftp_reply *reply)
{
	struct asking *asking = arg;
	struct xfer_file *f = asking->file;
	struct sftp *s = asking->s;
	struct sftp_handle h;

	free(asking);
	f->pending--;
	if (reply->err != 0)
		return;
	if (reply->status == SFTP_OK) {
		sftp_keep_handle(&h, reply);
		sftp_close(s, &h, NULL, NULL);
	}
	xfer_target_refused(f, reply->status == SFTP_PERMISSION_DENIED);
	xfer_file_touch(f);
}

void
xfer_target_ask(struct xfer_file *f, struct xfer_stream *stream)
{
	struct asking *asking = malloc(sizeof *asking);

	if (asking == NULL) {
		xfer_report_errno(f->x, f->remote, ENOMEM);
		xfer_file_fail(f);
		return;
	}
	*asking = (struct asking){ .file = f, .s = stream->s };
	f->pending++;
	sftp_open(stream->s, f->remote, SFTP_O_WRITE, NULL, writable_done,
	    asking);
}

/* Notes how much old content the target has, because no hole may be left in it.
 * A device tells no size, so all of it counts as old content. */
static void
target_inspected(void *arg, const struct sftp_reply *reply)
{
	const struct sftp_attrs *a = &reply->attrs;
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	if (!xfer_handle_answered(e, reply))
		return;
	xfer_target_opened(f, UINT64_MAX);
	if (reply->type == SFTP_ATTRS && (a->flags & SFTP_A_SIZE) &&
	    !((a->flags & SFTP_A_MODE) && !S_ISREG(a->mode)))
		xfer_target_opened(f, a->size);
	xfer_file_touch(f);
}

bool
xfer_target_inspect(struct xfer_file *f, struct xfer_handle *e)
{
	if (f->opening.inspected || !f->x->opts.sparse)
		return false;
	xfer_opening_inspected(f, true);
	xfer_handle_fstat(e, target_inspected);
	return true;
}
