/* SPDX-License-Identifier: ISC */
#include "xfer/streams/handle-limit.h"

#include "base/mem.h"

/* requests granted, per handle, before one more handle is tried */
enum { GROWTH_COST = 8 };

/* After a refusal the limit grows with each success up to three quarters of
 * the number that was refused, then slowly. */
void
xfer_handle_limit_given(struct xfer_handle_limit *l, unsigned most)
{
	if (l->max == 0 || l->max >= most ||
	    (l->max >= l->refused / 4 * 3 &&
		++l->given < GROWTH_COST * l->max))
		return;
	l->max++;
	l->given = 0;
}

void
xfer_handle_limit_refused(struct xfer_handle_limit *l, unsigned number,
    unsigned open)
{
	if (number <= l->cut)
		return;
	l->cut = l->sent;
	l->refused = open;
	l->max = MAX(open / 2, 1u);
	l->given = 0;
}

void
xfer_handles_crowded(struct xfer_stream *l, unsigned number,
    unsigned dirs_number)
{
	xfer_handle_limit_refused(&l->files_limit, number, l->handles);
	if (l->dirs_open > 0)
		xfer_handle_limit_refused(&l->dirs_limit, dirs_number,
		    l->dirs_open);
}
