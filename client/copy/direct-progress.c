/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-progress.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/copy/direct-wire.h"

enum { PATH_BYTES = 4096, TEXT_BYTES = 512 };
#define NUMBER_MAX (UINT64_C(1) << 53) /* that all readers of JSON have */
#define LINES_MAX (UINT64_C(8) * 1000 * 1000)

static uint64_t
number(struct rd *r)
{
	uint64_t n = rd_u64(r);

	return MIN(n, NUMBER_MAX - 1);
}

static void
take_sums(struct direct_progress *d, struct rd *r)
{
	struct progress_told now = { .files = number(r) };

	now.done = number(r);
	now.size = number(r);
	now.bytes = number(r);
	now.listing = rd_bool(r);
	if (rd_end(r) != 0)
		return;
	now.done = MIN(now.done, now.files);
	now.bytes = MIN(now.bytes, now.size);
	progress_tell(d->p, &d->told, &now, clock_ms());
	d->told = now;
	d->begun = true;
}

static void
take_done(struct direct_progress *d, struct rd *r)
{
	char *path = rd_cstring(r, PATH_BYTES);
	uint64_t size = number(r), ms = number(r);

	if (rd_end(r) == 0 && d->lines++ < LINES_MAX)
		progress_tell_file(d->p, path, size, ms);
	free(path);
}

/* Writes the failure as an event only: the program at the other host has shown
 * it to people, on standard error. */
static void
take_failure(struct direct_progress *d, struct rd *r)
{
	char *path = rd_cstring(r, PATH_BYTES);
	char *text = rd_cstring(r, TEXT_BYTES);

	if (rd_end(r) == 0 && d->lines++ < LINES_MAX)
		progress_error(d->p, "file", path, text);
	free(path);
	free(text);
}

void
direct_progress_take(struct direct_progress *d, struct span message)
{
	struct rd r = rd_from_span(message);

	switch (rd_u8(&r)) {
	case DIRECT_AT:
		take_sums(d, &r);
		break;
	case DIRECT_DONE:
		take_done(d, &r);
		break;
	case DIRECT_FAILED:
		take_failure(d, &r);
		break;
	default:
		break;
	}
}

void
direct_progress_tick(struct direct_progress *d)
{
	if (d->begun)
		progress_tick(d->p, NULL, clock_ms());
}

void
direct_progress_end(struct direct_progress *d)
{
	if (d->begun)
		progress_end(d->p, clock_ms());
}
