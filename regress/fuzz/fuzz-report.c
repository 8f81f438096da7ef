/* SPDX-License-Identifier: ISC */
/* The page of a report, of what a run may have recorded: numbers of any size,
 * and names. It has the same elements as with harmless names, no control
 * character but newlines, and is UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/report/report-page.h"
#include "regress/fuzz/fuzz.h"

/* Fills in all that comes from others. in: the numbers. */
static struct report_data *
data_of(struct rd in, const char *name)
{
	struct report_data *d = report_data_new();
	struct report_link *l;
	struct report_point *p;

	if (d == NULL)
		abort();
	d->program = "hpnscp";
	d->version = "SSH-2.0-here";
	d->here = xstrdup(name);
	xstrlist_add(&d->command, name);
	l = report_data_link(d, name);
	if (l == NULL)
		abort();
	l->peer = xstrdup(name);
	l->cipher = xstrdup(name);
	l->why = xstrdup(name);
	l->has_tcp = true;
	report_data_failure(d, name, name);
	report_data_file(d, name, rd_u64(&in), rd_u16(&in), rd_u64(&in));
	report_data_digest(d, name, (const uint8_t *)"", 1);
	d->took_ms = rd_u64(&in);
	while (in.len >= 24 && rd_err(&in) == 0) {
		p = report_data_point(d, d->points[d->n_points - 1].ms +
			rd_u32(&in), true);
		if (p == NULL)
			continue;
		p->moved = rd_u64(&in);
		p->open_ms = rd_u16(&in);
		p->held_ms[rd_u16(&in) % WHY_SLOW_KINDS] = rd_u16(&in);
		l->points[d->n_points - 1] = (struct report_link_point){
			.bytes = rd_u64(&in), .rtt_us = rd_u32(&in),
			.resent = rd_u32(&in) };
	}
	return d;
}

static char *
page_of(struct rd in, const char *name)
{
	struct report_data *d = data_of(in, name);
	struct buf b;
	char *page;

	buf_init(&b);
	report_page(d, &b);
	if (buf_err(&b) != 0 || (page = buf_dup_string(&b)) == NULL)
		abort();
	if (strlen(page) != buf_len(&b))
		abort();
	buf_clear(&b);
	report_data_free(d);
	return page;
}

static size_t
count(const char *text, char c)
{
	size_t n = 0;

	for (; (text = strchr(text, c)) != NULL; text++)
		n++;
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char marks[] = "<>\"\n";
	struct rd in = rd_from(data, len);
	struct span text = fuzz_piece(&in);
	char *name = span_dup(text), *page, *plain;
	uint32_t c;
	size_t n;

	if (name == NULL)
		return 0;
	page = page_of(in, name);
	plain = page_of(in, "name");
	for (const char *m = marks; *m != '\0'; m++)
		if (count(page, *m) != count(plain, *m))
			abort();
	for (const char *p = page; *p != '\0'; p += n) {
		n = str_utf8_len(p, &c);
		if (n == 0 || (c < 0x20 && c != '\n') ||
		    (c >= 0x7f && c <= 0x9f) || (c >= 0x200e && c <= 0x200f) ||
		    (c >= 0x2028 && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069))
			abort();
	}
	free(page);
	free(plain);
	free(name);
	return 0;
}
