/* SPDX-License-Identifier: ISC */
/*
 * Session channels (RFC 4254 section 6): a shell, a command or a subsystem,
 * with or without a terminal.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_H
#define HPN_SERVER_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/str.h"
#include "channels.h"
#include "kex.h"
#include "packet.h"
#include "server/pty.h"
#include "server/session/serve.h"
#include "server/session/services.h"
#include "server/session-plan.h"

struct display_names;
struct sessions;
struct forward_tunnels;

enum {
	SESSION_ENV_MAX = 256,	     /* variables a client may set */
	SESSION_ENV_BYTES = 64 * 1024, /* of one of them */
	SESSION_COMMAND_MAX = 256 * 1024, /* bytes */
};

/* All is borrowed; p and k know if the connection is unencrypted. nologin: the
 * text of /etc/nologin, if these sessions cannot see it themselves; or NULL. */
struct sessions *sessions_new(struct loop *l, const struct packet *p,
    struct kex *k, const struct serve_params *params, const char *nologin);
/* Borrowed: what SSH_TUNNEL names in sessions that start later. */
void sessions_set_tunnels(struct sessions *ss,
    const struct forward_tunnels *tunnels);
/* Closes terminals and descriptors; processes notice by that. */
void sessions_free(struct sessions *ss);
/* Rows of services.c: a channel of type "session", and the client's promise
 * to open no further one. */
int sessions_open(const struct service_owners *o, struct channel *c,
    struct rd *data);
int sessions_no_more(const struct service_owners *o, struct rd *data,
    struct buf *reply);

/* What the child of a session is to run. */
struct session_start {
	const struct serve_params *params;
	struct session_plan plan;
	const char *subsystem; /* name, or NULL */
	const char *term;      /* TERM, with a terminal */
	const char *tty;       /* path, or NULL */
	const struct strlist *env; /* from the client */
	const char *auth_info_path; /* or NULL */
	const char *tunnels; /* interfaces, or NULL */
	const char *agent_path; /* socket of a forwarded agent, or NULL */
	const struct display_names *display; /* or NULL */
	const char *greeting;  /* text of the monitor's, or NULL */
	const char *nologin;   /* all there is to show, or NULL */
	int fd_in, fd_out, fd_err; /* become 0, 1, 2 */
};

/* The text of /etc/nologin, if that is there and for this user, else NULL.
 * Caller frees. */
char *session_nologin(const struct user *u);
/* There is a sshrc of the system, which goes before all that runs, unless
 * ~/.ssh/rc does. */
bool session_has_system_rc(void);
/* The new process runs the session, and never returns. */
_Noreturn void session_child(const struct session_start *s);
/* The environment, ended by NULL; caller frees (or executes). */
char **session_environment(const struct session_start *s);

#endif
