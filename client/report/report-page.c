/* SPDX-License-Identifier: ISC */
#include "client/report/report-page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/report/report-chart.h"
#include "client/report/report-text.h"

/* ---- the head ----------------------------------------------------------- */

static const char style[] =
    ":root{color-scheme:light dark;--b:#fff;--f:#1c2430;--m:#5c6673;"
    "--g:#d8dde3;--bad:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--b:#14181d;--f:#e3e7eb;"
    "--m:#9aa5b1;--g:#343c45;--bad:#ff8a80}}\n"
    "body{background:var(--b);color:var(--f);font:15px/1.45 system-ui,"
    "sans-serif;max-width:62rem;margin:1.5rem auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.8rem 0 .4rem}"
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}\n"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.15rem .8rem .15rem 0;"
    "border-bottom:1px solid var(--g);overflow-wrap:anywhere}"
    "th{font-weight:600}div.t{overflow-x:auto}\n"
    ".n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}\n"
    ".s th{width:9rem}code,.d{font:13px/1.4 ui-monospace,monospace;"
    "overflow-wrap:anywhere}\n"
    ".bad{color:var(--bad)}.m{color:var(--m)}ul.k{list-style:none;padding:0;"
    "margin:.3rem 0}ul.k li{display:inline-block;margin-right:1.2rem}\n"
    "svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,"
    "sans-serif;fill:var(--m)}.g{stroke:var(--g);fill:none}\n"
    "i.b{display:inline-block;width:.8em;height:.8em;margin-right:.4em;"
    "border-radius:2px}path.l{fill:none;stroke-width:1.6;"
    "stroke-linecap:round;stroke-linejoin:round}\n"
    ".c0{fill:#3b7dd8;stroke:#3b7dd8}.c1{fill:#e08a1e;stroke:#e08a1e}"
    ".c2{fill:#3f9b55;stroke:#3f9b55}.c3{fill:#c8475c;stroke:#c8475c}"
    ".c4{fill:#8a63c9;stroke:#8a63c9}.c5{fill:#1fa0a8;stroke:#1fa0a8}"
    ".c6{fill:#9a7b4f;stroke:#9a7b4f}.c7{fill:#7d8896;stroke:#7d8896}"
    "path{stroke-width:0}.g{stroke-width:1}\n"
    "i.c0{background:#3b7dd8}i.c1{background:#e08a1e}"
    "i.c2{background:#3f9b55}i.c3{background:#c8475c}"
    "i.c4{background:#8a63c9}i.c5{background:#1fa0a8}"
    "i.c6{background:#9a7b4f}i.c7{background:#7d8896}\n"
    "@media print{body{max-width:none;font-size:11pt}}\n";

/* The result in a few words, static. */
static const char *
result(const struct report_data *d)
{
	if (d->interrupted)
		return "interrupted";
	if (d->status < 0)
		return "ended early";
	return d->status == 0 ? "done" : "not all was done";
}

static void
put_head(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	    "<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\""
	    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
	    "base-uri 'none'; form-action 'none'\">\n"
	    "<meta name=\"referrer\" content=\"no-referrer\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<link rel=\"icon\" href=\"data:,\">\n"
	    "<title>%s: %s</title>\n<style>\n%s</style>\n</head>\n<body>\n"
	    "<h1>%s: %s</h1>\n", d->program, result(d), style, d->program,
	    result(d));
}

/* ---- the summary -------------------------------------------------------- */

/* Begins a row of the table: name is a literal; the caller puts the value and
 * ends the row. */
static void
open_row(struct buf *b, const char *name)
{
	buf_printf(b, "<tr><th>%s</th><td>", name);
}

static void
close_row(struct buf *b)
{
	buf_printf(b, "</td></tr>\n");
}

static void
put_text_row(struct buf *b, const char *name, const char *text)
{
	if (text == NULL)
		return;
	open_row(b, name);
	buf_printf(b, "<bdi>");
	report_put_text(b, text);
	buf_printf(b, "</bdi>");
	close_row(b);
}

static void
put_command(const struct report_data *d, struct buf *b)
{
	open_row(b, "Command");
	buf_printf(b, "<code>%s", d->program);
	for (size_t i = 0; i < d->command.n; i++) {
		buf_printf(b, " <bdi>");
		report_put_text(b, d->command.v[i]);
		buf_printf(b, "</bdi>");
	}
	buf_printf(b, "</code>");
	if (d->names_left_out > 0)
		buf_printf(b, " <span class=\"m\">(and %zu names more in the "
		    "middle)</span>", d->names_left_out);
	close_row(b);
}

