/* SPDX-License-Identifier: ISC */
/*
 * A host that files are copied to or from: its connections, and the SFTP
 * sessions on them. This process makes the connections itself, or spawns a
 * program for each of them (-S). With -D there is no host: it spawns a local
 * SFTP server.
 *
 * Threads: the loop's.
 */
#ifndef HPN_CLIENT_COPY_REMOTE_H
#define HPN_CLIENT_COPY_REMOTE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "xfer/state/streams.h"

struct login_ticket;
struct remote;
struct report;

/* What the configuration of a host says of copies: CopyConnections and the
 * like, for options that the command line does not give. */
struct remote_copy {
	unsigned connections, retries;
	bool verify, resume, preserve;
};

/* All is borrowed, and must live longer than the remote. */
struct remote_params {
	struct loop *loop;
	const char *host, *user; /* user NULL: by configuration */
	int port;		 /* 0: by configuration */
	/* Options for hpnssh, in order, such as: "-v", "-oX=y", "-i", file,
	 * "-F", file. */
	const struct strlist *options;
	/* -S: the program in place of the connection, called as ssh is; NULL:
	 * none */
	const char *program;
	/* -D: command of a local SFTP server; NULL: there is a host */
	const char *server;
	/* What serves SFTP on the host: the name of a subsystem, or the path
	 * of a program (it has a '/'). NULL: "sftp". */
	const char *subsystem;
	/* -z: no encryption once the user is authenticated. If the server does
	 * not allow that, the connection fails. */
	bool clear;
	/* bulk: bytes that will be moved in large files; 0: unknown.
	 * connections: how many to use; 0: as many as make the copy faster. */
	uint64_t bulk;
	unsigned connections;
	/* --retry: a connection that is silent for long counts as lost, even if
	 * the configuration has no ServerAliveInterval or ConnectTimeout. */
	bool watched;
	/* Is filled in with what the host's configuration says of copies,
	 * before the host is connected to; not with program or server. Where
	 * the user did not give them (see below), connections and watched are
	 * then set from it. NULL: the configuration's keywords for copies are
	 * ignored. */
	struct remote_copy *copy;
	bool connections_given, retry_given;
	/* The ticket that remote_back() of an earlier remote gave: with it the
	 * first connection takes the place of a lost one. NULL, or kind 0:
	 * there is none. */
	const struct login_ticket *back;
	struct report *report; /* is told of each connection; may be NULL */
};

/* Begins to connect. 0, or an error that was logged. */
int remote_open(struct remote **out,
    const struct remote_params *params) must_check;
/* The first SFTP session, until the close hook of remote_streams() is called
 * for it; then NULL. Requests that are made before the host is connected leave
 * together with the session's INIT. */
struct sftp *remote_sftp(struct remote *r);
/* True if err, with which a session ended, comes from its connection: then the
 * connection has told the user more. ERR_DENIED: the next connection would be
 * refused, too; ERR_TIMEOUT: the host was silent; ERR_CLOSED: any other. */
bool remote_err_is_told(int err);
/* Why the first connection to a host ended or could not be made; of several
 * hosts the last one. This is more exact than the error of its sessions. 0:
 * none has ended. */
int remote_last_end(void);
/* The first connection has logged in. False where another process has it. */
bool remote_is_up(const struct remote *r);
/* The connection of that index among those that have logged in; for callers who
 * ask the kernels about them. NULL: there are not so many, or another process
 * has the connection. */
struct sshclient;
const struct sshclient *remote_client(const struct remote *r, unsigned index);
/* The configuration for the host, known once a connection was begun;
 * borrowed. */
struct client_conf;
const struct client_conf *remote_conf(const struct remote *r);
/* Opens and closes the SFTP sessions of the host, for a transfer. */
struct xfer_streams remote_streams(struct remote *r);
/* Copies the ticket with which a new first connection may replace lost ones
 * without asking the user. False: there is none. The caller wipes it. */
bool remote_back(const struct remote *r, struct login_ticket *out);
/* Ends the connections, and frees r with the sessions that are left. Returns
 * the exit status that ssh would have: 0, that of the server's program, or 255
 * if the connection failed. */
int remote_close(struct remote *r);

#endif
