/* SPDX-License-Identifier: ISC */
/*
 * What a stream that is silent may still do. Its server may have been stopped,
 * or hang in a disk, and carry out what it was sent at any later time: also
 * when the file has its final name, and somebody has changed it since. So a
 * file that such a stream has open for writing is written anew, to another
 * part, and the old part is removed, which makes late writes harmless.
 *
 * Whether the stream alone is silent, or the whole path, shows when another
 * stream answers. Until then its files wait. If no stream answers, all streams
 * are lost, and the files go on with what is there, as with -Z.
 *
 * A target that is written in place has no other name, so late writes may hit
 * it: they bring bytes of the same source.
 */
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

bool
xfer_late_begins(struct xfer_file *f, const struct xfer_stream *l)
{
	if (f->late != XFER_LATE_NO)
		return true;
	if (!f->up || f->part.name == NULL || sftp_error(l->s) != ERR_TIMEOUT)
		return false;
	f->late = XFER_LATE_DOUBT;
	return true;
}

/* Gives f another part, so that late writes hit the old one. */
static void
renew(struct xfer_file *f)
{
	f->late = XFER_LATE_NO;
	if (f->failed) {
		xfer_handles_drop(f);
		xfer_file_done(f);
		return;
	}
	xfer_part_remove(f, NULL);
	f->part_number++;
	xfer_made_nothing(f);
	xfer_file_restart(f, false);
}

void
xfer_late_settle(struct xfer_file *f)
{
	if (f->late == XFER_LATE_SURE && f->pending == 0 && f->blocks == 0 &&
	    f->compare.pending == 0)
		renew(f);
}

void
xfer_late_doubt(struct xfer *x)
{
	struct xfer_stream *l;

	x->retry.in_doubt = true;
	TAILQ_FOREACH(l, &x->streams, entry)
		l->watch.in_doubt = sftp_received(l->s);
	xfer_streams_probe(x);
}

static bool
any_answers(const struct xfer *x)
{
	const struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_error(l->s) == 0 && sftp_has_version(l->s) &&
		    sftp_received(l->s) != l->watch.in_doubt)
			return true;
	return false;
}

void
xfer_late_decide(struct xfer *x)
{
	struct xfer_file *f, *next;
	bool all_lost = x->stream_count == 0;

	if (!x->retry.in_doubt || !(all_lost || any_answers(x)))
		return;
	x->retry.in_doubt = false;
	for (f = TAILQ_FIRST(&x->files.active); f != NULL; f = next) {
		next = TAILQ_NEXT(f, entry);
		if (f->late == XFER_LATE_NO)
			continue;
		f->late = all_lost ? XFER_LATE_NO : XFER_LATE_SURE;
		if (all_lost)
			xfer_file_go_on(f);
		else
			xfer_late_settle(f);
	}
}
