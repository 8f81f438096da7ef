/* SPDX-License-Identifier: ISC */
/*
 * What the user's process tells the monitor for the log of events (EventLog):
 * the fields of each kind of event, and their form in a MONITOR_EVENT request.
 * The schema of the lines is in docs/EVENTS.md.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_SERVER_EVENTS_EVENT_H
#define HPN_SERVER_EVENTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum {
	EVENT_TEXTS = 3,   /* most texts of an event */
	EVENT_PATHS = 2,   /* most paths */
	EVENT_NUMBERS = 8, /* most numbers */
	EVENT_TEXT_MAX = 1024,	   /* bytes of a text */
	EVENT_PATH_MAX = 8 * 1024, /* bytes of a path */
};

enum event_type {
	EVENT_SESSION_OPEN,
	EVENT_SESSION_CLOSE,
	EVENT_TRANSFER,
	EVENT_DELETE,
	EVENT_RENAME,
	EVENT_SUMMARY,
	EVENT_CONNECTION, /* no line of its own: "claimed" of conn-close */
	EVENT_TYPE_COUNT
};

/* Names of an event and of its fields, in the order of struct event; NULL ends
 * each list. */
struct event_schema {
	const char *name;
	const char *texts[EVENT_TEXTS + 1];
	/* What a text may be; NULL: anything. */
	const char *const *words[EVENT_TEXTS];
	const char *paths[EVENT_PATHS + 1];
	const char *numbers[EVENT_NUMBERS + 1];
};
extern const struct event_schema event_schemas[EVENT_TYPE_COUNT];

/* Texts and paths are borrowed; NULL is told as an empty one. A number whose
 * key is "seconds" is in milliseconds. */
struct event {
	enum event_type type;
	const char *texts[EVENT_TEXTS];
	const char *paths[EVENT_PATHS];
	uint64_t numbers[EVENT_NUMBERS];
};

/* Appends e. Texts that are too long are cut. */
void event_put(struct buf *b, const struct event *e);

/* An event that was received, with copies of its texts. */
struct event_copy {
	struct event e;
	char *owned[EVENT_TEXTS + EVENT_PATHS];
};
/* Takes one event. ERR_PROTOCOL, ERR_LIMIT: it is malformed. The caller clears
 * *out in either case. */
int event_get(struct rd *in, struct event_copy *out) must_check;
void event_copy_clear(struct event_copy *c);

#endif
