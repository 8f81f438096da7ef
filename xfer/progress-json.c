/* SPDX-License-Identifier: ISC */
/* Progress as events: one JSON object (RFC 8259) a line; the schema is in
 * hpnscp(1). */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "xfer/progress-internal.h"

static uint64_t
mean(const struct progress_item *item, uint64_t now_ms)
{
	uint64_t took = now_ms > item->start_ms ? now_ms - item->start_ms : 1;

	return progress_whole(
	    (double)progress_moved(item) * 1000 / (double)took);
}

void
progress_json_file(struct progress *p, const char *event,
    const struct progress_item *item, uint64_t now_ms)
{
	struct buf *b = &p->pending;

	buf_printf(b, "{\"event\":\"%s\",\"path\":", event);
	json_put_string(b, item->name);
	json_put_number(b, "size", item->size);
	json_put_number(b, "bytes", item->done);
	json_put_number(b, "kept", item->kept);
	json_put_ms(b, "seconds", now_ms - item->start_ms);
	buf_put(b, "}\n", 2);
}

void
progress_json_all(struct progress *p, const char *event, uint64_t now_ms)
{
	const struct progress_item *all = &p->all;
	bool end = strcmp(event, "end") == 0;
	struct buf *b = &p->pending;

	buf_printf(b, "{\"event\":\"%s\"", event);
	json_put_number(b, "files", p->count.files);
	json_put_number(b, "files_done", p->count.done);
	json_put_number(b, "failures", p->errors);
	json_put_number(b, "size", p->count.size);
	json_put_number(b, "bytes", all->done);
	json_put_number(b, "kept", all->kept);
	json_put_ms(b, "seconds", now_ms - all->start_ms);
	json_put_number(
	    b, "rate", end ? mean(all, now_ms) : progress_whole(all->last));
	if (end)
		json_put_number(b, "peak", progress_whole(all->peak));
	else
		buf_printf(b, ",\"listing\":%s",
		    p->listing ? "true" : "false");
	json_put_number(b, "lanes", p->streams);
	buf_put(b, "}\n", 2);
}

void
progress_begin_events(struct progress *p, uint64_t now_ms)
{
	if (p == NULL || p->style != PROGRESS_JSON)
		return;
	p->all.start_ms = p->all.tick_ms = p->drawn_ms = now_ms;
	buf_printf(&p->pending, "{\"event\":\"start\",\"version\":1}\n");
	progress_flush(p);
}

void
progress_event(struct progress *p, const void *line, size_t len)
{
	if (p == NULL || p->style != PROGRESS_JSON)
		return;
	buf_put(&p->pending, line, len);
	progress_flush(p);
}

void
progress_error(struct progress *p, const char *kind, const char *path,
    const char *text)
{
	if (p == NULL)
		return;
	p->errors++;
	if (p->watch != NULL)
		p->watch->failed(p->watch->arg, path, text);
	if (p->style != PROGRESS_JSON)
		return;
	buf_printf(&p->pending, "{\"event\":\"error\",\"class\":\"%s\","
	    "\"path\":", kind);
	json_put_string(&p->pending, path);
	buf_printf(&p->pending, ",\"text\":");
	json_put_string(&p->pending, text);
	buf_put(&p->pending, "}\n", 2);
	progress_flush(p);
}

unsigned long
progress_errors(const struct progress *p)
{
	return p != NULL ? p->errors : 0;
}

void
progress_end_events(struct progress *p, uint64_t now_ms)
{
	if (p == NULL || p->style != PROGRESS_JSON)
		return;
	progress_sample(p, now_ms);
	progress_json_all(p, "end", now_ms);
	progress_flush(p);
}
