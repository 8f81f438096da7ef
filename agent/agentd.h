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
	uint32_t lifetime_s; /* of keys that come without one; 0: for ever */
	enum digest_alg fingerprint; /* how keys are shown */
	/* Programs on other hosts may name libraries for tokens. */
	bool remote_providers;
	const char *providers; /* patterns of paths of such libraries */
	/* FIDO keys of applications that match none of these patterns sign
	 * logins and files only, not what web pages want. NULL: all do all. */
	const char *websafe;
	unsigned token_limit_ms; /* for each act of a token; 0: the usual */
};

int agentd_new(struct agentd **out, struct loop *loop,
    const struct agent_params *params) must_check;
/* Wipes all keys, ends all connections. */
void agentd_free(struct agentd *a);

/* Takes clients from a socket that listens, and does not block; borrowed. */
int agentd_listen(struct agentd *a, int fd) must_check;
/* Takes fd, a client's connection, which is owned from now on. The caller has
 * checked which user is at its other end. */
void agentd_take(struct agentd *a, int fd);
void agentd_remove_keys(struct agentd *a);

#endif
