/* SPDX-License-Identifier: ISC */
/*
 * How many bytes of a copy that was broken off a later run with -Z need not
 * move again, as far as this run knows. At a server without digests only marked
 * chunks count.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "xfer/transfer/transfer-internal.h"

static uint64_t
kept_of(const struct xfer_file *f)
{
	const struct xfer_progress *p = &f->progress;

	/* An upload that lost its handles begins anew, and has not yet looked
	 * at what there is. */
	if (f->part.name == NULL && !p->begun)
		return f->made.ours ? f->made.kept : 0;
	if (f->part.name == NULL || p->unstored ||
	    f->target.reuse == XFER_REUSE_WHOLE)
		return 0;
	if (!p->begun) /* what an earlier copy has left is still there */
		return f->target.reuse == XFER_REUSE_CHECKED ?
		    MIN(f->part.old.size, f->source.size) : 0;
	if (f->marks.left != NULL)
		return xfer_marks_kept(f);
	return xfer_stream_first(f->x) == NULL ||
		xfer_has(f->x, SFTP_EXT_CHECK_FILE) ? p->moved : 0;
}

void
xfer_file_note_kept(struct xfer_file *f)
{
	xfer_made_kept(f, kept_of(f));
}

void
xfer_file_keeps(struct xfer_file *f)
{
	f->x->sum.bytes_kept += f->failed ? kept_of(f) : 0;
}

static uint64_t
kept_bytes(const struct xfer *x)
{
	uint64_t sum = x->sum.bytes_done + x->sum.bytes_kept;
	const struct xfer_file *f;

	TAILQ_FOREACH(f, &x->files.active, entry)
		sum += kept_of(f);
	TAILQ_FOREACH(f, &x->files.queue, entry)
		sum += kept_of(f);
	return sum;
}

bool
xfer_is_full(const struct xfer *x)
{
	return x->full;
}

bool
xfer_keeps_any(const struct xfer *x)
{
	return kept_bytes(x) > 0 || x->sum.files_done > 0;
}

void
xfer_kept_text(const struct xfer *x, const char *flag, char *out,
    size_t size)
{
	const struct xfer_sum *s = &x->sum;
	char some[24], all[24], files[64] = "", again[80] = "";

	if (!xfer_keeps_any(x)) {
		strlcpy(out, "nothing is kept", size);
		return;
	}
	progress_bytes_text(kept_bytes(x), some, sizeof some);
	progress_bytes_text(s->bytes, all, sizeof all);
	if (s->files > 1)
		snprintf(files, sizeof files, "%llu of %llu%s files are "
		    "complete, ", (unsigned long long)s->files_done,
		    (unsigned long long)s->files,
		    x->dirs.any && !xfer_listed(x) ? "+" : "");
	if (flag != NULL)
		snprintf(again, sizeof again,
		    "; the same command%s%s goes on%s",
		    flag[0] != '\0' ? " with " : "", flag,
		    x->full ? " when there is room" : "");
	snprintf(out, size, "%s%s of %s are kept%s", files, some, all, again);
}
