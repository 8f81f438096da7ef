/* SPDX-License-Identifier: ISC */
/*
 * What client-session.c shares with its escape sequences.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_CLIENT_SESSION_INTERNAL_H
#define HPN_CLIENT_SESSION_CLIENT_SESSION_INTERNAL_H

#include "client/session/client-session.h"
#include "client/session/escape.h"

enum {
	SESSION_ESCAPES_MAX = 16, /* sequences that may wait to be run */
	SESSION_LINE_MAX = 1024,  /* bytes of a command line */
};

enum session_state {
	SESSION_OPENING,   /* the channel is not there yet */
	SESSION_OPENED,	   /* the channel is open, no request was sent on it */
	SESSION_REQUESTED, /* the requests that start the session were sent,
			    * maybe before the channel is open */
	SESSION_ATTACHED,  /* data goes between the channel and the user's
			    * descriptors */
	SESSION_OVER,	   /* p.ended() was called */
};

struct session {
	struct session_params p;
	enum session_state state;
	struct channel *channel;
	const char *start_name; /* name of the request that starts it, for
				 * messages */
	bool tty;	    /* the session has a terminal at the server */
	bool raw;	    /* our terminal is in raw mode for this session */
	bool may_attach;    /* session_attach() was called, or p.attach_later is
			     * false */
	bool output_failed; /* output of the program could not be written */
	int status;

	struct escape escape;
	const struct escape_row *found[SESSION_ESCAPES_MAX];
	size_t found_count;
	struct loop_timer *escape_timer;
	struct buf shown; /* text that the terminal has not taken yet */
	struct loop_timer *show_timer;
	struct loop_fd *lost_watch; /* reads the terminal while the
				     * connection is lost */
	/* ~C: line is the command line so far; typed has the bytes that were
	 * typed since and are not handled yet. */
	char line[SESSION_LINE_MAX];
	size_t line_len;
	uint8_t typed[SESSION_LINE_MAX];
	size_t typed_count;
};

void session_escapes_init(struct session *s);
void session_escapes_clear(struct session *s);
/* Shows the text on the terminal, without waiting for the terminal. */
void session_show(struct session *s, const char *text);

/* The command line of ~C (client-session-line.c). session_line_begin() shows
 * its prompt (it is an escape_row.run), session_line_typed() only notes a byte,
 * and session_line_take() handles the bytes that were noted. */
void session_line_begin(void *arg);
void session_line_typed(struct session *s, uint8_t ch);
void session_line_take(struct session *s);

/* Calls the operation of p.stdio.ops, if there is one. */
void session_set_raw(struct session *s, bool on);
void session_set_nonblock(struct session *s, bool on);
/* Ends the session with this status, whatever the server does. */
void session_abort(struct session *s, int status);

#endif
