/* SPDX-License-Identifier: ISC */
/* What is known of a file's source: the owner of file->source. */
#include "xfer/state/transfer-state.h"

void
xfer_source_found(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact)
{
	if (attrs != NULL)
		f->source.attrs = *attrs;
	f->source.symlink = (f->source.attrs.flags & SFTP_A_MODE) &&
	    S_ISLNK(f->source.attrs.mode);
	if (exact != NULL)
		f->source.exact = *exact;
}

void
xfer_source_seen(struct xfer_file *f, const struct stat *st)
{
	sftp_attrs_from_stat(&f->source.attrs, st);
	xfer_exact_from_stat(&f->source.exact, st);
}

void
xfer_source_numbered(struct xfer_file *f, const struct sftp_reply *reply)
{
	(void)xfer_exact_from_reply(&f->source.exact, reply);
}

void
xfer_source_timed(struct xfer_file *f, const struct sftp_reply *reply)
{
	if (xfer_exact_from_reply(&f->source.exact, reply))
		f->source.attrs.flags |= SFTP_A_TIMES;
}

void
xfer_source_read(struct xfer_file *f, const struct sftp_attrs *attrs)
{
	f->source.attrs = *attrs;
}

void
xfer_source_doubted(struct xfer_file *f)
{
	f->source.exact.known = false;
}

void
xfer_source_sized(struct xfer_file *f)
{
	f->source.size =
	    f->source.attrs.flags & SFTP_A_SIZE ? f->source.attrs.size : 0;
}
