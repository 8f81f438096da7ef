/* SPDX-License-Identifier: ISC */
#include "xfer/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/screen.h"
#include "xfer/progress-internal.h"

enum {
	DRAW_EVERY_MS = 100,
	PLAIN_EVERY_MS = 5000,
	EVENTS_EVERY_MS = 1000,
	WIDTH_DEFAULT = 80,
	PENDING_MAX = 16 * 1024,
	FILES_EACH_MAX = 16, /* with more files there is one line for all of
			      * them */
};

/* ---- life --------------------------------------------------------------- */

static void
clear_line(void *arg)
{
	progress_clear_line(arg);
}

static struct progress *
new_progress(void)
{
	struct progress *p = calloc(1, sizeof *p);

	if (p != NULL) {
		p->fd = -1;
		p->width = WIDTH_DEFAULT;
		buf_init(&p->pending);
		TAILQ_INIT(&p->moving);
		screen_set_line(clear_line, p);
	}
	return p;
}

struct progress *
progress_new(int fd)
{
	struct progress *p = new_progress();

	if (p == NULL)
		return NULL;
	p->fd = fd;
	p->style = isatty(fd) ? PROGRESS_TTY : PROGRESS_NONE;
	return p;
}

void
progress_set_style(struct progress *p, enum progress_style style)
{
	p->style = style;
}

enum progress_style
progress_style_of(const struct progress *p)
{
	return p->style;
}

void
progress_set_watch(struct progress *p, const struct progress_watch *watch)
{
	p->watch = watch;
}

struct progress *
progress_new_to(void (*write)(void *arg, const char *p, size_t len),
    void *arg, int width)
{
	struct progress *p = new_progress();

	if (p != NULL) {
		p->style = PROGRESS_TTY;
		p->write = write;
		p->arg = arg;
		p->width = width;
	}
	return p;
}

static bool
is_shown(const struct progress *p)
{
	if (p == NULL || p->style == PROGRESS_NONE)
		return false;
	/* A job in the background does not write over the screen of the job in
	 * the foreground. */
	return p->write != NULL ||
	    (p->fd >= 0 && (p->style != PROGRESS_TTY ||
		tcgetpgrp(p->fd) == getpgrp()));
}

void
progress_flush(struct progress *p)
{
	if (buf_len(&p->pending) == 0)
		return;
	if (p->write != NULL)
		p->write(p->arg, (const char *)buf_data(&p->pending),
		    buf_len(&p->pending));
	else if (fd_write_all(p->fd, buf_data(&p->pending),
		     buf_len(&p->pending)) < 0) {
		if (p->style == PROGRESS_JSON && errno != EPIPE)
			p->lost = errno;
		p->style = PROGRESS_NONE; /* the reader is gone */
	}
	buf_reset(&p->pending);
}

void
progress_free(struct progress *p)
{
	if (p == NULL)
		return;
	if (is_shown(p))
		progress_flush(p);
	screen_set_line(NULL, NULL);
	progress_rates_free(&p->all);
	buf_clear(&p->pending);
	free(p);
}

/* ---- files -------------------------------------------------------------- */

/* True if there is one line for all files. */
static bool
is_many(const struct progress *p)
{
	return p->trees || p->count.files > FILES_EACH_MAX;
}

void
progress_found(struct progress *p, struct progress_item *item, uint64_t size)
{
	if (p == NULL)
		return;
	*item = (struct progress_item){ .state = PROGRESS_FOUND,
		.size = size };
	p->count.files++;
	p->count.size += size;
}

static void
all_start(struct progress *p, uint64_t now_ms)
{
	if (p->all.state == PROGRESS_MOVES)
		return;
	p->all.state = PROGRESS_MOVES;
	if (p->all.start_ms == 0) /* else progress_begin_events() set it */
		p->all.start_ms = p->all.tick_ms = now_ms;
	p->all.stir_ms = now_ms;
}

void
progress_start(struct progress *p, struct progress_item *item,
    const char *name, uint64_t size, uint64_t now_ms)
{
	if (p == NULL)
		return;
	if (item->state != PROGRESS_FOUND)
		progress_found(p, item, size);
	p->count.size += size - item->size;
	*item = (struct progress_item){ .state = PROGRESS_MOVES,
		.size = size, .start_ms = now_ms, .tick_ms = now_ms,
		.stir_ms = now_ms, .name = strdup(name) };
	all_start(p, now_ms);
	TAILQ_INSERT_TAIL(&p->moving, item, entry);
}

void
progress_add(struct progress *p, struct progress_item *item, uint64_t bytes)
{
	(void)p;
	item->done += bytes;
}

void
progress_keep(struct progress_item *item, uint64_t bytes)
{
	item->done += bytes;
	item->kept += bytes;
}

