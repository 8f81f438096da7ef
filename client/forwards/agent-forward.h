/* SPDX-License-Identifier: ISC */
/*
 * Agent forwarding: programs on the server use the user's agent through
 * channels that the server opens here. The agent hears first which host it
 * is that asks (session-bind@openssh.com), for keys that are restricted to
 * destinations.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_AGENT_FORWARD_H
#define HPN_CLIENT_FORWARDS_AGENT_FORWARD_H

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "forward/forwarded.h"
#include "kex.h"
#include "sshconnect2.h"

struct agent_forward;

/* All borrowed; they outlive it. */
struct agent_forward_params {
	const struct client_conf *conf;
	struct loop *loop;
	const struct kex *kex;
	const struct sshlogin *login;
	struct forwarded_list *list; /* where the connections are counted */
};

/* The user wants the agent forwarded. */
bool agent_forward_is_wanted(const struct client_conf *conf);
/* Looks for the agent. *out is NULL when there is none to forward.
 * ERR_NOT_FOUND, which was logged: ForwardAgent names a path where nothing
 * is. */
int agent_forward_new(struct agent_forward **out,
    const struct agent_forward_params *params) must_check;
/* Refuses what is on its way. NULL is fine. */
void agent_forward_free(struct agent_forward *a);
/* Asks the server for it, as a request on a session's channel. a may be NULL:
 * nothing is asked. */
int agent_forward_request(struct agent_forward *a,
    struct channel *session) must_check;
/* The server opens a channel: an enum channel_answer. Refused unless it was
 * asked for; a may be NULL. */
int agent_forward_open(struct agent_forward *a, struct channel *c);

#endif
