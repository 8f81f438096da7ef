/* SPDX-License-Identifier: ISC */
/*
 * X11 forwarding, on the server (RFC 4254 section 6.3). A session gets a
 * display: a port of this host. Each connection to it becomes a channel to the
 * client's display. The port is closed with the session; connections that were
 * made go on.
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

struct displays; /* all displays of an SSH connection */
struct display;  /* the display of one session */

/* Texts that the session's process needs; borrowed from struct display.
 * protocol and cookie are from the client, and contain only characters that are
 * harmless in a command of xauth. */
struct display_names {
	const char *display; /* value of DISPLAY */
	const char *entry;   /* name of the display for xauth */
	const char *protocol, *cookie;
};

/* Whether X11 forwarding is allowed by the configuration and the permits of
 * this login, and xauth can be run, which stores the cookie. Logs the reason if
 * not. */
bool displays_are_allowed(const struct serve_params *p);

/* All arguments are borrowed. */
struct displays *displays_new(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p);
/* Must be called after every display was closed. NULL is fine. */
void displays_free(struct displays *ds);

/* Opens a display for a request x11-req, whose fields are read from data.
 * Returns an enum channel_answer, or a negative error. */
int display_open(struct display **out, struct displays *ds, struct rd *data);
/* NULL is fine. */
void display_close(struct display *d);
/* NULL if d is NULL. */
const struct display_names *display_names(const struct display *d);

#endif