void
progress_unkeep(struct progress_item *item, uint64_t bytes)
{
	item->done -= MIN(bytes, item->done);
	item->kept -= MIN(bytes, item->kept);
}

void
progress_restart(struct progress_item *item)
{
	item->done = item->kept = 0;
	item->doing = NULL;
}

void
progress_sample(struct progress *p, uint64_t now_ms)
{
	const struct progress_item *item;

	p->sampled_ms = now_ms;
	p->all.size = p->count.size;
	p->all.done = p->count.over;
	p->all.kept = p->count.kept;
	TAILQ_FOREACH(item, &p->moving, entry) {
		p->all.done += item->done;
		p->all.kept += item->kept;
	}
	progress_sample_item(&p->all, now_ms);
	if (p->watch != NULL)
		p->watch->sampled(p->watch->arg, progress_moved(&p->all),
		    now_ms);
}

bool
progress_is_there(const struct progress_item *item)
{
	return item->kept > 0 && progress_moved(item) == 0;
}

/* Ends an item. From now on its size counts in the sums as what it has
 * moved. */
static void
item_over(struct progress *p, struct progress_item *item, bool ok)
{
	if (item->state == PROGRESS_MOVES)
		TAILQ_REMOVE(&p->moving, item, entry);
	p->count.done += ok;
	p->count.failed += !ok;
	p->count.over += item->done;
	p->count.kept += item->kept;
	p->count.size += item->done - item->size;
	p->total.there += ok && progress_is_there(item);
	p->total.copied += ok && !progress_is_there(item);
	item->state = PROGRESS_OVER;
	progress_rates_free(item);
	free(item->name);
	item->name = NULL;
}

static void
put_finish(struct progress *p, const struct progress_item *item,
    uint64_t now_ms)
{
	if (p->style == PROGRESS_JSON)
		progress_json_file(p, "file-done", item, now_ms);
	else if (is_many(p))
		return;
	else if (p->style == PROGRESS_PLAIN)
		progress_words(p, &p->pending, item, true, now_ms);
	else
		progress_draw(p, item, true, now_ms);
}

void
progress_finish(struct progress *p, struct progress_item *item, bool ok,
    uint64_t now_ms)
{
	if (p == NULL || item->state != PROGRESS_MOVES)
		return;
	progress_sample_item(item, now_ms);
	if (ok && item->name != NULL && is_shown(p))
		put_finish(p, item, now_ms);
	if (ok && item->name != NULL && p->watch != NULL)
		p->watch->finished(p->watch->arg, item, now_ms);
	if (!is_shown(p))
		buf_reset(&p->pending);
	else if (buf_len(&p->pending) > PENDING_MAX)
		progress_flush(p);
	item_over(p, item, ok);
}

void
progress_forget(struct progress *p, struct progress_item *item)
{
	if (p != NULL && (item->state == PROGRESS_FOUND ||
			     item->state == PROGRESS_MOVES))
		item_over(p, item, false);
}

void
progress_drop(struct progress *p, struct progress_item *item)
{
	if (p == NULL || item->state == PROGRESS_OVER)
		return;
	p->total.dropped++;
	progress_forget(p, item);
}

void
progress_verified(struct progress *p)
{
	if (p != NULL)
		p->total.verified++;
}

/* ---- all ---------------------------------------------------------------- */

void
progress_wait(struct progress *p, bool waits)
{
	if (p != NULL)
		p->waits = waits;
}

void
progress_listing(struct progress *p, bool more)
{
	if (p == NULL)
		return;
	p->trees = true;
	p->listing = more;
}

void
progress_streams(struct progress *p, unsigned streams)
{
	if (p != NULL)
		p->streams = streams;
}

/* ---- a copy that another program makes ---------------------------------- */

void
progress_sums(const struct progress *p, struct progress_told *out)
{
	*out = (struct progress_told){ .files = p->count.files,
		.done = p->count.done,
		.size = p->count.size,
		.bytes = p->all.done,
		.listing = p->listing };
}

void
progress_tell(struct progress *p, const struct progress_told *before,
    const struct progress_told *now, uint64_t now_ms)
{
	if (p == NULL)
		return;
	p->trees = true; /* no file has a line of its own */
	p->listing = now->listing;
	p->count.files += now->files - before->files;
	p->count.done += now->done - before->done;
	p->count.size += now->size - before->size;
	p->count.over += now->bytes - before->bytes;
	if (p->style != PROGRESS_NONE) /* nobody asked for a summary */
		p->total.copied += now->done - before->done;
	all_start(p, now_ms);
	progress_tick(p, NULL, now_ms);
}

void
progress_tell_file(struct progress *p, const char *name, uint64_t size,
    uint64_t ms)
{
	const struct progress_item item = { .name = (char *)(uintptr_t)name,
		.size = size, .done = size };

	if (p == NULL || p->style != PROGRESS_JSON)
		return;
	progress_json_file(p, "file-done", &item, ms);
	progress_flush(p);
}

