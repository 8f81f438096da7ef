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
struct session_events;
struct sessions;
struct forward_tunnels;

enum {
	SESSION_ENV_MAX = 256,	     /* variables that a client may set in a
				      * session */
	SESSION_ENV_BYTES = 64 * 1024, /* bytes of the value of a variable */
	SESSION_COMMAND_MAX = 256 * 1024, /* bytes of a command */
};

/* All arguments are borrowed. p and k are asked whether the connection is
 * unencrypted. nologin: the text of /etc/nologin, if the process is below a
 * ChrootDirectory, where it cannot read that; or NULL. */
struct sessions *sessions_new(struct loop *l, const struct packet *p,
    struct kex *k, const struct serve_params *params, const char *nologin);
/* Sets the tunnels that SSH_TUNNEL names in sessions that start later;
 * borrowed. */
void sessions_set_tunnels(struct sessions *ss,
    const struct forward_tunnels *tunnels);
/* Sets who is told of sessions and of what they move; borrowed, and to be freed
 * after the sessions. */
void sessions_set_events(struct sessions *ss, struct session_events *events);
/* Ends all sessions: closes their terminals and pipes, by which their processes
 * notice it. */
void sessions_free(struct sessions *ss);
/* Handlers in the table of services.c: for channels of the type "session", and
 * for no-more-sessions@openssh.com, after which the client may open no further
 * one. */
int sessions_open(const struct service_owners *o, struct channel *c,
    struct rd *data);
int sessions_no_more(const struct service_owners *o, struct rd *data,
    struct buf *reply);
/* Is called when the connection is lost (waits true), and when there is
 * another. In between nobody gets to the client's agent, so that no request of
 * then is signed later. */
void sessions_wait(struct sessions *ss, bool waits);
/* True if there was a session, and all have ended. */
bool sessions_are_over(const struct sessions *ss);

/* What the child process of a session runs, and how. All is borrowed. */
struct session_start {
	const struct serve_params *params;
	struct session_plan plan;
	const char *subsystem; /* name, or NULL */
	const char *term;      /* value of TERM; NULL without a terminal */
	const char *tty;       /* path of the terminal, or NULL */
	const struct strlist *env; /* variables from the client */
	const char *auth_info_path; /* for SSH_USER_AUTH, or NULL */
	const char *tunnels; /* value of SSH_TUNNEL, or NULL */
	const char *agent_path; /* socket of a forwarded agent, or NULL */
	const struct display_names *display; /* NULL: no X11 */
	const char *greeting;  /* text of the monitor to show before the shell,
				* or NULL */
	/* Text of /etc/nologin: the process only shows it, and ends. NULL: the
	 * session may run. */
	const char *nologin;
	int fd_in, fd_out, fd_err; /* become 0, 1, 2 */
};

/* The text of /etc/nologin, which forbids all users but the superuser to log
 * in. NULL: the file does not exist, or does not apply to u. Caller frees. */
char *session_nologin(const struct user *u);
/* Whether there is a sshrc of the system. It runs before each session unless
 * ~/.ssh/rc does. */
bool session_has_system_rc(void);
/* Runs the session in the new child process; never returns. */
_Noreturn void session_child(const struct session_start *s);
/* The environment of the session, ended by NULL. Allocated; the caller executes
 * a program with it. */
char **session_environment(const struct session_start *s);
/* ExposeAuthInfo: writes a file with a line for each method that succeeded.
 * Returns its path, which the caller frees; NULL: there is none. */
char *session_auth_info(const struct serve_params *p);

#endif
