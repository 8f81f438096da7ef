/* SPDX-License-Identifier: ISC */
/* What is known of a file's source: only this source changes file->source. */
#include "xfer/state/transfer-state.h"

uint32_t
xfer_sets(const struct xfer_file *f)
{
	if (f->duty != NULL)
		return f->duty->sets;
	return f->x->opts.preserve ? SFTP_A_MODE | SFTP_A_TIMES : 0;
}

struct xattrs
xfer_xattrs(const struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;

	return d == NULL ? (struct xattrs){ .kinds = 0 } :
	    (struct xattrs){ d->xattr_kinds, buf_span(&d->xattr_set) };
}

uint32_t
xfer_mode_bits(const struct xfer_file *f)
{
	return f->duty != NULL ? XFER_MODE_KEPT : XFER_MODE_PRESERVED;
}

/* Mode and owner are what the plan says, whatever those of the source are. */
static void
obey(struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;
	struct sftp_attrs *a = &f->source.attrs;

	if (d == NULL)
		return;
	a->flags |= SFTP_A_MODE;
	a->mode = (a->mode & S_IFMT) | (d->mode & XFER_MODE_KEPT);
	a->uid = d->uid;
	a->gid = d->gid;
}

void
xfer_source_found(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact)
{
	if (attrs != NULL)
		f->source.attrs = *attrs;
	obey(f);
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
	obey(f);
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
	obey(f);
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
