/* SPDX-License-Identifier: ISC */
/*
 * Files at a server that nobody needs by their old names
 * (xfer_order.link_moves). Such a file is renamed to the target's name, where a
 * file with further names would be linked: so file systems and servers without
 * hard links have it, too. With posix-rename the target is the old file or the
 * new one at any time.
 */
#include <sys/stat.h>

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"
#include "xfer/transfer/transfer-link.h"

/* Sends the rename. It is not repeated when its answer is lost: first it must
 * be found out whether it was done. */
static void
move(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_RENAME,
		.path = f->duty->link, .second = f->remote, .once = true };

	if (xfer_has(f->x, SFTP_EXT_POSIX_RENAME)) {
		q.type = SFTP_EXTENDED;
		q.ext = SFTP_EXT_POSIX_RENAME;
	}
	xfer_link_begin(f, XFER_LINK_MOVE, &q);
}

static void
clear_target(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->remote, .once = true };

	xfer_link_begin(f, XFER_LINK_MOVE_CLEAR, &q);
}

/* Takes the answer to LSTAT of the target. */
static void
looked(struct xfer_file *f)
{
	const struct sftp_attrs *found = &f->linking.found;

	if (f->linking.err == 0 && f->linking.status == SFTP_NO_SUCH_FILE) {
		move(f);
	} else if (found->flags == 0) {
		xfer_link_fails(f);
	} else if ((found->flags & SFTP_A_MODE) &&
	    !xfer_link_may_replace(f, found->mode)) {
		xfer_report(f->x, f->remote, "has changed since it was "
		    "compared: left alone");
		xfer_link_ends(f, false);
	} else {
		xfer_linking_step(f, XFER_LINK_MOVE_WAY);
		if (xfer_way_is_clear(f))
			xfer_file_touch(f);
	}
}

/* Goes on when order-way.c has cleared the way, unless f has failed. */
static void
may_replace(struct xfer_file *f)
{
	if (f->failed)
		xfer_link_ends(f, false);
	else if (xfer_has(f->x, SFTP_EXT_POSIX_RENAME) || f->duty->set_aside)
		move(f);
	else
		xfer_link_look(f, XFER_LINK_MOVE_THERE, f->duty->link);
}

/* The RENAME of SFTP 3 replaces nothing: so the target is removed first, but
 * only if there is something to replace it. */
static void
file_seen(struct xfer_file *f)
{
	if (f->linking.found.flags != 0)
		clear_target(f);
	else
		xfer_link_fails(f);
}

static void
cleared(struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;

	/* After a timeout the server may still remove the target at any time,
	 * also when that is the new file already. */
	if (l->err != 0 && l->err != ERR_TIMEOUT && xfer_linking_again(f))
		clear_target(f);
	else if (l->err != 0 || (l->status != SFTP_OK &&
	    l->status != SFTP_NO_SUCH_FILE))
		xfer_link_fails(f);
	else
		move(f);
}

/* Takes the answer to the rename. If it was lost, or an earlier one was, the
 * rename was done if the file has its old name no more. */
static void
moved(struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;

	if (xfer_link_is_done(f))
		xfer_link_made(f);
	else if ((l->err != 0 || l->tries > 0) && xfer_linking_again(f))
		xfer_link_look(f, XFER_LINK_MOVE_SOURCE, f->duty->link);
	else
		xfer_link_fails(f);
}

static void
source_seen(struct xfer_file *f)
{
	const struct xfer_linking *l = &f->linking;

	if (l->err == 0 && l->status == SFTP_NO_SUCH_FILE)
		xfer_link_made(f);
	else if (l->found.flags != 0)
		move(f);
	else
		xfer_link_fails(f);
}

void
xfer_move_start(struct xfer_file *f)
{
	f->duty->linked = true; /* it has no data to count */
	xfer_file_enter(f, XFER_LINKING);
	xfer_linking_forget(f);
	xfer_link_look(f, XFER_LINK_MOVE_LOOK, f->remote);
}

bool
xfer_move_continue(struct xfer_file *f, enum xfer_link_step step)
{
	static void (*const steps[])(struct xfer_file *f) = {
		[XFER_LINK_MOVE_LOOK] = looked,
		[XFER_LINK_MOVE_WAY] = may_replace,
		[XFER_LINK_MOVE_THERE] = file_seen,
		[XFER_LINK_MOVE_CLEAR] = cleared,
		[XFER_LINK_MOVE] = moved,
		[XFER_LINK_MOVE_SOURCE] = source_seen,
	};

	if (step >= ARRAY_LEN(steps) || steps[step] == NULL)
		return false;
	steps[step](f);
	return true;
}
