/* SPDX-License-Identifier: ISC */
/*
 * What further connections beside a master's hold to. A copy that rides on a
 * master's connection may make some of its own if the master tells it where
 * that leads: a message of ours, which is asked for as -O conninfo is, and only
 * of a master whose hello says that it answers.
 *
 * DESIGN. The master is a process of the same user, but what it says is only
 * where to look. A connection counts if it shows the host key, and lets the
 * same user in by the same key: then it is the same account, under the same
 * rules of the server.
 *
 * Threads: loop thread only; mux_anchor_ask() blocks.
 */
#ifndef HPN_CLIENT_MUX_MUX_ANCHOR_H
#define HPN_CLIENT_MUX_MUX_ANCHOR_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "client/mux/mux-call.h"

/* In a master's hello, and what is asked for. */
#define MUX_ANCHOR_NAME "anchor@hpnssh.org"
#define MUX_ANCHOR_VERSION "0"

/* Texts are owned. */
struct mux_anchor {
	char *address; /* numeric */
	uint16_t port;
	char *user;
	char *login; /* the key that let it in, as userauth_key_hint() */
	struct buf host_key; /* blob of the identity that was accepted */
	uint64_t rtt_us; /* of the path; 0: not known */
};

void mux_anchor_clear(struct mux_anchor *a);
void mux_anchor_put(struct buf *b, const struct mux_anchor *a);
/* ERR_FORMAT and the like: a field that no master of ours would send. Cleared
 * by the caller in any case. */
int mux_anchor_read(struct rd *r, struct mux_anchor *a) must_check;

/* Asks the master. ERR_UNSUPPORTED: it does not know the question, or has no
 * connection that others can be made beside. Any other error: do not use the
 * call any more. */
int mux_anchor_ask(struct mux_call *c, struct mux_anchor *a) must_check;

#endif
