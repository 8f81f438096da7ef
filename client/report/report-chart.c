/* SPDX-License-Identifier: ISC */
#include "client/report/report-chart.h"

#include "base/mem.h"
#include "client/report/report-text.h"

/* Sizes in units of the view box, which is as wide as the page. */
enum {
	LEFT = 84,
	RIGHT = 32,
	TOP = 10,
	BOTTOM = 24,
	PLOT_WIDTH = 880,
	PLOT_HEIGHT = 150,
	LINES = 2, /* lines of the grid above the lowest one */
	TICKS = 6, /* of the time */
};

/* The smallest number not below v that is 1, 1.5, 2, 3, 4, 5, 6 or 8 times a
 * power of ten. */
static double
round_up(double v)
{
	static const double steps[] = { 1, 1.5, 2, 3, 4, 5, 6, 8, 10 };
	double power = 1;
	size_t i = 0;

	if (v <= 1)
		return 1;
	while (power * 10 <= v)
		power *= 10;
	while (i + 1 < ARRAY_LEN(steps) && steps[i] * power < v)
		i++;
	return steps[i] * power;
}

static double
x_of(const struct report_chart *c, uint64_t ms)
{
	uint64_t all = c->points[c->n - 1].ms;

	return LEFT + (all > 0 ? (double)ms * PLOT_WIDTH / (double)all : 0);
}

static double
y_of(const struct report_chart *c, double v)
{
	double part = MIN(v, c->most) / c->most;

	return TOP + PLOT_HEIGHT * (1 - part);
}

static void
put_grid(const struct report_chart *c, void (*y_text)(struct buf *b, double v))
{
	for (int i = 0; i <= LINES; i++) {
		double v = c->most * i / LINES, y = y_of(c, v);

		buf_printf(c->out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>"
		    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT, y,
		    LEFT + PLOT_WIDTH, LEFT - 6, y + 4);
		y_text(c->out, v);
		buf_printf(c->out, "</text>\n");
	}
	for (int i = 0; i <= TICKS; i++) {
		uint64_t ms = c->points[c->n - 1].ms * (uint64_t)i / TICKS;

		buf_printf(c->out, "<text x=\"%.1f\" y=\"%d\" "
		    "text-anchor=\"middle\">", x_of(c, ms),
		    TOP + PLOT_HEIGHT + 16);
		report_put_time(c->out, ms);
		buf_printf(c->out, "</text>\n");
	}
}

void
report_chart_begin(struct report_chart *c, struct buf *out,
    const struct report_data *d, const char *label, double most,
    void (*y_text)(struct buf *b, double v))
{
	*c = (struct report_chart){ .out = out, .points = d->points,
		.n = d->n_points, .most = round_up(most) };
	buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" "
	    "aria-label=\"%s\">\n", LEFT + PLOT_WIDTH + RIGHT,
	    TOP + PLOT_HEIGHT + BOTTOM, label);
	put_grid(c, y_text);
}

void
report_chart_area(struct report_chart *c, const double *values, size_t colour)
{
	double y = y_of(c, 0);

	buf_printf(c->out, "<path class=\"c%zu\" d=\"M%d %.1f",
	    colour % REPORT_COLOURS, LEFT, y);
	for (size_t i = 1; i < c->n; i++)
		buf_printf(c->out, "V%.1fH%.1f", y_of(c, values[i]),
		    x_of(c, c->points[i].ms));
	buf_printf(c->out, "V%.1fZ\"/>\n", y);
}

void
report_chart_line(struct report_chart *c, const double *values, size_t colour)
{
	char command = 'M';

	buf_printf(c->out, "<path class=\"l c%zu\" d=\"",
	    colour % REPORT_COLOURS);
	for (size_t i = 1; i < c->n; i++) {
		if (values[i] > 0)
			buf_printf(c->out, "%c%.1f %.1f", command,
			    x_of(c, c->points[i].ms), y_of(c, values[i]));
		/* A line of length 0 makes a single point visible, by its round
		 * ends. */
		if (values[i] > 0 && command == 'M')
			buf_printf(c->out, "h0");
		command = values[i] > 0 ? 'L' : 'M';
	}
	buf_printf(c->out, "\"/>\n");
}

void
report_chart_end(struct report_chart *c)
{
	buf_printf(c->out, "</svg>\n");
}
