/* SPDX-License-Identifier: ISC */
/*
 * Between session.c and its escape sequences.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CLIENT_SESSION_INTERNAL_H
#define HPN_CLIENT_CLIENT_SESSION_INTERNAL_H

#include "client/client-session.h"
#include "client/escape.h"

enum { SESSION_ESCAPES_MAX = 16 /* waiting to be run */ };

struct session {
	struct session_params p;
	struct channel *channel;
	const char *start_name; /* request that starts it, for texts */
	bool tty, finished;
	bool asked;    /* the requests that start it are out */
	bool attached; /* our ends move bytes */
	bool output_failed; /* something could not be written */
	int status;

	struct escape escape;
	const struct escape_row *found[SESSION_ESCAPES_MAX];
	size_t found_count;
	struct loop_timer *escape_timer;
};

void session_escapes_init(struct session *s);
/* The session is over with this status, whatever the server does. */
void session_abort(struct session *s, int status);

#endif
