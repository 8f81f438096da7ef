/* SPDX-License-Identifier: ISC */
/*
 * What the server may begin on this connection: the global requests that it may
 * send, and the channels that it may open. Each is a row of a table
 * (from-server.c), with the condition that allows it; all others are refused.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_FROM_SERVER_H
#define HPN_CLIENT_FORWARDS_FROM_SERVER_H

#include "base/err.h"
#include "channels.h"
#include "conf/client-conf.h"

struct forwards;
struct hostlearn;
struct private_forwards;

/* What the conditions and handlers of the table in from-server.c use. All is
 * borrowed. */
struct from_server {
	const struct client_conf *conf;
	/* NULL: the server's host keys are not learnt */
	struct hostlearn *hostlearn;
	/* NULL: neither agent nor display is forwarded. */
	struct private_forwards *private_forwards;
	struct forwards *forwards;   /* NULL: the connection cannot forward */
};

/* Registers the handlers that are allowed with chs. f must outlive chs. */
int from_server_allow(struct from_server *f, struct channels *chs) must_check;

#endif
