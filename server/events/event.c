/* SPDX-License-Identifier: ISC */
#include "server/events/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const kinds[] = { "shell", "exec", "subsystem", NULL };
static const char *const ops[] = { "get", "put", NULL };
static const char *const results[] = { "done", "part", "failed", NULL };
static const char *const holders[] = { "", "receive-buffer", "send-buffer",
	"path", "idle", NULL };

const struct event_schema event_schemas[EVENT_TYPE_COUNT] = {
	[EVENT_SESSION_OPEN] = { "session-open",
	    .texts = { "kind", "command", "job" },
	    .words = { kinds },
	    .numbers = { "session" } },
	[EVENT_SESSION_CLOSE] = { "session-close", .numbers = { "session" } },
	[EVENT_TRANSFER] = { "transfer",
	    .texts = { "op", "result" },
	    .words = { ops, results },
	    .paths = { "path" },
	    .numbers = { "session", "bytes_read", "bytes_written",
		"seconds" } },
	[EVENT_DELETE] = { "delete", .paths = { "path" },
	    .numbers = { "session" } },
	[EVENT_RENAME] = { "rename", .paths = { "path", "to" },
	    .numbers = { "session" } },
	[EVENT_SUMMARY] = { "transfer-summary",
	    .numbers = { "files_read", "files_written", "bytes_read",
		"bytes_written", "deletes", "renames", "failures",
		"dropped" } },
	[EVENT_CONNECTION] = { "claimed",
	    .texts = { "cipher", "held_by" },
	    .words = { NULL, holders },
	    .numbers = { "bytes_in", "bytes_out", "rtt_us",
		"retransmissions", "busy_us", "receive_buffer_us",
		"send_buffer_us" } },
};

static size_t
count(const char *const *names)
{
	size_t n = 0;

	while (names[n] != NULL)
		n++;
	return n;
}

static void
put_text(struct buf *b, const char *text, size_t max)
{
	text = text != NULL ? text : "";
	buf_put_string(b, text, strnlen(text, max));
}

void
event_put(struct buf *b, const struct event *e)
{
	const struct event_schema *s = &event_schemas[e->type];

	buf_put_u8(b, (uint8_t)e->type);
	for (size_t i = 0; i < count(s->texts); i++)
		put_text(b, e->texts[i], EVENT_TEXT_MAX);
	for (size_t i = 0; i < count(s->paths); i++)
		put_text(b, e->paths[i], EVENT_PATH_MAX);
	for (size_t i = 0; i < count(s->numbers); i++)
		buf_put_u64(b, e->numbers[i]);
}

static bool
is_word(const char *text, const char *const *words)
{
	for (; words != NULL && *words != NULL; words++)
		if (text != NULL && strcmp(text, *words) == 0)
			return true;
	return words == NULL;
}

int
event_get(struct rd *in, struct event_copy *out)
{
	uint8_t type = rd_u8(in);
	const struct event_schema *s;
	char **own = out->owned;

	memset(out, 0, sizeof *out);
	if (rd_err(in) != 0 || type >= EVENT_TYPE_COUNT)
		return ERR_PROTOCOL;
	s = &event_schemas[type];
	out->e.type = (enum event_type)type;
	for (size_t i = 0; i < count(s->texts); i++)
		out->e.texts[i] = *own++ = rd_cstring(in, EVENT_TEXT_MAX);
	for (size_t i = 0; i < count(s->paths); i++)
		out->e.paths[i] = *own++ = rd_cstring(in, EVENT_PATH_MAX);
	for (size_t i = 0; i < count(s->numbers); i++)
		out->e.numbers[i] = rd_u64(in);
	if (rd_err(in) != 0)
		return rd_err(in);
	for (size_t i = 0; i < count(s->texts); i++)
		if (!is_word(out->e.texts[i], s->words[i]))
			return ERR_PROTOCOL;
	return 0;
}

void
event_copy_clear(struct event_copy *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->owned); i++)
		free(c->owned[i]);
	memset(c, 0, sizeof *c);
}
