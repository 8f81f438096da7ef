/* SPDX-License-Identifier: ISC */
/*
 * Agent forwarding: programs on the server use the user's agent through
 * channels that the server opens here. Before such a channel is accepted, the
 * agent is told which host it is for (session-bind@openssh.com), so that it can
 * keep to the destinations that a key is restricted to.
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

/* All is borrowed, and outlives the struct agent_forward. */
struct agent_forward_params {
	const struct client_conf *conf;
	struct loop *loop;
	const struct kex *kex;
	const struct sshlogin *login;
	struct forwarded_list *list; /* gets the connections, and counts them */
};

/* The configuration asks for agent forwarding. */
bool agent_forward_is_wanted(const struct client_conf *conf);
/* Looks for the agent. *out is NULL if there is no agent to forward.
 * ERR_NOT_FOUND: ForwardAgent has a path, and nothing is there; this was
 * logged. */
int agent_forward_new(struct agent_forward **out,
    const struct agent_forward_params *params) must_check;
/* Refuses channels that wait for the agent. NULL is fine. */
void agent_forward_free(struct agent_forward *a);
/* Asks the server for agent forwarding, by a request on a session's channel.
 * Does nothing if a is NULL. */
int agent_forward_request(struct agent_forward *a,
    struct channel *session) must_check;
/* Handles a channel that the server opens for the agent; returns an enum
 * channel_answer. The channel is refused if forwarding was not requested, or a
 * is NULL. */
int agent_forward_open(struct agent_forward *a, struct channel *c);

#endif
