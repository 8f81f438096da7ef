/* SPDX-License-Identifier: ISC */
/*
 * Agent forwarding, on the server: a socket that only the user can connect to.
 * Each connection to it becomes a channel to the client's agent. An SSH
 * connection has one such socket, for all sessions that start after it was
 * made.
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

/* Whether the configuration and the permits of this login allow forwarding of
 * the agent. Logs if they do not. */
bool agent_door_is_allowed(const struct serve_params *p);
/* Makes the socket because a session of the client asked for it. modern: by the
 * request "agent-req", else by auth-agent-req@openssh.com; the type of the
 * channels depends on that. NULL: no socket could be made, and the reason was
 * logged. All arguments are borrowed. */
struct agent_door *agent_door_open(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p, bool modern);
/* While the door is shut, programs that connect to the agent's socket are sent
 * away. d may be NULL. */
void agent_door_shut(struct agent_door *d, bool shut);
/* Removes the socket. Connections that were made to it go on. NULL is fine. */
void agent_door_close(struct agent_door *d);
/* The path for SSH_AUTH_SOCK; NULL if d is NULL. */
const char *agent_door_path(const struct agent_door *d);

#endif
