/* SPDX-License-Identifier: ISC */
/* What is known of a file's part, and of what this run has made under its name:
 * only this source changes file->part and file->made. */
#include <stdlib.h>

#include "xfer/state/transfer-state.h"

/* --- the part --- */

void
xfer_part_named(struct xfer_file *f, char *name)
{
	free(f->part.name);
	f->part.name = name;
}

void
xfer_part_forget(struct xfer_file *f)
{
	free(f->part.name);
	f->part = (struct xfer_part){ .name = NULL };
}

void
xfer_part_dropped(struct xfer_file *f)
{
	free(f->part.name);
	f->part = (struct xfer_part){ .made = f->part.made };
}

void
xfer_part_old(struct xfer_file *f, const struct sftp_attrs *old)
{
	f->part.there = old != NULL;
	if (old != NULL)
		f->part.old = *old;
}

void
xfer_part_old_names(struct xfer_file *f, uint32_t nlink)
{
	f->part.old_nlink = nlink;
}

void
xfer_part_unused(struct xfer_file *f)
{
	f->part.old.flags = 0;
}

void
xfer_part_foreign(struct xfer_file *f, bool foreign)
{
	f->part.foreign = foreign;
}

void
xfer_part_plan_asked(struct xfer_file *f)
{
	f->part.plan_asked = true;
}

void
xfer_part_planned(struct xfer_file *f, bool planned)
{
	f->part.planned = planned;
}

void
xfer_part_opened(struct xfer_file *f, const struct sftp_attrs *made)
{
	f->part.made = *made;
}

void
xfer_part_remade(struct xfer_file *f)
{
	f->part.remade = true;
	f->part.made.flags = 0;
}

void
xfer_part_cleared(struct xfer_file *f, bool cleared)
{
	f->part.cleared = cleared;
}

void
xfer_part_unproven(struct xfer_file *f)
{
	f->part.unproven = true;
}

void
xfer_part_proven(struct xfer_file *f)
{
	f->part.unproven = false;
}

void
xfer_part_judged(struct xfer_file *f)
{
	f->part.refused = f->part.unproven;
}

void
xfer_part_marked(struct xfer_file *f, bool right)
{
	f->part.unproven = f->part.refused = !right;
}

/* --- what this run has made --- */

void
xfer_made_nothing(struct xfer_file *f)
{
	f->made = (struct xfer_made){ .ours = false };
}

void
xfer_made_disowned(struct xfer_file *f)
{
	f->made.ours = false;
}

void
xfer_part_asked(struct xfer_file *f, const struct sftp_reply *reply)
{
	if (!f->up || f->target.reuse != XFER_REUSE_NOTHING ||
	    f->opening.probe != NULL)
		return;
	f->made.ours |= reply->err == 0 && reply->status == SFTP_OK;
}

void
xfer_made_proven(struct xfer_file *f)
{
	f->made.ours = true;
}

void
xfer_made_lane_lost(struct xfer_file *f)
{
	f->made.lane_lost = true;
}

void
xfer_made_late(struct xfer_file *f)
{
	f->made.late = true;
}

void
xfer_made_copied(struct xfer_file *f, bool numbered)
{
	f->made = (struct xfer_made){ .ours = true, .numbered = numbered };
}

void
xfer_made_again(struct xfer_file *f, const struct xfer_made *made)
{
	f->made = *made;
}

void
xfer_made_numbered(struct xfer_file *f, bool numbered)
{
	f->made.numbered = numbered;
}

void
xfer_made_here(struct xfer_file *f, int fd)
{
	struct stat st;

	f->made.ours = true;
	f->made.seen = fstat(fd, &st) == 0;
	if (!f->made.seen)
		return;
	f->made.dev = st.st_dev;
	f->made.ino = st.st_ino;
}

void
xfer_made_written(struct xfer_file *f, const struct sftp_attrs *attrs)
{
	f->made.attrs = *attrs;
}

void
xfer_made_kept(struct xfer_file *f, uint64_t bytes)
{
	f->made.kept = bytes;
}
