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

/* Connects to the agent at path, or if that is NULL at $SSH_AUTH_SOCK.
 * ERR_NOT_FOUND: neither is set. */
int agent_open(struct agent **out, const char *path) must_check;
/* As agent_open(), with a limit for this call and for each later one that uses
 * *out: after limit_ms it returns ERR_TIMEOUT, and *out can only be closed. */
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
/* Lists the keys that the agent holds, except those of unknown types. The
 * caller calls agent_keys_free(). */
int agent_list(struct agent *a, struct agent_key **keys,
    size_t *count) must_check;
void agent_keys_free(struct agent_key *keys, size_t count);
/* Has the agent sign data by k, and appends the signature in its wire form.
 * ERR_AGENT: it refuses. */
int agent_sign(struct agent *a, const struct key *k, const char *alg,
    struct span data, struct buf *signature) must_check;

/* ---- changing what an agent holds --------------------------------------- */

/* A host's key, by which an agent_hop knows the host. */
struct agent_host_key {
	struct key *key;
	/* key is that of an authority that certifies the host's keys */
	bool is_ca;
};
/* One end of a hop, a connection by which a key may be used. */
struct agent_hop {
	char *user; /* pattern; NULL: any. Only in agent_destination.to */
	char *host; /* NULL: this host, where the first hop begins */
	struct agent_host_key *keys;
	size_t n;
};
struct agent_destination {
	struct agent_hop from, to;
};

/* What an agent may do with a key. Zeroed: everything. All is borrowed. */
struct agent_constraints {
	uint32_t lifetime; /* seconds; 0: no limit */
	bool confirm;	   /* the agent asks the user before each use */
	const char *sk_provider; /* library for a security key; NULL: none */
	const struct agent_destination *destinations;
	size_t n_destinations; /* 0: no restriction */
	/* The certificates that belong to a library's keys. */
	struct key *const *certs;
	size_t n_certs;
	bool certs_only; /* add certificates only, no plain keys */
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
/* Locks the agent: it shows no keys until it is unlocked with the same
 * passphrase. */
int agent_lock(struct agent *a, const char *passphrase) must_check;
int agent_unlock(struct agent *a, const char *passphrase) must_check;
/* Appends the names of the extensions that the agent knows. */
int agent_query(struct agent *a, struct strlist *names) must_check;

#endif