static void
put_rate(struct buf *b, double bytes_a_second)
{
	report_put_bytes(b, bytes_a_second < 1e18 ? (uint64_t)bytes_a_second :
						    (uint64_t)1e18);
	buf_printf(b, "/s");
}

static double
mean_rate(uint64_t bytes, uint64_t ms)
{
	return ms > 0 ? (double)bytes * 1000 / (double)ms : 0;
}

static void
put_moved(const struct report_data *d, struct buf *b)
{
	uint64_t moved = d->points[d->n_points - 1].moved;

	open_row(b, "Moved");
	report_put_bytes(b, moved);
	buf_printf(b, " in ");
	report_put_time(b, d->took_ms);
	buf_printf(b, ", ");
	put_rate(b, mean_rate(moved, d->took_ms));
	close_row(b);
}

static void
put_counts(const struct report_data *d, struct buf *b)
{
	open_row(b, "Files");
	buf_printf(b, "%" PRIu64 " copied", d->copied);
	if (d->there > 0)
		buf_printf(b, ", %" PRIu64 " already there", d->there);
	if (d->verified > 0)
		buf_printf(b, ", %" PRIu64 " verified", d->verified);
	if (d->n_failures > 0)
		buf_printf(b, ", <span class=\"bad\">%" PRIu64 " failures"
		    "</span>", d->n_failures);
	if (d->kept > 0) {
		buf_printf(b, "; ");
		report_put_bytes(b, d->kept);
		buf_printf(b, " did not have to move");
	}
	close_row(b);
}

static void
put_summary(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<table class=\"s\">\n");
	put_command(d, b);
	open_row(b, "Result");
	buf_printf(b, "<span%s>%s</span>", d->status == 0 &&
	    !d->interrupted ? "" : " class=\"bad\"", result(d));
	if (d->status > 0)
		buf_printf(b, ", exit status %d", d->status);
	if (d->tries > 1)
		buf_printf(b, " <span class=\"m\">(the last of %u tries; what "
		    "the others did is not on this page)</span>", d->tries);
	close_row(b);
	open_row(b, "Began");
	report_put_moment(b, d->began);
	close_row(b);
	open_row(b, "Ended");
	report_put_moment(b, d->ended);
	close_row(b);
	put_moved(d, b);
	put_counts(d, b);
	put_text_row(b, "This host", d->here);
	put_text_row(b, "This program", d->version);
	buf_printf(b, "</table>\n");
}

/* ---- charts ------------------------------------------------------------- */

static void
put_nothing(struct buf *b, const char *text)
{
	buf_printf(b, "<p class=\"m\">%s</p>\n", text);
}

/* Values for the intervals before each point. */
struct values {
	double v[REPORT_POINTS];
};

static double
most_of(const struct values *values, size_t n)
{
	double most = 0;

	for (size_t i = 1; i < n; i++)
		most = MAX(most, values->v[i]);
	return most;
}

/* The growth of a sum. */
static double
grown(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static double
seconds(const struct report_data *d, size_t i)
{
	return MAX(grown(d->points[i].ms, d->points[i - 1].ms), 1) / 1000;
}

static void
put_link_name(const struct report_data *d, size_t i, struct buf *b)
{
	buf_printf(b, "%zu <bdi>", i + 1);
	report_put_text(b, d->links[i].host);
	buf_printf(b, "</bdi>");
}

static void
put_link_legend(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<ul class=\"k\">");
	for (size_t i = 0; i < d->n_links; i++) {
		buf_printf(b, "<li><i class=\"b c%zu\"></i>",
		    i % REPORT_COLOURS);
		put_link_name(d, i, b);
		buf_printf(b, "</li>");
	}
	buf_printf(b, "</ul>\n");
}

static void
add_link_rates(const struct report_data *d, size_t link, double sign,
    struct values *sums)
{
	const struct report_link_point *p = d->links[link].points;

	for (size_t i = 1; i < d->n_points; i++)
		sums->v[i] += sign * grown(p[i].bytes, p[i - 1].bytes) /
		    seconds(d, i);
}

/* Computes rates from the bytes of files, for a copy whose connections have
 * told no bytes. */
