/* SPDX-License-Identifier: ISC */
/*
 * The identity of a master's connection: address, host key, account, and the
 * key with which the user logged in. A copy over that connection makes further
 * connections of its own only if the master tells this identity. The messages
 * are an extension of HPN-SSH to the mux protocol: the client asks as for -O
 * conninfo, and only a master whose hello has the extension.
 *
 * DESIGN. The master is a process of the same user, but what it says only tells
 * where to connect to. A further connection is used only if it shows the same
 * host key, and the same key logs the same user in there: then it is the same
 * account, under the same rules of the server.
 *
 * Threads: loop thread only; connection_identity_ask() blocks.
 */
#ifndef HPN_CLIENT_MUX_CONNECTION_IDENTITY_H
#define HPN_CLIENT_MUX_CONNECTION_IDENTITY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "client/mux/mux-conn.h"

/* The extension's name in the hello of a master, and in the request for the
 * identity. */
#define CONNECTION_IDENTITY_NAME "anchor@hpnssh.org"
#define CONNECTION_IDENTITY_VERSION "0"

/* Texts are owned. */
struct connection_identity {
	char *address; /* numeric address of the server */
	uint16_t port;
	char *user;
	char *login; /* key of the login, as userauth_key_hint() */
	/* blob of the public key; for a certificate, of the key that it
	 * certifies */
	struct buf host_key;
	uint64_t rtt_us; /* round trip time of the path; 0: not known */
};

void connection_identity_clear(struct connection_identity *id);
void connection_identity_put(struct buf *b,
    const struct connection_identity *id);
/* Reads an identity. ERR_FORMAT, ERR_LIMIT and errors of struct rd: a field has
 * a value that no master of ours sends. The caller clears id, also after an
 * error. */
int connection_identity_read(struct rd *r,
    struct connection_identity *id) must_check;

/* Asks the master for its connection's identity. ERR_UNSUPPORTED: the master
 * does not know this request, or its connection is not one beside which others
 * can be made. After any other error the socket must not be used any more. */
int connection_identity_ask(struct mux_conn *c,
    struct connection_identity *id) must_check;

#endif
