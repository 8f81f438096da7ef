/* SPDX-License-Identifier: ISC */
/*
 * Between client-session.c and its escape sequences.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_CLIENT_SESSION_INTERNAL_H
#define HPN_CLIENT_SESSION_CLIENT_SESSION_INTERNAL_H

#include "client/session/client-session.h"
#include "client/session/escape.h"

enum {
	SESSION_ESCAPES_MAX = 16, /* waiting to be run */
	SESSION_LINE_MAX = 1024,  /* bytes of a command line */
};

enum session_state {
	SESSION_OPENING,   /* the channel is not there yet */
	SESSION_OPENED,	   /* nothing was asked for on it yet */
	SESSION_REQUESTED, /* the requests that start it were sent, maybe
			      early: before the channel is there */
	SESSION_ATTACHED,  /* its descriptors move bytes */
	SESSION_OVER,	   /* ended() was called */
};

struct session {
	struct session_params p;
	enum session_state state;
	struct channel *channel;
	const char *start_name; /* request that starts it, for texts */
	bool tty;	    /* the server has a terminal for it */
	bool raw;	    /* ours is in raw mode for it */
	bool may_attach;    /* session_attach() was called, or need not be */
	bool output_failed; /* something could not be written */
	int status;

	struct escape escape;
	const struct escape_row *found[SESSION_ESCAPES_MAX];
	size_t found_count;
	struct loop_timer *escape_timer;
	struct buf shown; /* what the terminal has not taken yet */
	struct loop_timer *show_timer;
	/* ~C: the line so far, and what was typed since. */
	char line[SESSION_LINE_MAX];
	size_t line_len;
	uint8_t typed[SESSION_LINE_MAX];
	size_t typed_count;
};

void session_escapes_init(struct session *s);
void session_escapes_clear(struct session *s);
/* The text is shown on the terminal. */
void session_show(struct session *s, const char *text);

/* client-session-line.c, for ~C. begin is its escape_row.run; typed notes a
 * byte, and take does what was typed. */
void session_line_begin(void *arg);
void session_line_typed(struct session *s, uint8_t ch);
void session_line_take(struct session *s);

void session_set_raw(struct session *s, bool on);
void session_set_nonblock(struct session *s, bool on);
/* The session is over with this status, whatever the server does. */
void session_abort(struct session *s, int status);

#endif
