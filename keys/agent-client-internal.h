/* SPDX-License-Identifier: ISC */
/*
 * What the parts of the agent's client share: the connection, and one request
 * with its answer.
 */
#ifndef HPN_KEYS_AGENT_CLIENT_INTERNAL_H
#define HPN_KEYS_AGENT_CLIENT_INTERNAL_H

#include "keys/agent-client.h"
#include "keys/agent-wire.h"

struct agent {
	int fd; /* non-blocking, if there is a limit */
	unsigned limit_ms; /* limit for each call; 0: none */
};

/* Sends the request and reads the answer, which must be of type want; *rd is
 * behind that type. ERR_AGENT: the agent refuses. After another error the
 * connection cannot be used any more. */
int agent_exchange(struct agent *a, const struct buf *request,
    enum agent_message want, struct buf *answer, struct rd *rd) must_check;

#endif
