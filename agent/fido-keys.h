/* SPDX-License-Identifier: ISC */
/*
 * FIDO keys that the agent holds: each signature is made by a helper process
 * (keys/sk-client.h), while a window tells the user to touch the key or asks
 * for its PIN. A provider is asked for one signature at a time, since an
 * authenticator can wait for one touch only; the others stand in line.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_FIDO_KEYS_H
#define HPN_AGENT_FIDO_KEYS_H

#include "agent/agent-internal.h"

/* Sets up the agent's line of FIDO jobs, before the other functions. */
void fido_start(struct agentd *a);
/* Lets id sign by k, the private half of a FIDO key. provider: "internal", or
 * the path of a library that the agent may use. */
int fido_hold(struct agentd *a, const struct key *k, const char *provider,
    struct identity *id) must_check;
/* Ends the signatures that are under way. */
void fido_stop_all(struct agentd *a);

#endif
