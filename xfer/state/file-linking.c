/* SPDX-License-Identifier: ISC */
/*
 * The making of a link: the steps at the server, and the answers to them. This
 * source owns file->linking.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "xfer/state/transfer-state.h"

enum { TRIES = 8 }; /* to make a link, while answers are lost or names change */

#define STEP(name) (1u << XFER_LINK_##name)

/* The steps that may follow each step. After a step that has none the link
 * exists, or has failed. */
static const unsigned followers[] = {
	[XFER_LINK_NOTHING] = STEP(READ) | STEP(MAKE) | STEP(MOVE_LOOK) |
	    STEP(ATTRS) | STEP(XATTRS),
	[XFER_LINK_READ] = 0,
	[XFER_LINK_MAKE] = STEP(LOOK) | STEP(WAY) | STEP(ATTRS) |
	    STEP(XATTRS),
	[XFER_LINK_LOOK] = STEP(WAY),
	[XFER_LINK_WAY] = STEP(BESIDE) | STEP(CLEAR),
	[XFER_LINK_CLEAR] = STEP(CLEAR) | STEP(MAKE_AGAIN),
	[XFER_LINK_MAKE_AGAIN] = STEP(CLEAR) | STEP(ATTRS) | STEP(XATTRS),
	[XFER_LINK_BESIDE] = STEP(BESIDE_LOOK) | STEP(RENAME),
	[XFER_LINK_BESIDE_LOOK] = STEP(BESIDE_REMOVE) | STEP(BESIDE),
	[XFER_LINK_BESIDE_REMOVE] = STEP(BESIDE),
	[XFER_LINK_RENAME] = STEP(BESIDE) | STEP(TIDY) | STEP(ATTRS) |
	    STEP(XATTRS),
	[XFER_LINK_TIDY] = STEP(ATTRS) | STEP(XATTRS),
	[XFER_LINK_MOVE_LOOK] = STEP(MOVE_WAY) | STEP(MOVE),
	[XFER_LINK_MOVE_WAY] = STEP(MOVE_THERE) | STEP(MOVE),
	[XFER_LINK_MOVE_THERE] = STEP(MOVE_CLEAR),
	[XFER_LINK_MOVE_CLEAR] = STEP(MOVE_CLEAR) | STEP(MOVE),
	[XFER_LINK_MOVE] = STEP(MOVE_SOURCE) | STEP(ATTRS) | STEP(XATTRS),
	[XFER_LINK_MOVE_SOURCE] = STEP(MOVE) | STEP(ATTRS) | STEP(XATTRS),
	[XFER_LINK_ATTRS] = STEP(XATTRS),
	[XFER_LINK_XATTRS] = 0,
};

void
xfer_linking_forget(struct xfer_file *f)
{
	free(f->linking.words);
	f->linking = (struct xfer_linking){ .step = XFER_LINK_NOTHING };
}

void
xfer_linking_step(struct xfer_file *f, enum xfer_link_step step)
{
	ENSURE((followers[f->linking.step] & 1u << step) != 0);
	f->linking.step = step;
	f->linking.waits = true;
}

void
xfer_linking_answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	f->linking.err = reply->err;
	f->linking.status = reply->status;
	xfer_keep_words(&f->linking.words, reply);
	f->linking.found.flags = 0;
	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		f->linking.found = reply->attrs;
	f->pending--;
	xfer_path_answered(f, reply);
}

enum xfer_link_step
xfer_linking_take(struct xfer_file *f)
{
	if (!f->linking.waits)
		return XFER_LINK_NOTHING;
	f->linking.waits = false;
	return f->linking.step;
}

void
xfer_linking_beside(struct xfer_file *f, unsigned number)
{
	f->linking.number = number;
	f->linking.cleared = false;
}

void
xfer_linking_refused(struct xfer_file *f)
{
	f->linking.refused = f->linking.status;
}

void
xfer_linking_cleared(struct xfer_file *f)
{
	f->linking.cleared = true;
}

bool
xfer_linking_again(struct xfer_file *f)
{
	return ++f->linking.tries < TRIES;
}
