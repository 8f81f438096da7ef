/* SPDX-License-Identifier: ISC */
/*
 * A session (RFC 4254 section 6): a channel on which the server runs a shell, a
 * command or a subsystem, connected to descriptors of the user.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_CLIENT_SESSION_H
#define HPN_CLIENT_SESSION_CLIENT_SESSION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "packet.h"

struct forwards;
struct private_forwards;
struct session;

/* Operations on the descriptors and the terminal of a session. Those for
 * hpnssh's own descriptors are in session_stdio_own(). A master has others,
 * because its mux clients' descriptors belong to other processes. */
struct session_stdio_ops {
	/* Sets or leaves raw mode, if there is a terminal. Returns whether it
	 * is in raw mode now. */
	bool (*set_raw)(void *arg, bool on);
	/* Makes the descriptors non-blocking; off: as they were before. */
	void (*set_nonblock)(void *arg, bool on);
	/* The session will read no more from in: it may be given up. */
	void (*end_input)(void *arg);
	/* The session will write no more to out: whoever reads from it has to
	 * see its end now. */
	void (*end_output)(void *arg);
};

/* For a session of a mux client: what the mux client has to be told. arg is
 * that of session_params. */
struct session_mux_client {
	void (*opened)(void *arg); /* the server has opened the channel */
	void (*no_tty)(void *arg); /* the server gave it no terminal */
	void (*say)(void *arg, const char *line); /* line has no line end */
};

/* The user's side of a session. Descriptors are borrowed. */
struct session_stdio {
	int in, out, err;
	int terminal;	  /* descriptor that gives the terminal's size and
			   * modes; may be no terminal */
	const char *term; /* type of the terminal; NULL: not known */
	/* NULL: no operations are needed */
	const struct session_stdio_ops *ops;
	void *arg;
};

/* The pointers are borrowed and have to outlive the session. */
struct session_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels;
	struct forwards *forwards; /* for ~C and ~&; NULL: the connection cannot
				    * forward */
	const char *command; /* NULL: a shell */
	bool subsystem;	     /* command is the name of a subsystem */
	bool tty;	     /* ask the server for a terminal */
	uint32_t peer_traits; /* what the server's program is known to do
			       * (peer-version.h) */
	bool attach_later;    /* send no requests and no data before
			       * session_attach() is called */
	bool quiet;	      /* no messages for the user */
	uint64_t began_ms;    /* clock_ms() when the user was authenticated */
	/* The environment variables to send, each NAME=value. NULL: those that
	 * SendEnv and SetEnv choose. */
	const struct strlist *env;
	/* NULL: the session is this process's own. */
	const struct session_mux_client *mux_client;
	/* Forwards the agent and the display; NULL: neither. */
	struct private_forwards *private_forwards;
	bool no_agent, no_display; /* not for this session, even if
				    * private_forwards has them */
	struct session_stdio stdio;
	/* If not NULL, data goes through io (with io_arg) instead of stdio.in
	 * and stdio.out, and there is no terminal. */
	const struct channel_io *io;
	void *io_arg;
	/* Called once, when the session has ended; session_status() has its
	 * exit status. */
	void (*ended)(void *arg);
	/* Called when something is typed while the connection is lost. May be
	 * NULL. */
	void (*typed)(void *arg);
	void *arg;
};

int session_new(struct session **out,
    const struct session_params *params) must_check;
/* Sends the requests at once, as if the server had opened the channel with the
 * number 0. No local descriptor is used until session_attach(). Without this,
 * the requests are sent when session_attach() was called and the channel is
 * open. */
void session_open_optimistically(struct session *s);
/* The user is authenticated: the terminal and the descriptors may be used as
 * soon as the channel is open. */
void session_attach(struct session *s);
/* Leaves raw mode and closes the channel. s may be NULL. */
void session_free(struct session *s);
/* The channel of the session; NULL once it is closed. */
struct channel *session_channel(const struct session *s);
/* The exit status of the remote command; 255 if it is not known. */
int session_status(const struct session *s);
/* Is called when the connection is lost (waits true), and when the session goes
 * on. In between escape sequences work, and other typed keys are dropped:
 * nobody should type commands without seeing them. */
void session_waits(struct session *s, bool waits);
/* The terminal was resized: tells the server the new size. */
void session_resized(struct session *s);

#endif
