/* SPDX-License-Identifier: ISC */
/*
 * The tunnel of hpnssh (-w, Tunnel): an interface of this host tied to one of
 * the server's. It counts as a use of the connection for as long as it
 * stands, and is not had on a connection that is not encrypted.
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

/* All borrowed; they outlive the tunnel. */
struct tunnel_params {
	struct client_conf *conf; /* gets the interface's name, for %T */
	struct loop *loop;
	struct channels *channels;
	struct uses *uses;
	/* The server's host key is not the one that is known. */
	bool distrusted;
	void *arg;
	/* Called once, perhaps in tunnel_new(): the tunnel stands or has
	 * failed. fatal: it has failed, which was told, and
	 * ExitOnForwardFailure says that this is the end. */
	void (*done)(void *arg, bool fatal);
};

/* The user wants a tunnel. */
bool tunnel_is_wanted(const struct client_conf *conf);
/* Opens the interface and asks the server for the other end, in front of what
 * is sent to it later. */
void tunnel_new(struct tunnel **out, const struct tunnel_params *params);
/* NULL is fine. */
void tunnel_free(struct tunnel *t);

#endif
