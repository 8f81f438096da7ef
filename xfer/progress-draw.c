/* SPDX-License-Identifier: ISC */
/* Progress as a line of a terminal, and the same in words. Names are escaped
 * here. */
#include <sys/ioctl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "xfer/progress-internal.h"

enum {
	STALLED_MS = 5000,
	WIDTH_MAX = 512,
	FIGURES = 39,  /* columns right of the name */
	SPARE = 3, /* columns left empty: the ^C of a user is shown there */
	LAST_RATE = 10, /* columns for the rate of the last sample, too */
	LAST_RATE_FROM = 70, /* least columns of a terminal that shows it */
	TEXT_MAX = 24,
};

/* ---- parts -------------------------------------------------------------- */

void
progress_bytes_text(uint64_t bytes, char *out, size_t size)
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	int unit = 0;

	while (v >= 1000 && units[unit + 1] != '\0') {
		v /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(out, size, "%llu B", (unsigned long long)bytes);
	else
		snprintf(out, size, v < 99.95 ? "%.1f%cB" : "%.0f%cB", v,
		    units[unit]);
}

void
progress_time_text(uint64_t seconds, char *out, size_t size)
{
	unsigned h = (unsigned)(seconds / 3600 > 9999 ? 9999 : seconds / 3600);
	unsigned m = (unsigned)(seconds / 60 % 60);

	if (h > 0)
		snprintf(out, size, "%u:%02u:%02u", h, m,
		    (unsigned)(seconds % 60));
	else
		snprintf(out, size, "%02u:%02u", m, (unsigned)(seconds % 60));
}

uint64_t
progress_whole(double v)
{
	return v < (double)UINT64_MAX ? (uint64_t)v : UINT64_MAX;
}

