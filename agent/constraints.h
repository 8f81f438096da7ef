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

/* The request that constraints are of: not each of them fits each. */
enum constraints_for { CONSTRAINTS_OF_KEY, CONSTRAINTS_OF_PROVIDER };

struct constraints {
	bool has_lifetime, confirm;
	uint32_t lifetime_s;
	struct destinations destinations;
	char *sk_provider;   /* NULL: the request names none */
	bool certs_only;     /* of a provider: its plain keys are not added */
	struct key **certs;  /* of a provider: certificates for its keys */
	size_t n_certs;
};

/* Constraints are all of rd. One that is not known, stands twice or does not
 * fit makes it fail: a key must not be held with less than was asked for. The
 * caller calls constraints_clear() also then. */
int constraints_parse(struct rd *rd, enum constraints_for what,
    struct constraints *out) must_check;
void constraints_clear(struct constraints *c);

#endif
