/* SPDX-License-Identifier: ISC */
/* The states of a file, and the list of files to which something has
 * happened. */
#include "base/err.h"
#include "base/mem.h"
#include "xfer/state/transfer-state.h"

/* --- states --- */

#define STATE(name) (1u << XFER_##name)

/* The states that may follow each state. A file that is queued again begins
 * anew, or goes on over another stream. */
static const unsigned followers[] = {
	[XFER_QUEUED] = STATE(QUEUED) | STATE(STATING_SOURCE) |
	    STATE(COPYING_PART) | STATE(STATING_TARGET) | STATE(LINKING) |
	    STATE(OPENING) | STATE(DONE),
	[XFER_STATING_SOURCE] = STATE(STATING_TARGET) | STATE(DONE),
	[XFER_COPYING_PART] = STATE(QUEUED) | STATE(STATING_TARGET) |
	    STATE(DONE),
	[XFER_STATING_TARGET] = STATE(QUEUED) | STATE(LINKING) |
	    STATE(OPENING) | STATE(MOVING_SMALL) | STATE(DONE),
	[XFER_LINKING] = STATE(QUEUED) | STATE(DONE),
	/* OPENING again: another name is tried for the part, or the same once
	 * more. */
	[XFER_OPENING] = STATE(QUEUED) | STATE(OPENING) | STATE(MOVING) |
	    STATE(COMPARING) | STATE(DONE),
	[XFER_MOVING] = STATE(QUEUED) | STATE(COMPARING) | STATE(CLOSING) |
	    STATE(DONE),
	[XFER_MOVING_SMALL] = STATE(QUEUED) | STATE(RENAMING) | STATE(DONE),
	/* OPENING: a target that was not complete after all is opened. */
	[XFER_COMPARING] = STATE(QUEUED) | STATE(OPENING) | STATE(CLOSING) |
	    STATE(DONE),
	[XFER_CLOSING] = STATE(QUEUED) | STATE(RENAMING) | STATE(DONE),
	[XFER_RENAMING] = STATE(QUEUED) | STATE(DONE),
	[XFER_DONE] = 0,
};

void
xfer_file_enter(struct xfer_file *f, enum xfer_state state)
{
	ENSURE((followers[f->state] & 1u << state) != 0);
	if (f->state == XFER_RENAMING)
		f->x->files.renaming--;
	if (state == XFER_RENAMING)
		f->x->files.renaming++;
	f->state = state;
}

/* --- what has happened --- */

void
xfer_file_touch(struct xfer_file *f)
{
	if (f->touched.is)
		return;
	f->touched.is = true;
	TAILQ_INSERT_TAIL(&f->x->files.touched, f, touched.entry);
}

void
xfer_file_untouch(struct xfer_file *f)
{
	if (!f->touched.is)
		return;
	f->touched.is = false;
	TAILQ_REMOVE(&f->x->files.touched, f, touched.entry);
}

void
xfer_path_answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	if (reply->err != ERR_CANCELLED)
		xfer_file_touch(f);
}

void
xfer_file_fail(struct xfer_file *f)
{
	f->failed = true;
}