static int
width_now(struct progress *p)
{
	struct winsize ws;

	if (p->fd >= 0 && ioctl(p->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		p->width = ws.ws_col < WIDTH_MAX ? ws.ws_col : WIDTH_MAX;
	return p->width;
}

/* Cuts name to so many columns, at a character's start, so that half a UTF-8
 * sequence never shows. */
static void
fit_name(char *out, size_t size, const char *name, int columns)
{
	size_t i = 0, len;
	int used = 0, wide;
	uint32_t c;

	while ((len = str_utf8_len(name + i, &c)) > 0 && c != 0 &&
	    i + len < size) {
		wide = str_columns(c);
		if (used + wide > columns)
			break;
		used += wide;
		memcpy(out + i, name + i, len);
		i += len;
	}
	while (used++ < columns && i + 1 < size)
		out[i++] = ' ';
	out[i] = '\0';
}

/* The subject of a line: the last part of a file's name, or the number of
 * files. */
static void
put_subject(const struct progress *p, const struct progress_item *item,
    char *out, size_t size)
{
	const char *slash;
	int n;

	if (item == &p->all) {
		n = snprintf(out, size, "%llu/%llu%s files",
		    (unsigned long long)p->count.done,
		    (unsigned long long)p->count.files,
		    p->listing ? "+" : "");
		if (p->streams > 1)
			snprintf(out + n, size - (size_t)n, ", %u lanes",
			    p->streams);
		return;
	}
	slash = strrchr(item->name, '/');
	str_escape(out, size,
	    slash != NULL && slash[1] != '\0' ? slash + 1 : item->name);
}

/* All numbers that are shown of an item. */
struct figures {
	int percent;
	bool stalled, there;
	char bytes[TEXT_MAX], size[TEXT_MAX], rate[TEXT_MAX];
	char last[TEXT_MAX], when[TEXT_MAX];
};

static struct figures
figures_of(const struct progress_item *item, bool finished, uint64_t now_ms)
{
	uint64_t took_ms = now_ms - item->start_ms;
	uint64_t left = item->size > item->done ? item->size - item->done : 0;
	double mean = (double)progress_moved(item) * 1000 /
	    (double)(took_ms > 0 ? took_ms : 1);
	struct figures f = { .percent = left == 0 ? 100 :
		    (int)((double)item->done * 100 / (double)item->size),
		.stalled = now_ms - item->stir_ms > STALLED_MS,
		.there = finished && progress_is_there(item) };

	progress_bytes_text(item->done, f.bytes, sizeof f.bytes);
	progress_bytes_text(item->size, f.size, sizeof f.size);
	progress_bytes_text(progress_whole(finished ? mean : item->rate),
	    f.rate, sizeof f.rate);
	progress_bytes_text(progress_whole(finished ? item->peak : item->last),
	    f.last, sizeof f.last);
	if (finished)
		progress_time_text((took_ms + 500) / 1000, f.when,
		    sizeof f.when);
	else if (item->rate >= 1)
		progress_time_text(
		    progress_whole((double)left / item->rate + 0.5), f.when,
		    sizeof f.when);
	else
		strlcpy(f.when, "--:--", sizeof f.when);
	return f;
}

/* ---- whole lines -------------------------------------------------------- */

/* Does the terminal break long lines anew when it is made narrower? Most
 * terminals do; xterm and screen cut the lines. */
static bool
terminal_reflows(void)
{
	return getenv("XTERM_VERSION") == NULL && getenv("STY") == NULL;
}

/* Moves the cursor to where the unfinished line begins. That line may take
 * several rows of the screen by now, if the terminal has become narrower. */
static void
progress_back(struct progress *p, int width)
{
	int rows = 0;

	if (p->line_open && width > 0 && width < p->line_width &&
	    terminal_reflows())
		rows = (p->line_width - SPARE - 1) / width;
	buf_put(&p->pending, "\r", 1);
	/* The rows are cleared one by one: to clear the whole screen is to keep
	 * it in the scrollback of some terminals. */
	while (rows-- > 0)
		buf_printf(&p->pending, "\033[K\033[A");
	if (p->line_open && width != p->line_width)
		buf_printf(&p->pending, "\033[K");
}

void
progress_erase(struct progress *p)
{
	if (!p->line_open)
		return;
	progress_back(p, width_now(p));
	buf_printf(&p->pending, "\033[K");
	p->line_open = false;
}

/* Writes the part of a line that is right of the name. last: with the rate of
 * the last second. */
static void
put_figures(const struct progress_item *item, const struct figures *f,
    bool last, bool finished, char *out, size_t size)
{
	char rest[TEXT_MAX * 2] = "";
	int n = snprintf(out, size, " %3d%% %7s", f->percent, f->bytes);

	if (f->there) {
		snprintf(out + n, size - (size_t)n, " %-*s",
		    FIGURES - n - 1 + (last ? LAST_RATE : 0),
		    "   already there");
		return;
	}
	if (finished)
		snprintf(rest, sizeof rest, "   %9s    ", f->when);
	else if (item->doing != NULL)
		snprintf(rest, sizeof rest, " %15s", item->doing);
	else if (f->stalled)
		snprintf(rest, sizeof rest, "     - stalled -");
	else
		snprintf(rest, sizeof rest, "   %9s ETA", f->when);
	n += snprintf(out + n, size - (size_t)n, " %7s/s", f->rate);
	if (last)
		n += snprintf(out + n, size - (size_t)n, " %7s/s", f->last);
	snprintf(out + n, size - (size_t)n, "%s", rest);
}

void
progress_draw(struct progress *p, const struct progress_item *item,
    bool finished, uint64_t now_ms)
{
	char name[WIDTH_MAX * 4 + 1], shown[WIDTH_MAX * 4 + 1];
	struct figures f = figures_of(item, finished, now_ms);
	int width = width_now(p), columns = width - FIGURES - SPARE;
	bool last = width >= LAST_RATE_FROM;
	struct buf *b = &p->pending;

	if (last)
		columns -= LAST_RATE;
	progress_back(p, width);
	if (columns > 0) {
		put_subject(p, item, name, sizeof name);
		fit_name(shown, sizeof shown, name, columns);
		buf_put(b, shown, strlen(shown));
	}
	put_figures(item, &f, last, finished, name, sizeof name);
	/* A window that is narrower than the figures gets their beginning. */
	fit_name(shown, sizeof shown, name, columns >= 0 ?
		(int)strlen(name) : MAX(width - SPARE, 0));
	buf_put(b, shown, strlen(shown));
	if (finished)
		buf_put(b, "\n", 1);
	p->line_open = !finished;
	p->line_width = width;
}

void
progress_words(const struct progress *p, struct buf *b,
    const struct progress_item *item, bool finished, uint64_t now_ms)
{
	struct figures f = figures_of(item, finished, now_ms);
	char name[WIDTH_MAX * 4 + 1];

	put_subject(p, item, name, sizeof name);
	if (f.there) {
		buf_printf(b, "%s, %s, already there", name, f.bytes);
	} else if (finished) {
		buf_printf(b, "%s, %s in %s, %s/s", name, f.bytes, f.when,
		    f.rate);
		if (item->peak > 0)
			buf_printf(b, ", at most %s/s", f.last);
	} else {
		buf_printf(b, "%s, %d%% of %s%s, %s/s, last second %s/s, "
		    "%s left", name, f.percent, f.size,
		    item == &p->all && p->listing ? "+" : "", f.rate, f.last,
		    f.when);
	}
	buf_put(b, "\n", 1);
}
