/* SPDX-License-Identifier: ISC */
#include "xfer/progress.h"

#include <sys/ioctl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

enum {
	DRAW_EVERY_MS = 100,
	SAMPLE_MS = 1000,
	STALLED_MS = 5000,
	WIDTH_DEFAULT = 80,
	WIDTH_MAX = 512,
	FIGURES = 39, /* columns right of the name */
	PENDING_MAX = 16 * 1024,
};

struct progress {
	int fd; /* -1: to write */
	int width;
	void (*write)(void *arg, const char *p, size_t len);
	void *arg;
	uint64_t drawn_ms;
	bool line_open;	   /* an unfinished line is on the screen */
	struct buf pending; /* finished lines, sent with the next drawing */
};

static struct progress *
new_progress(void)
{
	struct progress *p = calloc(1, sizeof *p);

	if (p != NULL) {
		p->fd = -1;
		p->width = WIDTH_DEFAULT;
		buf_init(&p->pending);
	}
	return p;
}

struct progress *
progress_new(int fd)
{
	struct progress *p = new_progress();

	if (p != NULL && isatty(fd))
		p->fd = fd;
	return p;
}

struct progress *
progress_new_to(void (*write)(void *arg, const char *p, size_t len),
    void *arg, int width)
{
	struct progress *p = new_progress();

	if (p != NULL) {
		p->write = write;
		p->arg = arg;
		p->width = width;
	}
	return p;
}

static bool
draws(const struct progress *p)
{
	if (p == NULL)
		return false;
	/* A background job does not write over the foreground's screen. */
	return p->write != NULL ||
	    (p->fd >= 0 && tcgetpgrp(p->fd) == getpgrp());
}

static void
flush_pending(struct progress *p)
{
	if (buf_len(&p->pending) == 0)
		return;
	if (p->write != NULL)
		p->write(p->arg, (const char *)buf_data(&p->pending),
		    buf_len(&p->pending));
	else if (fd_write_all(p->fd, buf_data(&p->pending),
		     buf_len(&p->pending)) < 0)
		p->fd = -1; /* the terminal is gone */
	buf_reset(&p->pending);
}

void
progress_free(struct progress *p)
{
	if (p == NULL)
		return;
	if (draws(p))
		flush_pending(p);
	buf_clear(&p->pending);
	free(p);
}

/* --- parts of the line --- */

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

