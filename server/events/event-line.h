/* SPDX-License-Identifier: ISC */
/*
 * Lines of the log of events: one JSON object a line, at most EVENT_LINE_MAX
 * bytes, so that a line is written as a whole whatever the log is. The schema
 * is in docs/EVENTS.md.
 *
 * Threads: any; pure functions but for the clock.
 */
#ifndef HPN_SERVER_EVENTS_EVENT_LINE_H
#define HPN_SERVER_EVENTS_EVENT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "conf/server-conf.h"
#include "server/events/event.h"

enum {
	EVENT_LINE_MAX = 4096, /* bytes, with the newline */
	EVENT_CONN_LEN = 16,   /* digits of a connection's number */
};

/* What each line says of where it comes from. All is borrowed. */
struct event_origin {
	const char *host; /* this machine */
	const char *conn; /* a random number, hexadecimal; or NULL */
	pid_t pid;
	const char *user; /* NULL: none was named yet */
	bool has_uid;	  /* the user is authenticated */
	uid_t uid;
	const char *peer; /* the address; NULL: no connection */
	uint16_t port;
};

/* Begins a line. by: the source of the facts, "monitor", or "user" for claims
 * of the user's process. The caller appends fields with json_put_...(). */
void event_line_begin(struct buf *b, const char *event, const char *by,
    const struct event_origin *o);
void event_line_end(struct buf *b);

/* Appends a text field, cut to what a line has room for. */
void event_line_text(struct buf *b, const char *key, const char *text);

/* Appends a path as EventPaths says, for a line that has no other one. */
void event_line_path(struct buf *b, const char *key, const char *path,
    enum server_event_paths paths);

/* Appends a line for an event of the user's process. */
void event_line_claim(struct buf *b, const struct event *e,
    enum server_event_paths paths, const struct event_origin *o);
/* Appends the fields of an EVENT_CONNECTION as an object "claimed". */
void event_line_claimed(struct buf *b, const struct event *e);

#endif
