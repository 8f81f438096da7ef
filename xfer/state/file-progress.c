/* SPDX-License-Identifier: ISC */
/*
 * Which data of a file has moved, and which ranges of it nobody has taken yet:
 * only this source changes file->progress. A file moves in ranges of
 * progress.chunk bytes: first those that were given back (progress.todo), then
 * from progress.next on.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "xfer/state/transfer-state.h"

void
xfer_progress_forget(struct xfer_file *f)
{
	struct xfer_range *r;

	while ((r = f->progress.todo) != NULL) {
		f->progress.todo = r->next;
		free(r);
	}
	f->progress = XFER_PROGRESS_START;
}

void
xfer_progress_chunk(struct xfer_file *f, uint64_t chunk)
{
	f->progress.chunk = chunk;
}

void
xfer_progress_begun(struct xfer_file *f, bool begun)
{
	f->progress.begun = begun;
}

void
xfer_progress_from(struct xfer_file *f, uint64_t offset)
{
	f->progress.next = offset;
}

void
xfer_progress_trusted(struct xfer_file *f, uint64_t offset)
{
	f->progress.next = f->progress.moved = offset;
}

void
xfer_progress_complete(struct xfer_file *f)
{
	f->progress.moved = f->source.size;
}

void
xfer_progress_moved(struct xfer_file *f, uint64_t len)
{
	f->progress.moved += len;
}

void
xfer_progress_skipped(struct xfer_file *f, uint64_t len)
{
	f->progress.moved += len;
	f->progress.skipped += len;
}

void
xfer_progress_received(struct xfer_file *f, uint64_t until)
{
	f->progress.received_until = MAX(f->progress.received_until, until);
}

void
xfer_progress_needs_size(struct xfer_file *f)
{
	f->progress.needs_size = true;
}

void
xfer_progress_ends(struct xfer_file *f, uint64_t offset)
{
	struct xfer_range **at = &f->progress.todo, *r;

	f->progress.all_taken = true;
	f->progress.eof_at = MIN(f->progress.eof_at, offset);
	/* Marks or old content may lie behind the end, so the size has to be
	 * set. */
	f->progress.needs_size |= f->source.size != 0;
	while ((r = *at) != NULL) {
		if (r->offset < offset) {
			r->len = MIN(r->len, offset - r->offset);
			at = &r->next;
			continue;
		}
		*at = r->next;
		free(r);
	}
}

void
xfer_progress_came(struct xfer_file *f, uint64_t len)
{
	f->progress.eof_at = len;
}

void
xfer_progress_end_checked(struct xfer_file *f)
{
	f->progress.end_checked = true;
}

void
xfer_progress_write_failed(struct xfer_file *f)
{
	f->progress.write_failed = true;
}

void
xfer_progress_unstored(struct xfer_file *f, bool unstored)
{
	f->progress.unstored = unstored;
}

void
xfer_range_add(struct xfer_file *f, uint64_t offset, uint64_t len)
{
	struct xfer_range *r = f->progress.todo;

	if (len == 0)
		return;
	/* Comparisons add ranges that follow each other: they become one. */
	if (r != NULL && r->offset + r->len == offset) {
		r->len += len;
		return;
	}
	r = malloc(sizeof *r);
	if (r == NULL) {
		xfer_report_errno(f->x, f->remote, ENOMEM);
		xfer_file_fail(f);
		return;
	}
	*r = (struct xfer_range){ offset, len, f->progress.todo };
	f->progress.todo = r;
}

/* Takes a range from the front of progress.todo, up to the border of a chunk,
 * because no block crosses one. */
static void
take_first(struct xfer_file *f, uint64_t *from, uint64_t *until)
{
	struct xfer_range *r = f->progress.todo;
	uint64_t chunk = f->progress.chunk;
	uint64_t len = MIN(r->len, chunk - r->offset % chunk);

	*from = r->offset;
	*until = r->offset += len;
	r->len -= len;
	if (r->len == 0) {
		f->progress.todo = r->next;
		free(r);
	}
}

bool
xfer_range_take(struct xfer_file *f, uint64_t *from, uint64_t *until)
{
	struct xfer_progress *p = &f->progress;

	if (p->todo != NULL) {
		take_first(f, from, until);
		return true;
	}
	if (p->all_taken || f->holes.map_pending ||
	    (f->source.size != 0 && p->next >= f->source.size))
		return false;
	*from = p->next;
	if (f->source.size == 0) { /* no size: the file is one range */
		p->next = UINT64_MAX;
		p->all_taken = true;
	} else {
		p->next = MIN(p->next + p->chunk, f->source.size);
	}
	*until = p->next;
	return true;
}
