/* SPDX-License-Identifier: ISC */
/*
 * What the user lends to programs on the server: the agent and the display.
 * Both are private: a connection on which they are lent is encrypted, and the
 * server gets them only where the user asked for it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_LENDING_H
#define HPN_CLIENT_FORWARDS_LENDING_H

#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "channels.h"
#include "client/common/uses.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "sshconnect2.h"

struct lending;

/* All borrowed; they outlive it. */
struct lending_params {
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

/* Looks for what the configuration wants to be lent; runs xauth for it. *out
 * may lend nothing. ERR_DENIED, which was logged: it lends less than the user
 * insists on (ExitOnForwardFailure). */
int lending_new(struct lending **out,
    const struct lending_params *params) must_check;
/* NULL is fine. */
void lending_free(struct lending *l);
/* What is lent, for messages ("a forwarded agent"); NULL: nothing. l may be
 * NULL. */
const char *lending_what(const struct lending *l);

/* The requests on a session's channel, in front of all others: refused says
 * that the server has no display for it (arg; the session must not be freed
 * before its channel). l may be NULL. */
struct lending_request {
	struct channel *session;
	bool no_agent, no_display; /* for this session */
	channels_reply_fn display_reply;
	void *arg;
};
int lending_request(struct lending *l,
    const struct lending_request *r) must_check;

/* Channels that the server opens; as channel_open_fn. l may be NULL: then
 * nothing was lent, and the user is warned. */
int lending_open_agent(struct lending *l, struct channel *c, struct rd *data);
int lending_open_display(struct lending *l, struct channel *c,
    struct rd *data);

#endif
