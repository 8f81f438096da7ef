/* SPDX-License-Identifier: ISC */
/*
 * The forwards of what is private to the user: the agent and the display, for
 * programs on the server. A connection with such forwards is never without
 * encryption, and the server gets them only where the user asked for it.
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

/* All is borrowed, and outlives the struct private_forwards. */
struct private_forwards_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct channels *channels;
	const struct kex *kex;
	const struct sshlogin *login;
	/* The connection is a master's (-O proxy): channels that the server
	 * opens for the agent or the display go to the master, so nothing is
	 * forwarded here. */
	bool proxied;
	struct uses *uses; /* counts their connections; may be NULL */
};

/* Looks for the agent and the display that the configuration wants to be
 * forwarded; runs xauth for the display. *out may have neither of them.
 * ERR_DENIED: the user insists on forwards that failed (ExitOnForwardFailure);
 * this was logged. */
int private_forwards_new(struct private_forwards **out,
    const struct private_forwards_params *params) must_check;
/* NULL is fine. */
void private_forwards_free(struct private_forwards *f);
/* What is forwarded, for messages ("a forwarded agent"); NULL: nothing. f may
 * be NULL. */
const char *private_forwards_what(const struct private_forwards *f);

/* Sends the requests for the agent and the display on a session's channel; they
 * have to go before the session's other requests. display_reply(arg) is told
 * whether the server has made a display; arg must live as long as the channel.
 * f may be NULL. */
struct private_forwards_request {
	struct channel *session;
	bool no_agent, no_display; /* do not ask for it in this session */
	channels_reply_fn display_reply;
	void *arg;
};
int private_forwards_request(struct private_forwards *f,
    const struct private_forwards_request *r) must_check;

/* Handle channels that the server opens for the agent or the display, as a
 * channel_open_fn does. f NULL: nothing is forwarded, the channel is refused,
 * and the user is warned. */
int private_forwards_open_agent(struct private_forwards *f, struct channel *c,
    struct rd *data);
int private_forwards_open_display(struct private_forwards *f, struct channel *c,
    struct rd *data);

#endif