/* ---- output ------------------------------------------------------------- */

static void
put_events(struct progress *p, uint64_t now_ms)
{
	struct progress_item *item;

	TAILQ_FOREACH(item, &p->moving, entry) {
		if (item->begin_written || item->name == NULL ||
		    now_ms - item->start_ms < EVENTS_EVERY_MS)
			continue;
		item->begin_written = true;
		progress_json_file(p, "file-begin", item, now_ms);
	}
	progress_json_all(p, "progress", now_ms);
}

static void
answer(struct progress *p, const struct progress_item *item, uint64_t now_ms)
{
	struct buf b;

	p->requested = 0;
	buf_init(&b);
	if (item != NULL)
		progress_words(p, &b, item, false, now_ms);
	if (item == NULL || p->count.files > 1)
		progress_words(p, &b, &p->all, false, now_ms);
	progress_clear_line(p);
	if (p->write != NULL)
		p->write(p->arg, (const char *)buf_data(&b), buf_len(&b));
	else
		(void)!fd_write_all(STDERR_FILENO, buf_data(&b), buf_len(&b));
	buf_clear(&b);
}

/* Takes samples of all files that may get a line, so that each line is right
 * when several files move together. */
static void
sample_each(struct progress *p, uint64_t now_ms)
{
	struct progress_item *item;

	if (is_many(p))
		return;
	TAILQ_FOREACH(item, &p->moving, entry)
		progress_sample_item(item, now_ms);
}

void
progress_tick(struct progress *p, struct progress_item *item, uint64_t now_ms)
{
	static const unsigned every[] = { [PROGRESS_TTY] = DRAW_EVERY_MS,
		[PROGRESS_PLAIN] = PLAIN_EVERY_MS,
		[PROGRESS_JSON] = EVENTS_EVERY_MS };

	if (p == NULL)
		return;
	if (item != NULL && item->name == NULL)
		item = NULL;
	sample_each(p, now_ms);
	if (p->requested || now_ms - p->sampled_ms >= DRAW_EVERY_MS)
		progress_sample(p, now_ms);
	if (p->requested)
		answer(p, item, now_ms);
	if (p->drawn_ms == 0 && p->style == PROGRESS_PLAIN)
		p->drawn_ms = now_ms; /* the first line is not written at
				       * once */
	if (now_ms - p->drawn_ms < every[p->style] || !is_shown(p) ||
	    (p->waits && p->style != PROGRESS_JSON))
		return;
	p->drawn_ms = now_ms;
	if (is_many(p))
		item = p->all.state == PROGRESS_MOVES ? &p->all : NULL;
	if (p->style == PROGRESS_JSON)
		put_events(p, now_ms);
	else if (item != NULL && p->style == PROGRESS_PLAIN)
		progress_words(p, &p->pending, item, false, now_ms);
	else if (item != NULL)
		progress_draw(p, item, false, now_ms);
	progress_flush(p);
}

void
progress_end(struct progress *p, uint64_t now_ms)
{
	if (p == NULL || p->style == PROGRESS_JSON)
		return;
	p->listing = false;
	if (p->all.state == PROGRESS_MOVES)
		progress_sample(p, now_ms);
	if (p->all.state == PROGRESS_MOVES && is_many(p) &&
	    is_shown(p)) {
		if (p->style == PROGRESS_PLAIN)
			progress_words(p, &p->pending, &p->all, true, now_ms);
		else
			progress_draw(p, &p->all, true, now_ms);
	}
	if (is_shown(p))
		progress_flush(p);
	p->count = (struct progress_count){ 0 };
	progress_rates_free(&p->all);
	p->all = (struct progress_item){ 0 };
	p->trees = false;
}

void
progress_clear_line(struct progress *p)
{
	if (!is_shown(p))
		return;
	progress_erase(p);
	progress_flush(p);
}

bool
progress_summary(const struct progress *p, char *out, size_t size)
{
	const struct progress_total *t = &p->total;
	size_t len;
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = {
		{ t->there, "already there" },
		{ p->errors, "not copied (listed above)" },
		{ t->dropped, "not begun, or stopped" },
		{ t->verified, "verified" },
	};

	snprintf(out, size, "%llu copied", (unsigned long long)t->copied);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i].n == 0)
			continue;
		len = strlen(out);
		snprintf(out + len, size - len, ", %llu %s",
		    (unsigned long long)parts[i].n, parts[i].what);
	}
	return t->copied + t->there + p->errors + t->dropped > 1 ||
	    t->verified > 0;
}

uint64_t
progress_verified_files(const struct progress *p)
{
	return p->total.verified;
}

int
progress_lost(const struct progress *p)
{
	return p != NULL ? p->lost : 0;
}

void
progress_request(struct progress *p)
{
	if (p != NULL)
		p->requested = 1;
}
