/* SPDX-License-Identifier: ISC */
/*
 * Forwards of what is private to the user: the agent and the display, for
 * programs on the server. A connection that has them is encrypted, and the
 * server gets them only where the user asked for it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_PRIVATE_FORWARDS_H
#define HPN_CLIENT_FORWARDS_PRIVATE_FORWARDS_H

#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "channels.h"
#include "client/common/uses.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "sshconnect2.h"

struct private_forwards;

/* All borrowed; they outlive it. */
struct private_forwards_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct channels *channels;
	const struct kex *kex;
	const struct sshlogin *login;
	/* The connection is a master's: what the server opens for the agent or
	 * the display comes to that one. */
	bool proxied;
	struct uses *uses; /* where connections to them count; may be NULL */
};

/* Looks for what the configuration wants to be forwarded; runs xauth for it.
 * *out may have neither. ERR_DENIED, which was logged: it has less than the
 * user insists on (ExitOnForwardFailure). */
int private_forwards_new(struct private_forwards **out,
    const struct private_forwards_params *params) must_check;
/* NULL is fine. */
void private_forwards_free(struct private_forwards *f);
/* What it has, for messages ("a forwarded agent"); NULL: nothing. f may be
 * NULL. */
const char *private_forwards_what(const struct private_forwards *f);

/* The requests on a session's channel, in front of all others: refused says
 * that the server has no display for it (arg; the session must not be freed
 * before its channel). f may be NULL. */
struct private_forwards_request {
	struct channel *session;
	bool no_agent, no_display; /* for this session */
	channels_reply_fn display_reply;
	void *arg;
};
int private_forwards_request(struct private_forwards *f,
    const struct private_forwards_request *r) must_check;

/* Channels that the server opens; as channel_open_fn. f may be NULL: then
 * nothing is forwarded, and the user is warned. */
int private_forwards_open_agent(struct private_forwards *f, struct channel *c,
    struct rd *data);
int private_forwards_open_display(struct private_forwards *f, struct channel *c,
    struct rd *data);

#endif
