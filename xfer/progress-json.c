/* SPDX-License-Identifier: ISC */
/* Progress as events: one JSON object (RFC 8259) a line; the schema is in
 * hpnscp(1). */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "xfer/progress-internal.h"

/*
 * Writes a JSON string. A byte that is no UTF-8 becomes the surrogate U+DC00 +
 * byte: so every name has one form, the output is valid JSON, and Python's
 * os.fsencode() gives the bytes back.
 */
static void
put_string(struct buf *b, const char *text)
{
	uint32_t c;
	size_t len;

	buf_put(b, "\"", 1);
	for (; *text != '\0'; text += len) {
		len = str_utf8_len(text, &c);
		if (len == 0) {
			c = 0xdc00 + (unsigned char)*text;
			len = 1;
		}
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", (int)c);
		else if (c < 0x20 || (c >= 0x7f && c <= 0xffff))
			buf_printf(b, "\\u%04x", (unsigned)c);
		else
			buf_put(b, text, len);
	}
	buf_put(b, "\"", 1);
}

static void
put_seconds(struct buf *b, const char *key, uint64_t ms)
{
	buf_printf(b, ",\"%s\":%llu.%03u", key,
	    (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
}

static void
put_number(struct buf *b, const char *key, uint64_t n)
{
	buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)n);
}

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
	put_string(b, item->name);
	put_number(b, "size", item->size);
	put_number(b, "bytes", item->done);
	put_number(b, "kept", item->kept);
	put_seconds(b, "seconds", now_ms - item->start_ms);
	buf_put(b, "}\n", 2);
}

void
progress_json_all(struct progress *p, const char *event, uint64_t now_ms)
{
	const struct progress_item *all = &p->all;
	bool end = strcmp(event, "end") == 0;
	struct buf *b = &p->pending;

	buf_printf(b, "{\"event\":\"%s\"", event);
	put_number(b, "files", p->count.files);
	put_number(b, "files_done", p->count.done);
	put_number(b, "failures", p->errors);
	put_number(b, "size", p->count.size);
	put_number(b, "bytes", all->done);
	put_number(b, "kept", all->kept);
	put_seconds(b, "seconds", now_ms - all->start_ms);
	put_number(
	    b, "rate", end ? mean(all, now_ms) : progress_whole(all->last));
	if (end)
		put_number(b, "peak", progress_whole(all->peak));
	else
		buf_printf(b, ",\"listing\":%s",
		    p->listing ? "true" : "false");
	put_number(b, "lanes", p->streams);
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
progress_error(struct progress *p, const char *kind, const char *path,
    const char *text)
{
	if (p == NULL)
		return;
	p->errors++;
	if (p->style != PROGRESS_JSON)
		return;
	buf_printf(&p->pending, "{\"event\":\"error\",\"class\":\"%s\","
	    "\"path\":", kind);
	put_string(&p->pending, path);
	buf_printf(&p->pending, ",\"text\":");
	put_string(&p->pending, text);
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
