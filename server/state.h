/* SPDX-License-Identifier: ISC */
/*
 * What the listener knows and every connection needs: the parsed configuration,
 * the host keys, how to log. The listener writes it once into a file that
 * exists only in memory, and each hpnsshd-session reads that. So no connection
 * reads configuration or keys from disk, or parses them.
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
#include "server/programs.h"

/* The name of all processes in the system log. It is that of OpenSSH's sshd,
 * since programs that read logs look for it. */
#define STATE_SYSLOG_NAME "sshd" /* before LogName is known */

/* Descriptors that hpnsshd-session is started with. */
enum {
	STATE_FD_SOCKET = 3, /* the connection */
	STATE_FD_STATE = 4,  /* the file in memory */
	STATE_FD_STARTUP = 5, /* a pipe to the listener */
	/* The programs of the connection's other processes, if the listener's
	 * own hpnsshd-session was executed by its open file (n_by_path in
	 * server/programs.h). */
	STATE_FD_AUTH = 6,
	STATE_FD_USER = 7,
	STATE_FD_FIRST_FREE,
	STATE_FD_COUNT = STATE_FD_FIRST_FREE - STATE_FD_SOCKET,
};
/* argv[0] of an hpnsshd-session that was started in advance; ps(1) shows it.
 * STATE_FD_SOCKET is then a socket over which the descriptor of the connection
 * arrives. */
#define STATE_NAME_WAITS "hpnsshd-session: [waiting]"

/* The session process writes bytes to STATE_FD_STARTUP: an enum penalty_class
 * whenever the connection deserves a higher penalty than before, in case it
 * ends without authentication; or STATE_AUTHENTICATED. */
enum { STATE_AUTHENTICATED = 0xff };

struct server_state {
	struct server_conf conf;
	struct hostkeys keys;
	struct decoys decoys;
	/* The listener's oom_before() (server/oom.h). */
	int oom_before;
	uint8_t salt[32];   /* secret; for auth_delay_us() */
	bool log_to_stderr; /* -e, -E or -d; false: to syslog */
	bool once;	    /* -d: sshd ends with the connection */
	struct program programs[PROGRAMS];
	/* Root directory for hpnsshd-auth; owned. NULL: sshd is not the
	 * superuser's. */
	char *chroot;
	uint32_t auth_uid, auth_gid; /* of hpnsshd-auth, if chroot is set */
};

void state_clear(struct server_state *s); /* frees all, and wipes secrets */

/* *fd: a new sealed file in memory with the state; close-on-exec. ERR_SYSTEM,
 * ERR_NOMEM. */
int state_to_fd(const struct server_state *s, int *fd) must_check;
/* Replaces *fd by a new file in memory with other decoys. The kernel copies the
 * rest of the file, so that the host keys, which the listener has wiped, do not
 * come back into its memory. */
int state_renew_decoys(int *fd, const struct decoys *d) must_check;
/* Initialises s and fills it from the file. The offset of fd stays. */
int state_from_fd(struct server_state *s, int fd) must_check;

/* Applies LogVerbose of conf to this process. */
void state_log_locations(const struct server_conf *conf);

/* Makes the directory of the pid file, the counters and the rendezvous; an
 * installation has made it already. An error shows when a file is written
 * there. */
void state_make_run_directory(void);

#endif