static void
file_rates(const struct report_data *d, struct values *out)
{
	for (size_t i = 1; i < d->n_points; i++)
		out->v[i] = grown(d->points[i].moved,
		    d->points[i - 1].moved) / seconds(d, i);
}

static void
put_rate_chart(const struct report_data *d, struct buf *b)
{
	struct values sums = { { 0 } }, files = { { 0 } };
	struct report_chart c;

	buf_printf(b, "<h2>Rate</h2>\n");
	if (d->n_points < 2) {
		put_nothing(b, "It was over before it could be measured.");
		return;
	}
	for (size_t i = 0; i < d->n_links; i++)
		add_link_rates(d, i, 1, &sums);
	file_rates(d, &files);
	report_chart_begin(&c, b, d, "Rate over time, by connection",
	    MAX(most_of(&sums, d->n_points), most_of(&files, d->n_points)),
	    put_rate);
	/* Areas are drawn from the top of the stack down, each over the last
	 * one. */
	for (size_t i = d->n_links; i-- > 0;) {
		report_chart_area(&c, sums.v, i);
		add_link_rates(d, i, -1, &sums);
	}
	report_chart_line(&c, files.v, REPORT_COLOURS - 1);
	report_chart_end(&c);
	if (d->n_links > 0)
		put_link_legend(d, b);
	put_nothing(b, d->n_links > 0 ?
	    "Areas: what each connection carried, both ways. Line: bytes of "
	    "files, without those that were there already." :
	    "Bytes of files, without those that were there already.");
}

static void
put_ms(struct buf *b, double us)
{
	buf_printf(b, us < 10000 ? "%.2f ms" : "%.0f ms", us / 1000);
}

static void
put_number(struct buf *b, double v)
{
	buf_printf(b, v < 10 ? "%.1f" : "%.0f", v);
}

static bool
has_tcp(const struct report_data *d)
{
	for (size_t i = 0; i < d->n_links; i++)
		if (d->links[i].has_tcp)
			return d->n_points > 1;
	return false;
}

static void
put_trips_chart(const struct report_data *d, struct buf *b)
{
	struct values trips[1];
	struct report_chart c;
	double most = 0;

	for (size_t k = 0; k < d->n_links; k++)
		for (size_t i = 1; i < d->n_points; i++)
			most = MAX(most, d->links[k].points[i].rtt_us);
	report_chart_begin(&c, b, d, "Round trip time, by connection", most,
	    put_ms);
	for (size_t k = 0; k < d->n_links; k++) {
		for (size_t i = 1; i < d->n_points; i++)
			trips->v[i] = d->links[k].points[i].rtt_us;
		report_chart_line(&c, trips->v, k);
	}
	report_chart_end(&c);
}

static void
put_resent_chart(const struct report_data *d, struct buf *b)
{
	struct values resent = { { 0 } };
	struct report_chart c;

	for (size_t k = 0; k < d->n_links; k++) {
		const struct report_link_point *p = d->links[k].points;

		for (size_t i = 1; i < d->n_points; i++)
			resent.v[i] += grown(p[i].resent, p[i - 1].resent) /
			    seconds(d, i);
	}
	report_chart_begin(&c, b, d, "Packets sent again, a second",
	    most_of(&resent, d->n_points), put_number);
	report_chart_area(&c, resent.v, 3);
	report_chart_end(&c);
}

static void
put_tcp_charts(const struct report_data *d, struct buf *b)
{
	if (!has_tcp(d)) {
		buf_printf(b, "<h2>Round trip time, and packets sent again"
		    "</h2>\n");
		put_nothing(b, "Not known: no kernel was asked about a "
		    "connection.");
		return;
	}
	buf_printf(b, "<h2>Round trip time</h2>\n");
	put_trips_chart(d, b);
	put_link_legend(d, b);
	buf_printf(b, "<h2>Packets sent again, a second</h2>\n");
	put_resent_chart(d, b);
}

/* ---- what held it back -------------------------------------------------- */

/* The part of the time before point i, from 0 to 1, in which the kind held
 * connections back. All kinds together are at most 1. */
