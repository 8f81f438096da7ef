/* SPDX-License-Identifier: ISC */
/*
 * A session (RFC 4254 section 6): a channel with terminal, environment and
 * command, tied to descriptors of the user.
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

/* What happens to the descriptors and the terminal while a session has them.
 * hpnssh's own: session_stdio_own(). A shared connection, whose
 * sessions have descriptors of another process, does something else. */
struct session_stdio_ops {
	/* Raw mode of the terminal, if it is one. Is it raw now? */
	bool (*set_raw)(void *arg, bool on);
	/* Off: as they were before. */
	void (*set_nonblock)(void *arg, bool on);
	/* The session will read nothing more from in. */
	void (*end_input)(void *arg);
	/* The session will write nothing more to out: who reads it shall
	 * know. */
	void (*end_output)(void *arg);
};

/* A mux client, whose session it is: what that hears in place of the log. arg
 * is that of the session. */
struct session_mux_client {
	void (*opened)(void *arg); /* the server has it */
	void (*no_tty)(void *arg); /* the server has no terminal for it */
	void (*say)(void *arg, const char *line); /* without its end */
};

/* The user's side of a session. Descriptors are borrowed. */
struct session_stdio {
	int in, out, err;
	int terminal;	  /* has the size and the modes; may be none */
	const char *term; /* type of the terminal; NULL: not known */
	const struct session_stdio_ops *ops; /* NULL: nothing is done */
	void *arg;
};

/* All borrowed; they outlive the session. */
struct session_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels;
	struct forwards *forwards; /* for ~C; NULL: there are none */
	const char *command; /* NULL: a shell */
	bool subsystem;	     /* command is the name of one */
	bool tty;	     /* a terminal for it is wanted */
	uint32_t peer_traits; /* of the server: peer-version.h */
	bool attach_later;    /* begins only when session_attach() is called */
	bool quiet;	      /* no messages for the user */
	uint64_t began_ms;    /* the connection; base/clock.h */
	/* Variables, each NAME=value. NULL: what SendEnv and SetEnv choose. */
	const struct strlist *env;
	/* NULL: the session is this process's. */
	const struct session_mux_client *mux_client;
	/* NULL: neither agent nor display. */
	struct private_forwards *private_forwards;
	bool no_agent, no_display; /* for this session all the same */
	struct session_stdio stdio;
	/* The io in place of stdio.in and out, and of a terminal; NULL:
	 * these. */
	const struct channel_io *io;
	void *io_arg;
	/* The session ended; exit status in session_status(). The callee
	 * stops the loop. */
	void (*ended)(void *arg);
	void *arg;
};

int session_new(struct session **out,
    const struct session_params *params) must_check;
/* Sends all requests at once, as if the server had opened the channel with
 * the number 0. Nothing local happens until session_attach(). Without this
 * the server is not asked for anything before session_attach(). */
void session_open_optimistically(struct session *s);
/* The user is authenticated: the terminal and the descriptors may be used as
 * soon as the channel is open. */
void session_attach(struct session *s);
/* Leaves raw mode, and the channel. */
void session_free(struct session *s);
/* The channel of the session; NULL once it is closed. */
struct channel *session_channel(const struct session *s);
/* The exit status of the remote command; 255 if it is not known. */
int session_status(const struct session *s);
/* The terminal was resized. */
void session_resized(struct session *s);

#endif
