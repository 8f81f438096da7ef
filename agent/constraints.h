/* SPDX-License-Identifier: ISC */
/*
 * What a key is added with: how long it stays, whether each use is to be
 * confirmed, where it may be used.
 *
 * Threads: any.
 */
#ifndef HPN_AGENT_CONSTRAINTS_H
#define HPN_AGENT_CONSTRAINTS_H

#include "agent/destinations.h"

/* The request that the constraints belong to: some constraints are for keys
 * only, others for providers only. */
enum constraints_for { CONSTRAINTS_OF_KEY, CONSTRAINTS_OF_PROVIDER };

struct constraints {
	bool has_lifetime, confirm;
	uint32_t lifetime_s;
	struct destinations destinations;
	char *sk_provider;   /* NULL: the request names none */
	/* provider: add no plain keys, only certificates */
	bool certs_only;
	struct key **certs;  /* provider: certificates for its keys */
	size_t n_certs;
};

/* Parses all of rd as constraints. A constraint that is unknown, stands twice
 * or does not fit the request is an error: a key must not be held with fewer
 * constraints than were asked for. The caller calls constraints_clear(), also
 * after an error. */
int constraints_parse(struct rd *rd, enum constraints_for what,
    struct constraints *out) must_check;
void constraints_clear(struct constraints *c);

#endif
