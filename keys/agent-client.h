/* SPDX-License-Identifier: ISC */
/*
 * Talking to a running ssh-agent (RFC 9987) over its UNIX socket.
 *
 * Threads: any; a struct agent belongs to one thread at a time. Calls block,
 * but for an agent that was opened with a limit.
 */
#ifndef HPN_KEYS_AGENT_CLIENT_H
#define HPN_KEYS_AGENT_CLIENT_H

#include "base/str.h"
#include "keys/key.h"

struct agent;

struct agent_key {
	struct key *key;
	char *comment;
};

/* path NULL = $SSH_AUTH_SOCK; ERR_NOT_FOUND if there is none. */
int agent_open(struct agent **out, const char *path) must_check;
/* The same with a limit: this call, and each later one that uses *out, ends
 * with ERR_TIMEOUT after limit_ms; then *out is of no use any more. */
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
/* Appends the request of agent_bind() with its length in front, for callers
 * that must not block. The answer is one message with a length. */
void agent_put_bind(struct buf *b, struct span hostkey,
    struct span session_id, struct span signature, bool forwarding);
/* Leaves out keys of unknown type. The caller calls agent_keys_free(). */
int agent_list(struct agent *a, struct agent_key **keys,
    size_t *count) must_check;
void agent_keys_free(struct agent_key *keys, size_t count);
/* Appends the wire signature; ERR_AGENT if refused. */
int agent_sign(struct agent *a, const struct key *k, const char *alg,
    struct span data, struct buf *signature) must_check;

/* ---- changing what an agent holds --------------------------------------- */

/* A host's key, by which an agent_hop knows the host. */
struct agent_host_key {
	struct key *key;
	bool is_ca; /* it certifies the host's keys */
};
/* One end of a way that a key may be used on. */
struct agent_hop {
	char *user; /* pattern; NULL: any. Only in agent_destination.to */
	char *host; /* NULL: this host, where the way begins */
	struct agent_host_key *keys;
	size_t n;
};
struct agent_destination {
	struct agent_hop from, to;
};

/* What an agent may do with a key. Zeroed: everything. All is borrowed. */
struct agent_constraints {
	uint32_t lifetime; /* s; 0: no end */
	bool confirm;	   /* it asks the user before each use */
	const char *sk_provider; /* library for a security key; NULL: none */
	const struct agent_destination *destinations;
	size_t n_destinations; /* 0: no restriction */
	/* The certificates that belong to a library's keys. */
	struct key *const *certs;
	size_t n_certs;
	bool certs_only; /* the plain keys are not wanted */
};

/* Adds k, a private key or a certificate with its private key. A key that the
 * agent holds already gets the new comment and constraints. ERR_AGENT: refused.
 * constraints may be NULL. */
int agent_add(struct agent *a, const struct key *k, const char *comment,
    const struct agent_constraints *constraints) must_check;
int agent_remove(struct agent *a, const struct key *k) must_check;
int agent_remove_all(struct agent *a) must_check;
/* Adds the keys of a PKCS#11 library, which the agent loads. */
int agent_add_provider(struct agent *a, const char *library, const char *pin,
    const struct agent_constraints *constraints) must_check;
int agent_remove_provider(struct agent *a, const char *library,
    const char *pin) must_check;
/* The agent is locked: until it is unlocked with the same passphrase, it has no
 * keys to show. */
int agent_lock(struct agent *a, const char *passphrase) must_check;
int agent_unlock(struct agent *a, const char *passphrase) must_check;
/* Appends the names of the extensions that the agent knows. */
int agent_query(struct agent *a, struct strlist *names) must_check;

#endif
