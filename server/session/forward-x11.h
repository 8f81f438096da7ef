/* SPDX-License-Identifier: ISC */
/*
 * X11 forwarding, on the server (RFC 4254 section 6.3): a display for a
 * session, which is a socket on this host whose connections become channels
 * to the client's display. It goes with its session; connections stay.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_X11_H
#define HPN_SERVER_SESSION_FORWARD_X11_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "forward/forwarded.h"
#include "server/session/serve.h"

struct displays; /* of a connection */
struct display;  /* of a session */

/* What the session's process needs; borrowed from the display. Protocol and
 * cookie are the client's, and have harmless characters only. */
struct display_names {
	const char *display; /* for DISPLAY */
	const char *entry;   /* for xauth */
	const char *protocol, *cookie;
};

/* X11 may be forwarded, by configuration and permits of this login, and with a
 * program that keeps cookies; else the reason was logged. */
bool displays_are_allowed(const struct serve_params *p);

/* All borrowed. */
struct displays *displays_new(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p);
/* Every display was closed before. NULL is fine. */
void displays_free(struct displays *ds);

/* Reads the fields of the request x11-req. An enum channel_answer, or an
 * error. */
int display_open(struct display **out, struct displays *ds, struct rd *data);
/* NULL is fine. */
void display_close(struct display *d);
/* d NULL: NULL. */
const struct display_names *display_names(const struct display *d);

#endif
