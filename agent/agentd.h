/* SPDX-License-Identifier: ISC */
/*
 * The agent: it holds keys and signs with them for its clients, which are
 * programs of its user, and by way of forwarded connections those of other
 * hosts. One event loop, in which no request waits for another: a client whose
 * request needs the user, a token or time gets its answer later, and its next
 * requests stay in their order behind it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_AGENTD_H
#define HPN_AGENT_AGENTD_H

#include "base/loop.h"
#include "crypto/digest.h"

struct agentd;

/* Strings are borrowed. */
struct agent_params {
	/* lifetime of keys that come without one; 0: no limit */
	uint32_t lifetime_s;
	/* digest by which keys are shown to the user */
	enum digest_alg fingerprint;
	/* Programs on other hosts may name libraries for tokens. */
	bool remote_providers;
	const char *providers; /* patterns of paths of such libraries */
	/* Patterns of applications. A FIDO key of any other application signs
	 * logins and files only, not what web pages want. NULL: no key is
	 * restricted. */
	const char *websafe;
	/* time for each act of a token; 0: the usual limit */
	unsigned token_limit_ms;
};

int agentd_new(struct agentd **out, struct loop *loop,
    const struct agent_params *params) must_check;
/* Wipes all keys, ends all connections. */
void agentd_free(struct agentd *a);

/* Accepts clients from fd, a socket that listens and does not block. fd is
 * borrowed. */
int agentd_listen(struct agentd *a, int fd) must_check;
/* Serves the client at fd, which the agent owns from now on. The caller has
 * checked which user is at its other end. */
void agentd_take(struct agentd *a, int fd);
void agentd_remove_keys(struct agentd *a);

#endif
