/* SPDX-License-Identifier: ISC */
/*
 * The identity of a master's connection: address, host key, account and the key
 * that let the user in. A copy over that connection makes further ones of its
 * own only if the master tells it: a message of ours, which is asked for as
 * -O conninfo is, and only of a master whose hello says that it answers.
 *
 * DESIGN. The master is a process of the same user, but what it says is only
 * where to look. A connection counts if it shows the host key, and lets the
 * same user in by the same key: then it is the same account, under the same
 * rules of the server.
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

/* The name of the extension: in a master's hello, and of what is asked for. */
#define CONNECTION_IDENTITY_NAME "anchor@hpnssh.org"
#define CONNECTION_IDENTITY_VERSION "0"

/* Texts are owned. */
struct connection_identity {
	char *address; /* numeric */
	uint16_t port;
	char *user;
	char *login; /* the key that let it in, as userauth_key_hint() */
	struct buf host_key; /* blob of the identity that was accepted */
	uint64_t rtt_us; /* of the path; 0: not known */
};

void connection_identity_clear(struct connection_identity *id);
void connection_identity_put(struct buf *b,
    const struct connection_identity *id);
/* ERR_FORMAT and the like: a field that no master of ours would send. Cleared
 * by the caller in any case. */
int connection_identity_read(struct rd *r,
    struct connection_identity *id) must_check;

/* Asks the master. ERR_UNSUPPORTED: it does not know the question, or has no
 * connection that others can be made beside. Any other error: do not use the
 * socket any more. */
int connection_identity_ask(struct mux_conn *c,
    struct connection_identity *id) must_check;

#endif
