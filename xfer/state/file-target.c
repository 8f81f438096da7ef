/* SPDX-License-Identifier: ISC */
/* What is known of a file's target: only this source changes file->target. */
#include "xfer/state/transfer-state.h"

void
xfer_target_forget(struct xfer_file *f)
{
	f->target = (struct xfer_target){ .known = false };
}

void
xfer_target_known(struct xfer_file *f)
{
	f->target.known = true;
}

void
xfer_target_found(struct xfer_file *f, const struct sftp_attrs *attrs)
{
	f->target.attrs = *attrs;
}

void
xfer_target_numbered(struct xfer_file *f, const struct sftp_reply *reply)
{
	(void)xfer_exact_from_reply(&f->target.exact, reply);
}

void
xfer_target_names(struct xfer_file *f, uint32_t nlink)
{
	f->target.nlink = nlink;
}

void
xfer_target_seen(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact)
{
	f->target.attrs = *attrs;
	f->target.exact = *exact;
	if (exact->known)
		f->target.nlink = exact->nlink;
}

void
xfer_target_link(struct xfer_file *f)
{
	f->target.attrs.flags = 0;
	f->target.is_link = true;
}

void
xfer_target_refused(struct xfer_file *f, bool read_only)
{
	f->target.read_only = read_only;
}

void
xfer_target_use(struct xfer_file *f, enum xfer_reuse reuse)
{
	f->target.reuse = reuse;
}

void
xfer_target_complete(struct xfer_file *f)
{
	f->target.same = true;
	f->target.reuse = XFER_REUSE_WHOLE;
}

void
xfer_target_opened(struct xfer_file *f, uint64_t old_size)
{
	f->target.old_size = old_size;
}

void
xfer_target_gets_mode(struct xfer_file *f, uint32_t mode, uint32_t made)
{
	f->target.mode = mode;
	f->target.set_mode = mode != made;
}

void
xfer_target_keeps_mode(struct xfer_file *f)
{
	f->target.set_mode = false;
}
