/* SPDX-License-Identifier: ISC */
/*
 * The user's session (RFC 4254 section 6): a channel with terminal,
 * environment and command, tied to standard input and output.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CLIENT_SESSION_H
#define HPN_CLIENT_CLIENT_SESSION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "packet.h"

struct session;

/* All borrowed; they outlive the session. */
struct session_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels;
	const char *command; /* NULL: a shell */
	bool subsystem;	     /* command is the name of one */
	bool tty;
	bool peer_is_openssh; /* knows eow@ and no-more-sessions@ */
	bool ahead;	      /* session_attach() will be called later */
	bool quiet;	      /* no words to the user */
	/* In place of standard input and output; NULL: these. */
	const struct channel_io *io;
	void *io_arg;
	/* The session ended; exit status in session_status(). The callee
	 * stops the loop. */
	void (*ended)(void *arg);
	void *arg;
};

int session_new(struct session **out,
    const struct session_params *params) must_check;
/* Asks for everything at once, as if the server had opened the channel with
 * the number 0. Nothing local happens until session_attach(). */
void session_ask_ahead(struct session *s);
/* The user is authenticated: the terminal and the standard descriptors may
 * be taken over as soon as the channel is open. */
void session_attach(struct session *s);
/* Leaves raw mode, and the channel. */
void session_free(struct session *s);
/* NULL once it is closed. */
struct channel *session_channel(const struct session *s);
/* Of the remote command; 255 if it is not known. */
int session_status(const struct session *s);
/* The terminal was resized. */
void session_resized(struct session *s);

#endif
