/* SPDX-License-Identifier: ISC */
/*
 * A host that files are moved to or from: its connections, and the SFTP
 * sessions on them. The connections are made in this process, or by a
 * program that is spawned (-S), or there is none and a local sftp-server is
 * spoken to (-D).
 *
 * Threads: the loop's.
 */
#ifndef HPN_CLIENT_REMOTE_H
#define HPN_CLIENT_REMOTE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "xfer/transfer/streams.h"

struct remote;

/* All borrowed; they outlive the remote. */
struct remote_params {
	struct loop *loop;
	const char *host, *user; /* user NULL: by configuration */
	int port;		 /* 0: by configuration */
	/* As for hpnssh, in order: "-v", "-oX=y", "-i", file, "-F", file. */
	const struct strlist *options;
	const char *program; /* -S: spawned as ssh would be; NULL: none */
	const char *server;  /* -D: command of a local server; NULL: a host */
	/* Of the host: the name of a subsystem, or a server program's path
	 * (it has a '/'). NULL: "sftp". */
	const char *subsystem;
	/* -z: data in clear once the user is authenticated, or not at all. */
	bool clear;
	/* Bytes of large files that will be moved, 0: unknown; and how many
	 * connections that is to take, 0: as it pays. */
	uint64_t bulk;
	unsigned connections;
	/* A connection that is silent for long counts as lost, even if the
	 * configuration does not say so. */
	bool watched;
};

/* Begins. 0, or an error that the user was told. */
int remote_open(struct remote **out,
    const struct remote_params *params) must_check;
/* The first session, until it is closed by remote_streams(). INIT is its first
 * output, and what is asked at once goes right behind it. */
struct sftp *remote_sftp(struct remote *r);
/* More of them. */
struct xfer_streams remote_streams(struct remote *r);
/* Ends all; sessions that live are freed. The exit status that ssh would
 * have: 0, 255 when the connection failed, or the server program's. */
int remote_close(struct remote *r);

#endif
