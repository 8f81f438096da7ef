/* SPDX-License-Identifier: ISC */
/*
 * The requests of the session process to the monitor (server/monitor-wire.h).
 * Each function blocks until the answer is there. ERR_DENIED: the monitor
 * refused.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_CALLS_H
#define HPN_SERVER_SESSION_SESSION_CALLS_H

#include "server/monitor-wire.h"
#include "server/pty.h"

/* Appends the host key's signature of a rekey's exchange hash. */
int monitor_sign_rekey(int fd, const char *alg, struct span hash,
    struct buf *signature) must_check;
/* Appends the signature that proves the host key with this blob; see
 * hostkeys_prove(). ERR_NOT_FOUND: the blob is of none of the host's keys. */
int monitor_prove(int fd, const char *rsa_alg, struct span blob,
    struct buf *signature) must_check;

/* A new terminal for the user, on which the system's records show a login.
 * ERR_DENIED: this login gets no terminal, or has too many. */
struct monitor_pty {
	int master, slave; /* close-on-exec, owned */
	char name[PTY_NAME_MAX];
	char *text; /* to show to the user; NULL: none; owned */
};
int monitor_pty(int fd, struct monitor_pty *out) must_check;
int monitor_pty_end(int fd, const char *name) must_check;

/* Asks the monitor for tickets: `beside` for connections beside this one,
 * `instead` for those in its place, or as many as are allowed. Appends them in
 * the form of the reply to tickets@hpnssh.org. *any: there is at least one. */
int monitor_tickets(int fd, uint32_t beside, uint32_t instead,
    struct buf *out, bool *any) must_check;
/* Asks the monitor for a grant; request: the fields of grant@hpnssh.org behind
 * its version. Appends the reply. *given: there is a grant. */
int monitor_grant(int fd, struct span request, struct buf *out,
    bool *given) must_check;
/* Takes a grant back. *over: it has ended, and so have all connections by it;
 * else they are about to. */
int monitor_grant_end(int fd, struct span name, bool *over) must_check;
/* Tells the monitor of the client's receipt; body: string name of a grant,
 * string SHA-256. */
void monitor_receipt(int fd, struct span body);
/* Tells the monitor that the connection is lost, and was not ended by either
 * side. */
void monitor_lost(int fd);
/* Asks the monitor that the session may survive its connection. Appends the
 * grant in the form of the reply to survive@hpnssh.org; sets *terms to the
 * granted terms, *fd to the socket of survive-talk.h. ERR_DENIED: it may
 * not. */
struct survive_terms;
int monitor_survive(int fd, struct survive_terms *terms, struct buf *out,
    int *survive_fd) must_check;
/* Tells the monitor that a session begins or has ended, for MaxSessionsPerUser.
 * ERR_DENIED: the user has as many as that allows. */
int monitor_session(int fd, bool begins) must_check;
/* Asks the monitor for the socket for datagrams about shares
 * (MONITOR_SHARE_WANT, _GOT); owned by the caller. */
int monitor_shares(int fd, int *shares_fd) must_check;

#endif
