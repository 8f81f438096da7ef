/* SPDX-License-Identifier: ISC */
/*
 * What the server may begin here: the global requests that it may send, and
 * the channels that it may open. Each is a row with the condition that allows
 * it; all else is refused.
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

/* What decides whether a row of from-server.c is allowed, and what its handler
 * works with. All pointers are borrowed. */
struct from_server {
	const struct client_conf *conf;
	struct hostlearn *hostlearn; /* NULL: no host keys are learnt */
	/* NULL: neither the agent nor the display is forwarded. */
	struct private_forwards *private_forwards;
	struct forwards *forwards;   /* NULL: none */
};

/* f outlives chs. */
int from_server_allow(struct from_server *f, struct channels *chs) must_check;

#endif