static double
held(const struct report_data *d, size_t i, size_t kind)
{
	const struct report_point *p = &d->points[i], *before = p - 1;
	double all = grown(p->open_ms, before->open_ms), sum = 0;

	for (size_t k = 0; k < WHY_SLOW_KINDS; k++)
		sum += grown(p->held_ms[k], before->held_ms[k]);
	all = MAX(all, sum);
	return all > 0 ? grown(p->held_ms[kind], before->held_ms[kind]) / all :
			 0;
}

static void
put_percent(struct buf *b, double v)
{
	buf_printf(b, "%.0f %%", v * 100);
}

static void
put_kind_legend(const struct report_data *d, struct buf *b)
{
	const struct report_point *last = &d->points[d->n_points - 1];

	buf_printf(b, "<ul class=\"k\">");
	for (size_t k = 0; k < WHY_SLOW_KINDS; k++) {
		if (last->held_ms[k] * 200 < last->open_ms)
			continue; /* the kind would be shown with 0 % */
		buf_printf(b, "<li><i class=\"b c%zu\"></i>%s: ", k,
		    why_slow_kind_text((enum why_slow_kind)k));
		put_percent(b, MIN((double)last->held_ms[k] /
			(double)MAX(last->open_ms, (uint64_t)1), 1.0));
		buf_printf(b, "</li>");
	}
	buf_printf(b, "</ul>\n");
}

static void
put_held_chart(const struct report_data *d, struct buf *b)
{
	struct values sums = { { 0 } };
	struct report_chart c;

	for (size_t i = 1; i < d->n_points; i++)
		for (size_t k = 0; k < WHY_SLOW_KINDS; k++)
			sums.v[i] += held(d, i, k);
	report_chart_begin(&c, b, d, "What held the connections back, parts "
	    "of the time", 1, put_percent);
	for (size_t k = WHY_SLOW_KINDS; k-- > 0;) {
		report_chart_area(&c, sums.v, k);
		for (size_t i = 1; i < d->n_points; i++)
			sums.v[i] -= held(d, i, k);
	}
	report_chart_end(&c);
	put_kind_legend(d, b);
}

static void
put_held(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<h2>What held it back</h2>\n");
	if (d->n_points > 1 && d->points[d->n_points - 1].open_ms > 0)
		put_held_chart(d, b);
	else
		put_nothing(b, "Not known.");
	for (size_t i = 0; i < d->n_links; i++) {
		if (d->links[i].why == NULL)
			continue;
		buf_printf(b, "<p>Connection ");
		put_link_name(d, i, b);
		buf_printf(b, ": ");
		report_put_text(b, d->links[i].why);
		buf_printf(b, "</p>\n");
	}
}

/* ---- connections -------------------------------------------------------- */

static void
put_cell(struct buf *b, const char *text)
{
	buf_printf(b, "<td><bdi>");
	report_put_text(b, text != NULL ? text : "?");
	buf_printf(b, "</bdi></td>");
}

static void
put_link(const struct report_data *d, size_t i, struct buf *b)
{
	const struct report_link *l = &d->links[i];

	buf_printf(b, "<tr><td>%zu</td>", i + 1);
	put_cell(b, l->host);
	put_cell(b, l->peer);
	put_cell(b, l->cipher);
	buf_printf(b, "<td class=\"n\">");
	report_put_time(b, l->from_ms);
	buf_printf(b, " to ");
	report_put_time(b, l->until_ms);
	buf_printf(b, "</td><td class=\"n\">");
	report_put_bytes(b, l->sent);
	buf_printf(b, "</td><td class=\"n\">");
	report_put_bytes(b, l->received);
	buf_printf(b, "</td><td class=\"n\">");
	if (l->has_tcp)
		put_ms(b, l->rtt_least_us);
	buf_printf(b, "</td><td class=\"n\">");
	if (l->has_tcp)
		buf_printf(b, "%" PRIu64, l->resent);
	buf_printf(b, "</td></tr>\n");
}

static void
put_links(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<h2>Connections</h2>\n");
	if (d->n_links == 0) {
		put_nothing(b, "None was made.");
		return;
	}
	buf_printf(b, "<div class=\"t\"><table>\n<tr><th></th><th>Host</th>"
	    "<th>Other end</th><th>Cipher</th><th class=\"n\">Time</th>"
	    "<th class=\"n\">Sent</th><th class=\"n\">Received</th>"
	    "<th class=\"n\">Least round trip</th>"
	    "<th class=\"n\">Sent again</th></tr>\n");
	for (size_t i = 0; i < d->n_links; i++)
		put_link(d, i, b);
	buf_printf(b, "</table></div>\n");
	if (d->links_left_out > 0)
		buf_printf(b, "<p class=\"m\">%" PRIu64 " more are not on this "
		    "page.</p>\n", d->links_left_out);
}

