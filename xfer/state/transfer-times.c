/* SPDX-License-Identifier: ISC */
/* Times of a source, as exact as they are known. */
#include <string.h>

#include "compat/file.h"
#include "xfer/state/transfer-state.h"

void
xfer_times(const struct sftp_attrs *a, const struct xfer_exact *e,
    struct timespec out[2])
{
	out[0] = (struct timespec){ .tv_sec = a->atime };
	out[1] = (struct timespec){ .tv_sec = a->mtime };
	if (e->known)
		memcpy(out, e->times, sizeof e->times);
}

void
xfer_exact_from_stat(struct xfer_exact *e, const struct stat *st)
{
	*e = (struct xfer_exact){ .known = true, .times = { st->FILE_ATIME,
		st->FILE_MTIME }, .nlink = (uint32_t)st->st_nlink,
		.dev = st->st_dev, .ino = st->st_ino,
		.blocks = (uint64_t)st->st_blocks };
}

bool
xfer_exact_from_numbers(struct xfer_exact *e, const struct sftp_stat_ns *st)
{
	const long ns_max = 999999999;

	if (st->atime_ns > ns_max || st->mtime_ns > ns_max)
		return false;
	*e = (struct xfer_exact){ .known = true, .times = {
		{ .tv_sec = st->atime, .tv_nsec = (long)st->atime_ns },
		{ .tv_sec = st->mtime, .tv_nsec = (long)st->mtime_ns } },
		.nlink = st->nlink, .dev = st->dev, .ino = st->ino,
		.blocks = st->blocks };
	return true;
}

bool
xfer_exact_from_reply(struct xfer_exact *e, const struct sftp_reply *reply)
{
	struct sftp_stat_ns st;
	struct rd r = reply->body;

	return reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_stat_ns(&r, &st) == 0 && xfer_exact_from_numbers(e, &st);
}

void
xfer_times_clamped(struct xfer *x, const char *path, const struct xfer_exact *e)
{
	const time_t t = e->times[1].tv_sec;

	if (e->known && (t < 0 || t > UINT32_MAX) &&
	    !xfer_has(x, SFTP_EXT_TIMES_NS))
		xfer_note(x, path, "its time cannot be kept: the server has "
		    "those of 1970 to 2106 only");
}

bool
xfer_wants_times_ns(struct xfer *x, const struct xfer_exact *e)
{
	bool plain = true;

	for (int i = 0; i < 2; i++)
		plain &= e->times[i].tv_nsec == 0 &&
		    e->times[i].tv_sec >= 0 &&
		    e->times[i].tv_sec <= UINT32_MAX;
	return e->known && !plain && xfer_has(x, SFTP_EXT_TIMES_NS);
}
