/* SPDX-License-Identifier: ISC */
/* What this end of a transfer spent the time on. (What limited the network is
 * reported by the connection.) */
#include "base/buf.h"
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

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
