/* SPDX-License-Identifier: ISC */
/*
 * Agent forwarding, on the server: a socket that only the user can connect
 * to, whose connections become channels to the client's agent. A connection
 * has one, which the sessions that start after it share.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_AGENT_H
#define HPN_SERVER_SESSION_FORWARD_AGENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "forward/forwarded.h"
#include "server/session/serve.h"

struct agent_door;

/* The agent may be forwarded, by configuration and permits of this login; else
 * it was logged. */
bool agent_door_is_allowed(const struct serve_params *p);
/* The client asked for it, in a session: with "agent-req" (modern) or the
 * older name, which decides how its channels are called. NULL: it does not get
 * one, and the reason was logged. All is borrowed. */
struct agent_door *agent_door_open(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p, bool modern);
/* Removes the socket; connections stay. NULL is fine. */
void agent_door_close(struct agent_door *d);
/* The path for SSH_AUTH_SOCK. d NULL: NULL. */
const char *agent_door_path(const struct agent_door *d);

#endif
