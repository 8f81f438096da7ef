/* SPDX-License-Identifier: ISC */
/* What is known of the OPENs of a file: only this source changes
 * file->opening. */
#include <stdlib.h>

#include "xfer/state/transfer-state.h"

enum { OPENS_MAX = 8 };

static void
set_crowded(struct xfer_file *f, bool crowded)
{
	f->x->files.crowded += crowded;
	f->x->files.crowded -= f->opening.crowded;
	f->opening.crowded = crowded;
}

void
xfer_opening_forget(struct xfer_file *f)
{
	set_crowded(f, false);
	free(f->opening.probe);
	free(f->opening.words);
	f->opening = (struct xfer_opening){ .crowds = f->opening.crowds };
}

void
xfer_opening_begins(struct xfer_file *f)
{
	f->opening.status = 0;
}

void
xfer_opening_granted(struct xfer_file *f)
{
	set_crowded(f, false);
}

void
xfer_opening_refused(struct xfer_file *f, const struct sftp_reply *reply,
    bool crowded)
{
	set_crowded(f, crowded && f->opening.crowds++ < XFER_CROWDED_MAX);
	f->opening.status = reply->status;
	xfer_keep_words(&f->opening.words, reply);
	f->opening.no_more = !f->opening.crowded;
}

void
xfer_opening_denied(struct xfer_file *f)
{
	f->opening.status = SFTP_PERMISSION_DENIED;
	free(f->opening.words);
	f->opening.words = NULL;
}

void
xfer_opening_no_more(struct xfer_file *f)
{
	f->opening.no_more = true;
}

void
xfer_opening_inspected(struct xfer_file *f, bool inspected)
{
	f->opening.inspected = inspected;
}

bool
xfer_opening_gone(struct xfer_file *f)
{
	return f->opening.gone++ >= OPENS_MAX;
}

void
xfer_opening_waits(struct xfer_file *f, bool waits)
{
	f->opening.waits_for_fds = waits;
}

void
xfer_opening_probe(struct xfer_file *f, char *name)
{
	free(f->opening.probe);
	f->opening.probe = name;
}