static int
width_now(struct progress *p)
{
	struct winsize ws;

	if (p->fd >= 0 && ioctl(p->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		p->width = ws.ws_col < WIDTH_MAX ? ws.ws_col : WIDTH_MAX;
	return p->width;
}

/* Cuts at a character's start, so that half a UTF-8 sequence never shows;
 * columns are counted one for each character. */
static void
fit_name(char *out, size_t size, const char *name, int columns)
{
	size_t i = 0;
	int used = 0;

	while (name[i] != '\0' && i + 1 < size) {
		bool starts = ((unsigned char)name[i] & 0xc0) != 0x80;

		if (starts && used == columns)
			break;
		used += starts;
		out[i] = name[i];
		i++;
	}
	while (used++ < columns && i + 1 < size)
		out[i++] = ' ';
	out[i] = '\0';
}

static void
put_figures(struct buf *b, const struct progress_item *item, bool finished,
    uint64_t now_ms)
{
	uint64_t took_ms = now_ms - item->start_ms;
	uint64_t left = item->size > item->done ? item->size - item->done : 0;
	char bytes[16], rate[16], when[24];
	double mean = took_ms > 0 ?
	    (double)item->done * 1000 / (double)took_ms :
	    (double)item->done * 1000;
	int percent = item->size == 0 ? 100 :
	    left == 0		      ? 100 :
					(int)((double)item->done * 100 /
					    (double)item->size);

	progress_bytes_text(item->done, bytes, sizeof bytes);
	progress_bytes_text((uint64_t)(finished ? mean : item->rate), rate,
	    sizeof rate);
	if (finished) {
		progress_time_text((took_ms + 500) / 1000, when, sizeof when);
		buf_printf(b, " %3d%% %7s %7s/s   %9s    ", percent, bytes,
		    rate, when);
	} else if (now_ms - item->tick_ms > STALLED_MS) {
		buf_printf(b, " %3d%% %7s %7s/s - stalled -    ", percent,
		    bytes, rate);
	} else {
		if (item->rate >= 1)
			progress_time_text(
			    (uint64_t)((double)left / item->rate + 0.5), when,
			    sizeof when);
		else
			strlcpy(when, "--:--", sizeof when);
		buf_printf(b, " %3d%% %7s %7s/s   %9s ETA", percent, bytes,
		    rate, when);
	}
}

static void
put_line(struct progress *p, const struct progress_item *item, bool finished,
    uint64_t now_ms)
{
	char name[WIDTH_MAX * 4 + 1], peak[16];
	int width = width_now(p), columns = width - FIGURES - 1;

	buf_put(&p->pending, "\r", 1);
	if (columns > 0) {
		fit_name(name, sizeof name, item->name, columns);
		buf_put(&p->pending, name, strlen(name));
	}
	put_figures(&p->pending, item, finished, now_ms);
	/* The peak is worth telling if there was more than one second. */
	if (finished && item->peak > 0 && width >= 100) {
		progress_bytes_text((uint64_t)item->peak, peak, sizeof peak);
		buf_printf(&p->pending, " peak %s/s", peak);
	}
	if (finished)
		buf_put(&p->pending, "\n", 1);
	p->line_open = !finished;
}

/* --- files --- */

void
progress_start(struct progress *p, struct progress_item *item,
    const char *name, uint64_t size, uint64_t now_ms)
{
	size_t room = strlen(name) * 4 + 1;

	if (p == NULL)
		return;
	*item = (struct progress_item){ .size = size, .start_ms = now_ms,
		.tick_ms = now_ms };
	item->name = malloc(room);
	if (item->name != NULL)
		str_escape(item->name, room, name);
}

void
progress_add(struct progress *p, struct progress_item *item, uint64_t bytes)
{
	(void)p;
	item->done += bytes;
}

/* Once a second the rate of that second; smoothed for what is shown. */
static void
sample(struct progress_item *item, uint64_t now_ms)
{
	uint64_t took_ms = now_ms - item->tick_ms;
	double rate;

	if (took_ms < SAMPLE_MS)
		return;
	/* No byte in this time: keep the time, it tells of a stall. */
	if (item->done == item->tick_done) {
		item->rate = 0;
		return;
	}
	rate = (double)(item->done - item->tick_done) * 1000 /
	    (double)took_ms;
	item->rate = item->rate > 0 ? item->rate * 0.5 + rate * 0.5 : rate;
	if (rate > item->peak)
		item->peak = rate;
	item->tick_ms = now_ms;
	item->tick_done = item->done;
}

void
progress_tick(struct progress *p, struct progress_item *item, uint64_t now_ms)
{
	if (p == NULL)
		return;
	if (item != NULL && item->name != NULL) {
		sample(item, now_ms);
		/* Before the first second is over, what there is so far. */
		if (item->peak == 0 && now_ms > item->start_ms)
			item->rate = (double)item->done * 1000 /
			    (double)(now_ms - item->start_ms);
	}
	if (now_ms - p->drawn_ms < DRAW_EVERY_MS || !draws(p))
		return;
	p->drawn_ms = now_ms;
	if (item != NULL && item->name != NULL)
		put_line(p, item, false, now_ms);
	flush_pending(p);
}

void
progress_finish(struct progress *p, struct progress_item *item, bool ok,
    uint64_t now_ms)
{
	if (p == NULL || item->name == NULL)
		return;
	sample(item, now_ms);
	if (draws(p)) {
		if (ok)
			put_line(p, item, true, now_ms);
		if (buf_len(&p->pending) > PENDING_MAX)
			flush_pending(p);
	} else {
		buf_reset(&p->pending);
	}
	free(item->name);
	item->name = NULL;
}

void
progress_clear_line(struct progress *p)
{
	if (!draws(p))
		return;
	if (p->line_open)
		buf_put(&p->pending, "\r\033[K", 4);
	p->line_open = false;
	flush_pending(p);
}
