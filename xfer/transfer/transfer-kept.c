/* SPDX-License-Identifier: ISC */
/*
 * Two figures about a run. How many bytes of an interrupted copy a later run
 * with -Z need not move again, as far as this run knows: at a server without
 * digests only marked chunks count. And what this end has spent its time on.
 * (What limited the network is reported by the connection.)
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
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

/* ---- the time ------------------------------------------------------------ */

bool
xfer_why(const struct xfer *x, struct buf *out)
{
	const struct xfer_spent *s = &x->spent;
	uint64_t waits = s->disk + s->limit + s->waiting;
	const struct {
		const char *what, *verdict;
		uint64_t us;
	} rows[] = {
		{ "in the files of this end",
		    "its disk held the transfer back", s->disk },
		{ "held by -l", "the limit held the transfer back",
		    s->limit },
		{ "waiting for the server and the path",
		    "they held the transfer back", s->waiting },
		{ "with its own work",
		    "this machine's processor held the transfer back",
		    s->all > waits ? s->all - waits : 0 },
	};
	size_t most = 0;

	if (s->all < 1000000)
		return false;
	buf_printf(out, "Of %.1f s, this end spent",
	    (double)s->all / 1000000);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_printf(out, "%s %.0f %% %s", i > 0 ? "," : "",
		    (double)rows[i].us * 100 / (double)s->all, rows[i].what);
		if (rows[i].us > rows[most].us)
			most = i;
	}
	if (rows[most].us * 2 > s->all)
		buf_printf(out, ": %s", rows[most].verdict);
	buf_printf(out, ".");
	return true;
}
