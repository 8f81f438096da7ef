/* SPDX-License-Identifier: ISC */
#include "client/report/report-data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- life --------------------------------------------------------------- */

struct report_data *
report_data_new(void)
{
	struct report_data *d = calloc(1, sizeof *d);

	if (d != NULL) {
		d->every_ms = REPORT_FIRST_MS;
		d->n_points = 1; /* point 0 is the beginning, where all is 0 */
	}
	return d;
}

static void
free_top(struct report_top *top)
{
	for (size_t i = 0; i < top->n; i++)
		free(top->v[i].name);
}

static void
free_link(struct report_link *l)
{
	free(l->host);
	free(l->peer);
	free(l->cipher);
	free(l->why);
	free(l->points);
}

void
report_data_free(struct report_data *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->n_links; i++)
		free_link(&d->links[i]);
	free_top(&d->slowest);
	free_top(&d->largest);
	for (size_t i = 0; i < MIN(d->n_failures, REPORT_FAILURES); i++) {
		free(d->failures[i].path);
		free(d->failures[i].text);
	}
	for (size_t i = 0; i < MIN(d->n_digests, REPORT_DIGESTS) &&
	    d->digests != NULL; i++)
		free(d->digests[i].name);
	free(d->digests);
	free(d->here);
	strlist_clear(&d->command);
	free(d);
}

/* ---- points ------------------------------------------------------------- */

/* Removes every second point, so that the copy can go on for as long again.
 * Point 0, the beginning, and the last one stay, because the number of points
 * is even. */
static void
thin_link(struct report_link *l)
{
	if (l->points == NULL)
		return;
	for (size_t i = 1; i < REPORT_POINTS / 2; i++) {
		uint32_t before = l->points[2 * i].rtt_us;

		l->points[i] = l->points[2 * i + 1];
		l->points[i].rtt_us = MAX(l->points[i].rtt_us, before);
	}
}

static void
thin(struct report_data *d)
{
	for (size_t i = 1; i < REPORT_POINTS / 2; i++)
		d->points[i] = d->points[2 * i + 1];
	for (size_t i = 0; i < d->n_links; i++)
		thin_link(&d->links[i]);
	d->n_points = REPORT_POINTS / 2;
	d->every_ms *= 2;
}

struct report_point *
report_data_point(struct report_data *d, uint64_t ms, bool always)
{
	struct report_point *last = &d->points[d->n_points - 1], *p;

	if (ms <= last->ms || (!always && ms - last->ms < d->every_ms))
		return NULL;
	if (d->n_points > 1 && ms - last->ms < d->every_ms / 2) {
		last->ms = ms;
		return last;
	}
	if (d->n_points == REPORT_POINTS)
		thin(d);
	p = &d->points[d->n_points];
	*p = d->points[d->n_points - 1];
	p->ms = ms;
	for (size_t i = 0; i < d->n_links; i++) {
		struct report_link_point *lp = d->links[i].points;

		lp[d->n_points] = lp[d->n_points - 1];
		lp[d->n_points].rtt_us = 0;
	}
	d->n_points++;
	return p;
}

struct report_link *
report_data_link(struct report_data *d, const char *host)
{
	struct report_link *l = &d->links[d->n_links];

	if (d->n_links == REPORT_CONNECTIONS) {
		d->links_left_out++;
		return NULL;
	}
	*l = (struct report_link){ .host = strdup(host),
		.points = calloc(REPORT_POINTS, sizeof *l->points) };
	if (l->host == NULL || l->points == NULL) {
		free_link(l);
		d->links_left_out++;
		return NULL;
	}
	d->n_links++;
	return l;
}

/* ---- files -------------------------------------------------------------- */

/* Inserts a file into a list of the slowest or (by_size) the largest ones,
 * unless it belongs behind their end. */
static void
put_top(struct report_top *top, const struct report_file *f, bool by_size)
{
	size_t at = top->n;

#define KEY(file) (by_size ? (file)->size : (file)->took_ms)
	while (at > 0 && KEY(&top->v[at - 1]) < KEY(f))
		at--;
#undef KEY
	if (at == REPORT_TOP)
		return;
	if (top->n == REPORT_TOP)
		free(top->v[--top->n].name);
	memmove(&top->v[at + 1], &top->v[at], (top->n - at) * sizeof *f);
	top->n++;
	top->v[at] = *f;
	top->v[at].name = strdup(f->name); /* NULL is shown as an empty name */
}

void
report_data_file(struct report_data *d, const char *name, uint64_t size,
    uint64_t kept, uint64_t took_ms)
{
	struct report_file f = { .name = (char *)name, .size = size,
		.kept = kept, .took_ms = took_ms };

	if (kept > 0 && kept >= size) {
		d->there++;
	} else {
		d->copied++;
		put_top(&d->slowest, &f, false);
		put_top(&d->largest, &f, true);
	}
	d->kept += kept;
}

void
report_data_failure(struct report_data *d, const char *path, const char *text)
{
	if (d->n_failures < REPORT_FAILURES)
		d->failures[d->n_failures] = (struct report_failure){
			.path = path != NULL ? strdup(path) : NULL,
			.text = strdup(text) };
	d->n_failures++;
}

void
report_data_digest(struct report_data *d, const char *name,
    const uint8_t *digest, size_t len)
{
	struct report_digest *to;

	if (d->digests == NULL)
		d->digests = calloc(REPORT_DIGESTS, sizeof *d->digests);
	if (d->digests != NULL && d->n_digests < REPORT_DIGESTS) {
		to = &d->digests[d->n_digests];
		to->name = strdup(name);
		for (size_t i = 0; i < len && 2 * i + 2 < sizeof to->hex; i++)
			snprintf(to->hex + 2 * i, 3, "%02x", digest[i]);
	}
	d->n_digests++;
}
