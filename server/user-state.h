/* SPDX-License-Identifier: ISC */
/*
 * What the user's process (hpnsshd-user) gets from the monitor, which has
 * executed it afresh: it has nothing else of the monitor's. It comes in two
 * messages over the socket between the two. The first has no secret in it, so
 * that processes which are to hold none can be forked before the second, the
 * keys of the connection, is read.
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
#include "server/hostkeys.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/user.h"

enum {
	USER_STATE_MAX = 64 * 1024 * 1024, /* bytes of the first message */

	/* Descriptors that hpnsshd-user is started with, beside 0, 1 and 2. */
	USER_FD_SOCKET = 3,  /* the connection */
	USER_FD_MONITOR = 4, /* to the monitor */
};

/* Of an import everything is owned; what is exported may be borrowed. */
struct user_state {
	struct server_conf conf; /* for this user */
	struct user user;
	struct permits permits; /* what this login may do */
	struct peer peer;
	char *peer_text; /* "address port n" */
	char *remote;	 /* "address-n" */
	char *id_local; /* identification line, which key exchanges hash */
	struct hostkeys keys;	   /* public halves */
	char *gss_kex;		   /* methods of GSSAPI; or NULL */
	struct strlist login_env;  /* that came with the login */
	struct buf auth_info;	   /* lines for SSH_USER_AUTH */
	bool must_change;	   /* sessions change the password, no more */
	uint64_t began_ms;	   /* the session, monotonic */
	char *ccache;		   /* a file that is removed at the end if the
				    * monitor is not there any more; or NULL */
	pid_t monitor;
	char *exec_label; /* attribute for programs that are executed, as PAM
			   * has set it (SELinux); or NULL */
	bool keep_caps;	  /* a process's attribute, as PAM has set it */
	/* The log, as it is in the monitor. */
	int log_level;
	struct strlist log_locations; /* see log_set_locations() */
	bool log_to_stderr;
	/* The second message; secret. */
	struct buf packet_state, kex_state;
};

/* The first message, without private halves of keys. */
int user_state_export(const struct user_state *s, struct buf *out) must_check;
/* s is initialised here; clear it, also after an error: ERR_FORMAT, also if it
 * is of another version of the programs; ERR_LIMIT. */
int user_state_import(struct user_state *s, struct rd *in) must_check;
void user_state_export_keys(const struct user_state *s, struct buf *out);
int user_state_import_keys(struct user_state *s, struct rd *in) must_check;
void user_state_clear(struct user_state *s); /* wipes */

/* The state goes over the socket in two messages. */
int user_state_send(const struct user_state *s, int fd) must_check;
int user_state_receive(struct user_state *s, int fd) must_check;
int user_state_receive_keys(struct user_state *s, int fd) must_check;

#endif
