/* SPDX-License-Identifier: ISC */
/*
 * The tunnel of hpnssh (-w, Tunnel): a network interface of this host tied to
 * one of the server's. While it exists it counts as a use of the connection. A
 * connection without encryption has no tunnel.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_TUNNEL_H
#define HPN_CLIENT_FORWARDS_TUNNEL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "client/common/uses.h"
#include "conf/client-conf.h"

struct tunnel;

/* All is borrowed, and outlives the tunnel. */
struct tunnel_params {
	struct client_conf *conf; /* gets the interface's name, for %T */
	struct loop *loop;
	struct channels *channels;
	struct uses *uses;
	/* The server's host key is not the known one: the tunnel fails. */
	bool distrusted;
	void *arg;
	/* Called once, perhaps within tunnel_new(), when the tunnel is open or
	 * has failed. A failure was logged. fatal: it has failed, and
	 * ExitOnForwardFailure demands that the connection ends. */
	void (*done)(void *arg, bool fatal);
};

/* The configuration asks for a tunnel. */
bool tunnel_is_wanted(const struct client_conf *conf);
/* Opens the interface, and asks the server for the other end; messages that are
 * sent later come behind that. */
void tunnel_new(struct tunnel **out, const struct tunnel_params *params);
/* NULL is fine. */
void tunnel_free(struct tunnel *t);

#endif
