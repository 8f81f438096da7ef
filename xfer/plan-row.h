/* SPDX-License-Identifier: ISC */
/*
 * A decision as a table: each row has facts that must be there, facts that must
 * not be, and what is done then. The first row that fits decides; the last row
 * always fits.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PLAN_ROW_H
#define HPN_XFER_PLAN_ROW_H

struct plan_row {
	unsigned has, lacks; /* bits of the table's enum of facts */
	int plan;
};

static inline int
plan_by(const struct plan_row *row, unsigned facts)
{
	while ((facts & row->has) != row->has || (facts & row->lacks) != 0)
		row++;
	return row->plan;
}

#endif