/* ---- files -------------------------------------------------------------- */

static void
put_top(const struct report_top *top, const char *title, struct buf *b)
{
	buf_printf(b, "<h3>%s</h3>\n<div class=\"t\"><table>\n<tr><th>Name</th>"
	    "<th class=\"n\">Size</th><th class=\"n\">Moved</th>"
	    "<th class=\"n\">Time</th><th class=\"n\">Rate</th></tr>\n",
	    title);
	for (size_t i = 0; i < top->n; i++) {
		const struct report_file *f = &top->v[i];
		uint64_t moved = f->size > f->kept ? f->size - f->kept : 0;

		buf_printf(b, "<tr>");
		put_cell(b, f->name);
		buf_printf(b, "<td class=\"n\">");
		report_put_bytes(b, f->size);
		buf_printf(b, "</td><td class=\"n\">");
		report_put_bytes(b, moved);
		buf_printf(b, "</td><td class=\"n\">");
		report_put_time(b, f->took_ms);
		buf_printf(b, "</td><td class=\"n\">");
		if (f->took_ms > 0)
			put_rate(b, mean_rate(moved, f->took_ms));
		buf_printf(b, "</td></tr>\n");
	}
	buf_printf(b, "</table></div>\n");
}

static void
put_files(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<h2>Files</h2>\n<p>%" PRIu64 " copied, %" PRIu64
	    " were there already.</p>\n", d->copied, d->there);
	if (d->slowest.n == 0)
		return;
	put_top(&d->largest, d->copied > REPORT_TOP ? "The largest" :
						      "By size", b);
	put_top(&d->slowest, d->copied > REPORT_TOP ? "The slowest" :
						      "By time", b);
}

static void
put_failures(const struct report_data *d, struct buf *b)
{
	buf_printf(b, "<h2>Failures</h2>\n");
	if (d->n_failures == 0) {
		put_nothing(b, "None.");
		return;
	}
	buf_printf(b, "<div class=\"t\"><table>\n");
	for (size_t i = 0; i < MIN(d->n_failures, REPORT_FAILURES); i++) {
		const struct report_failure *f = &d->failures[i];

		buf_printf(b, "<tr>");
		put_cell(b, f->path != NULL ? f->path : "");
		put_cell(b, f->text);
		buf_printf(b, "</tr>\n");
	}
	buf_printf(b, "</table></div>\n");
	if (d->n_failures > REPORT_FAILURES)
		buf_printf(b, "<p class=\"m\">%" PRIu64 " more are not on this "
		    "page.</p>\n", d->n_failures - REPORT_FAILURES);
}

static void
put_digests(const struct report_data *d, struct buf *b)
{
	if (d->digests == NULL)
		return;
	buf_printf(b, "<h2>Digests (SHA-256)</h2>\n<div class=\"t\"><table>\n");
	for (size_t i = 0; i < MIN(d->n_digests, REPORT_DIGESTS); i++) {
		buf_printf(b, "<tr><td class=\"d\">");
		report_put_text(b, d->digests[i].hex);
		buf_printf(b, "</td>");
		put_cell(b, d->digests[i].name);
		buf_printf(b, "</tr>\n");
	}
	buf_printf(b, "</table></div>\n");
	if (d->n_digests > REPORT_DIGESTS)
		buf_printf(b, "<p class=\"m\">%" PRIu64 " more are in the "
		    "manifest.</p>\n", d->n_digests - REPORT_DIGESTS);
}

/* ---- all of it ---------------------------------------------------------- */

void
report_page(const struct report_data *d, struct buf *out)
{
	put_head(d, out);
	put_summary(d, out);
	put_rate_chart(d, out);
	put_tcp_charts(d, out);
	put_held(d, out);
	put_links(d, out);
	put_failures(d, out);
	put_files(d, out);
	put_digests(d, out);
	buf_printf(out, "<p class=\"m\">%zu points, at least %" PRIu64
	    " ms apart. What a name cannot show is written as \\x0a or "
	    "\\u{202e}.</p>\n</body>\n</html>\n", d->n_points, d->every_ms);
}
