/* SPDX-License-Identifier: ISC */
/*
 * A chart over time, as inline SVG. A value belongs to the time between its
 * point and the one before, so point 0 has none. Colours are classes of the
 * page's style sheet, "c0" and so on.
 *
 * Threads: any; a chart is used by one at a time.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_CHART_H
#define HPN_CLIENT_REPORT_REPORT_CHART_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "client/report/report-data.h"

enum { REPORT_COLOURS = 8 };

struct report_chart {
	struct buf *out;
	const struct report_point *points; /* their times; borrowed */
	size_t n;
	double most; /* the value at the upper edge */
	unsigned height;
};

/* Begins a chart. label: its title, a literal. y_text writes the text at the
 * edges of the scale. most: the greatest value; the scale ends at a round
 * number above it, or, if exact, at it. */
void report_chart_begin(struct report_chart *c, struct buf *out,
    const struct report_data *d, const char *label, double most,
    void (*y_text)(struct buf *b, double v));
/* Draws the area below the values, in steps; values[i] is for the time up to
 * point i. */
void report_chart_area(struct report_chart *c, const double *values,
    size_t colour);
/* Draws a line through the values, with a gap where one is 0. */
void report_chart_line(struct report_chart *c, const double *values,
    size_t colour);
void report_chart_end(struct report_chart *c);

#endif
