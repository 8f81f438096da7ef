/* SPDX-License-Identifier: ISC */
/*
 * Talking to a running ssh-agent (RFC 9987) over its UNIX socket.
 *
 * Threads: any; a struct agent belongs to one thread at a time. Calls block,
 * but for an agent that was opened with a limit.
 */
#ifndef HPN_KEYS_AGENT_CLIENT_H
#define HPN_KEYS_AGENT_CLIENT_H

#include "keys/key.h"

struct agent;

struct agent_key {
	struct key *key;
	char *comment;
};

/* path NULL = $SSH_AUTH_SOCK; ERR_NOT_FOUND if there is none. */
int agent_open(struct agent **out, const char *path) must_check;
/* Each call that uses it, and this one, ends with ERR_TIMEOUT after so many
 * milliseconds; then it is of no use any more. */
int agent_open_within(struct agent **out, const char *path,
    unsigned limit_ms) must_check;
void agent_close(struct agent *a);
/*
 * Tells the agent what this connection to it is used for (extension
 * session-bind@openssh.com), for keys that are restricted to destinations:
 * the server's host key, and its signature over the session identifier.
 * ERR_AGENT: the agent does not know the extension, or refuses; it can still
 * be used.
 */
int agent_bind(struct agent *a, struct span hostkey, struct span session_id,
    struct span signature, bool forwarding) must_check;
/* Appends that request as it goes to the agent, with its length in front: for
 * callers that must not block. The answer is one message with a length. */
void agent_put_bind(struct buf *b, struct span hostkey,
    struct span session_id, struct span signature, bool forwarding);
/* Leaves out keys of unknown type. The caller calls agent_keys_free(). */
int agent_list(struct agent *a, struct agent_key **keys,
    size_t *count) must_check;
void agent_keys_free(struct agent_key *keys, size_t count);
/* Appends the wire signature; ERR_AGENT if refused. */
int agent_sign(struct agent *a, const struct key *k, const char *alg,
    struct span data, struct buf *signature) must_check;

#endif
