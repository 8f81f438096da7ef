/* SPDX-License-Identifier: ISC */
/* Questions about a transfer as a whole. */
#include "xfer/state/transfer-state.h"

struct xfer_stream *
xfer_stream_first(struct xfer *x)
{
	struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_error(l->s) == 0)
			return l;
	return NULL;
}

bool
xfer_has(struct xfer *x, enum sftp_extension ext)
{
	const struct xfer_stream *l;

	/* All streams are sessions of the same server, but VERSION may not have
	 * come on each of them. */
	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_has(l->s, ext))
			return true;
	return false;
}

bool
xfer_listed(const struct xfer *x)
{
	return TAILQ_EMPTY(&x->dirs.waiting) && TAILQ_EMPTY(&x->dirs.walking) &&
	    TAILQ_EMPTY(&x->dirs.listing);
}

void
xfer_queue_file(struct xfer_file *f)
{
	TAILQ_INSERT_TAIL(&f->x->files.queue, f, entry);
	f->x->files.queued++;
}

enum local_links
xfer_target_links(const struct xfer *x)
{
	return x->opts.links ? LOCAL_LINKS_NONE : LOCAL_LINKS_OWN;
}
