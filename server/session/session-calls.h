/* SPDX-License-Identifier: ISC */
/*
 * What the session process asks the monitor. Each call blocks until the answer
 * is there.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_CALLS_H
#define HPN_SERVER_SESSION_SESSION_CALLS_H

#include "server/monitor-wire.h"
#include "server/pty.h"

/* The exchange hash of a rekey. */
int monitor_sign_rekey(int fd, const char *alg, struct span hash,
    struct buf *signature) must_check;
/* ERR_NOT_FOUND: it is no host key of ours. */
int monitor_prove(int fd, const char *rsa_alg, struct span blob,
    struct buf *signature) must_check;

/* A new terminal of the user's, with the login on it on record. ERR_DENIED:
 * there is none for this login, or no more of them. */
struct monitor_pty {
	int master, slave; /* close-on-exec, owned */
	char name[PTY_NAME_MAX];
	char *text; /* that the user should see; NULL: none. Owned */
};
int monitor_pty(int fd, struct monitor_pty *out) must_check;
int monitor_pty_end(int fd, const char *name) must_check;

#endif
