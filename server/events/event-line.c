/* SPDX-License-Identifier: ISC */
#include "server/events/event-line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/digest.h"

enum {
	TEXT_ROOM = 200,   /* bytes of a text, escaped */
	PATHS_ROOM = 1800, /* bytes of all paths of a line, escaped */
};

/* The largest integer that all readers of JSON take for what it is: a claim of
 * more would stop some of them. */
#define NUMBER_MAX ((UINT64_C(1) << 53) - 1)

static void
put_time(struct buf *b)
{
	char text[32];
	struct timespec t;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &t);
	if (gmtime_r(&t.tv_sec, &tm) == NULL ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		text[0] = '\0';
	buf_printf(b, "\"ts\":\"%s.%06ldZ\"", text, t.tv_nsec / 1000);
}

void
event_line_text(struct buf *b, const char *key, const char *text)
{
	json_put_key(b, key);
	(void)json_put_string_cut(b, text, TEXT_ROOM);
}

void
event_line_begin(struct buf *b, const char *event, const char *by,
    const struct event_origin *o)
{
	buf_printf(b, "{\"v\":1,");
	put_time(b);
	event_line_text(b, "host", o->host);
	json_put_text(b, "event", event);
	json_put_text(b, "by", by);
	json_put_number(b, "pid", (uint64_t)o->pid);
	if (o->conn != NULL)
		json_put_text(b, "conn", o->conn);
	if (o->peer != NULL) {
		event_line_text(b, "peer", o->peer);
		json_put_number(b, "port", o->port);
	}
	if (o->user != NULL)
		event_line_text(b, "user", o->user);
	if (o->has_uid)
		json_put_number(b, "uid", o->uid);
}

void
event_line_end(struct buf *b)
{
	buf_put(b, "}\n", 2);
}

static void
put_digest(struct buf *b, const char *key, const char *path)
{
	uint8_t digest[DIGEST_MAX_LEN];
	char *hex = NULL;

	if (digest_once(DIGEST_SHA256, path, strlen(path), digest) == 0)
		hex = str_hex(digest, digest_len(DIGEST_SHA256));
	if (hex != NULL)
		buf_printf(b, ",\"%s_sha256\":\"%s\"", key, hex);
	free(hex);
}

/* A path that does not fit is cut, and its digest tells it from others. */
static void
put_path(struct buf *b, const char *key, const char *path,
    enum server_event_paths paths, size_t room)
{
	bool whole = true;

	if (paths == SERVER_EVENT_PATHS_NO)
		return;
	if (paths == SERVER_EVENT_PATHS_YES) {
		json_put_key(b, key);
		whole = json_put_string_cut(b, path, room);
	}
	if (!whole)
		buf_printf(b, ",\"%s_cut\":true", key);
	if (!whole || paths == SERVER_EVENT_PATHS_HASH)
		put_digest(b, key, path);
}

void
event_line_path(struct buf *b, const char *key, const char *path,
    enum server_event_paths paths)
{
	put_path(b, key, path, paths, PATHS_ROOM);
}

static void
put_fields(struct buf *b, const struct event *e)
{
	const struct event_schema *s = &event_schemas[e->type];

	for (size_t i = 0; s->texts[i] != NULL; i++)
		if (e->texts[i][0] != '\0')
			event_line_text(b, s->texts[i], e->texts[i]);
	for (size_t i = 0; s->numbers[i] != NULL; i++) {
		uint64_t n = MIN(e->numbers[i], NUMBER_MAX);

		if (strcmp(s->numbers[i], "seconds") == 0)
			json_put_ms(b, s->numbers[i], n);
		else
			json_put_number(b, s->numbers[i], n);
	}
}

void
event_line_claim(struct buf *b, const struct event *e,
    enum server_event_paths paths, const struct event_origin *o)
{
	const struct event_schema *s = &event_schemas[e->type];
	size_t room = s->paths[0] != NULL && s->paths[1] != NULL ?
	    PATHS_ROOM / 2 :
	    PATHS_ROOM;

	event_line_begin(b, s->name, "user", o);
	put_fields(b, e);
	for (size_t i = 0; s->paths[i] != NULL; i++)
		put_path(b, s->paths[i], e->paths[i], paths, room);
	event_line_end(b);
}

void
event_line_claimed(struct buf *b, const struct event *e)
{
	struct buf fields = { 0 };

	put_fields(&fields, e);
	json_put_key(b, "claimed");
	buf_put(b, "{", 1);
	if (buf_len(&fields) > 0) /* without the first comma */
		buf_put(b, buf_data(&fields) + 1, buf_len(&fields) - 1);
	buf_put(b, "}", 1);
	buf_clear(&fields);
}
