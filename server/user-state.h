/* SPDX-License-Identifier: ISC */
/*
 * The state that the user's process (hpnsshd-user) gets from the monitor. The
 * monitor has executed it afresh, so it inherits no memory. The state comes in
 * two messages over the socket between the two. The first has no secret in it,
 * so that processes that must hold no secret can be forked before the second
 * message, with the keys of the connection, is read.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_USER_STATE_H
#define HPN_SERVER_USER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "conf/server-conf.h"
#include "server/grant.h"
#include "server/hostkeys.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/user.h"

enum {
	USER_STATE_MAX = 64 * 1024 * 1024, /* bytes of the first message */

	/* Descriptors that hpnsshd-user is started with, beside 0, 1 and 2. */
	USER_FD_SOCKET = 3,  /* the connection */
	USER_FD_MONITOR = 4, /* socket to the monitor */
};

/* After an import the struct owns all that it points to. For an export it may
 * be borrowed. */
struct user_state {
	struct server_conf conf; /* as Match blocks make it for this user */
	struct user user;
	struct permits permits; /* what this login may do */
	struct peer peer;
	char *peer_text; /* "address port n" */
	char *remote;	 /* "address-n" */
	char *id_local; /* our identification line, which key exchanges hash */
	struct hostkeys keys;	   /* public halves */
	char *gss_kex;		   /* key exchange methods of GSSAPI; or NULL */
	struct strlist login_env;  /* variables that came with the login */
	struct strlist client_lines; /* as of struct login */
	struct buf auth_info;	   /* lines for the file of SSH_USER_AUTH */
	/* Scope of the grant by which this connection logged in; path NULL: it
	 * logged in otherwise. */
	struct grant_scope grant;
	bool must_change;	   /* sessions may only change the password */
	uint64_t began_ms;	   /* begin of the connection, monotonic
				    * clock */
	/* Path of the credentials cache, which is removed at the end if the
	 * monitor has ended by then; or NULL. */
	char *ccache;
	pid_t monitor;
	/* Label that PAM has set for the next program that is executed
	 * (SELinux); or NULL. */
	char *exec_label;
	bool keep_caps;	  /* PR_SET_KEEPCAPS, as PAM has set it */
	/* How the monitor logs: the user's process does the same. */
	int log_level;
	struct strlist log_locations; /* see log_set_locations() */
	bool log_to_stderr;
	/* The second message of the two; secret. */
	struct buf packet_state, kex_state;
};

/* Writes the first message. Of host keys it has the public halves only. */
int user_state_export(const struct user_state *s, struct buf *out) must_check;
/* Initialises s and reads the first message. The caller clears s also after an
 * error. ERR_FORMAT: it is malformed, or written by another version of the
 * programs. ERR_LIMIT. */
int user_state_import(struct user_state *s, struct rd *in) must_check;
void user_state_export_keys(const struct user_state *s, struct buf *out);
int user_state_import_keys(struct user_state *s, struct rd *in) must_check;
void user_state_clear(struct user_state *s); /* frees all, and wipes secrets */

/* user_state_send() sends both messages; the other two functions receive one
 * each. */
int user_state_send(const struct user_state *s, int fd) must_check;
int user_state_receive(struct user_state *s, int fd) must_check;
int user_state_receive_keys(struct user_state *s, int fd) must_check;

#endif
