/* SPDX-License-Identifier: ISC */
/*
 * A host that files are copied to or from: its connections, and the SFTP
 * sessions on them. This process makes the connections itself, or spawns a
 * program for each (-S), or there is no host and it spawns a local SFTP
 * server (-D).
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

struct remote;

/* Defaults of copies to or from a host. */
struct remote_copy {
	unsigned connections, retries;
	bool verify, resume, preserve;
};

/* All is borrowed, and must live longer than the remote. */
struct remote_params {
	struct loop *loop;
	const char *host, *user; /* user NULL: by configuration */
	int port;		 /* 0: by configuration */
	/* As for hpnssh, in order: "-v", "-oX=y", "-i", file, "-F", file. */
	const struct strlist *options;
	const char *program; /* -S: called as ssh is; NULL: none is spawned */
	const char *server;  /* -D: command of a local server; NULL: a host */
	/* What serves SFTP on the host: the name of a subsystem, or the path
	 * of a program (it has a '/'). NULL: "sftp". */
	const char *subsystem;
	/* -z: no encryption once the user is authenticated; where that cannot
	 * be had there is no connection. */
	bool clear;
	/* Bytes of large files that will be moved (0: unknown), and how many
	 * connections to use (0: as many as make it faster). */
	uint64_t bulk;
	unsigned connections;
	/* A connection that is silent for long counts as lost, even if the
	 * configuration does not ask for alive messages or a time limit. */
	bool watched;
	/* Gets what the host's configuration says of copies, before it is
	 * connected to; from a program in place of the connection nothing.
	 * Then `watched` and `connections` above are as of it, unless the user
	 * gave them. NULL: it does not count. */
	struct remote_copy *copy;
	bool connections_given, retry_given;
};

/* Begins to connect. 0, or an error that was reported to the user. */
int remote_open(struct remote **out,
    const struct remote_params *params) must_check;
/* The first session, until it is closed by remote_streams(). Requests that are
 * made before the host is connected leave together with its INIT. */
struct sftp *remote_sftp(struct remote *r);
/* Of the errors that a session ends with, those of its connection, which tells
 * the user more. ERR_DENIED: the next one would be refused as well;
 * ERR_TIMEOUT: it was silent; ERR_CLOSED. */
bool remote_err_is_told(int err);
/* What the first connection to a host ended with, the last one of several, or
 * why it could not be made: ERR_*, more exactly than its sessions tell. 0: none
 * has ended. */
int remote_last_end(void);
/* The first connection of this process has logged in. */
bool remote_is_up(const struct remote *r);
/* All sessions, and how to open more of them. */
struct xfer_streams remote_streams(struct remote *r);
/* Ends the connections, and frees the sessions that are left. The exit status
 * that ssh would have: 0, the server program's, or 255 if the connection
 * failed. */
int remote_close(struct remote *r);

#endif
