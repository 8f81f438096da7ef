/* SPDX-License-Identifier: ISC */
/*
 * What the listener knows and every connection needs: the configuration
 * as parsed, the host keys, how to log. It is written once, into a file that
 * exists in memory only, and read by each hpnsshd-session from there: no
 * connection reads or parses files again.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_STATE_H
#define HPN_SERVER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/server-conf.h"
#include "server/decoys.h"
#include "server/hostkeys.h"

/* In the system log all processes are called as OpenSSH's sshd is, since
 * programs that read logs look for that name. */
#define STATE_SYSLOG_NAME "sshd" /* until LogName is known */

/* Descriptors that hpnsshd-session is started with. */
enum {
	STATE_FD_SOCKET = 3, /* the connection */
	STATE_FD_STATE = 4,  /* the file in memory */
	STATE_FD_STARTUP = 5, /* a pipe to the listener */
	STATE_FD_FIRST_FREE,
};
/* Its name (argv[0], which ps(1) shows) if descriptor 3 is a socket that the
 * connection will come from. */
#define STATE_NAME_WAITS "hpnsshd-session: [waiting]"

/* Bytes on that pipe: an enum penalty_class, whenever the connection has come
 * to deserve a higher one should it end without authentication; or this. */
enum { STATE_AUTHENTICATED = 0xff };

struct server_state {
	struct server_conf conf;
	struct hostkeys keys;
	struct decoys decoys;
	int oom_before;	    /* server/oom.h: of the listener */
	uint8_t salt[32];   /* secret; for delays that differ by user */
	bool log_to_stderr; /* -e, -E, -d; else to syslog */
	bool once;	    /* -d: the connection's end is sshd's */
	char *auth_path; /* of hpnsshd-auth; owned */
	char *user_path; /* of hpnsshd-user; owned */
	char *chroot;	 /* for hpnsshd-auth; owned; NULL: not the superuser */
	uint32_t auth_uid, auth_gid; /* for hpnsshd-auth, with chroot */
};

void state_clear(struct server_state *s); /* wipes */

/* A new sealed descriptor, close-on-exec; ERR_SYSTEM, ERR_NOMEM. */
int state_to_fd(const struct server_state *s, int *fd) must_check;
/* Instead of *fd, a new one with other decoys: the listener holds no host keys
 * any more, and does not get them by this. */
int state_renew_decoys(int *fd, const struct decoys *d) must_check;
/* s is initialised here. */
int state_from_fd(struct server_state *s, int fd) must_check;

/* LogVerbose of conf counts from now on. */
void state_log_locations(const struct server_conf *conf);

/* A helper program of ours: the given path, or beside this executable if
 * that runs from the tree it was built in, or as installed. Caller frees. */
char *state_helper_path(const char *configured, const char *name);

#endif
