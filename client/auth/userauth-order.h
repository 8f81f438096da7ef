/* SPDX-License-Identifier: ISC */
/*
 * The order in which the user's keys are offered, as a pure function of what is
 * known of each. It is OpenSSH's order, because scripts, and servers that count
 * tries, rely on it.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_ORDER_H
#define HPN_CLIENT_AUTH_USERAUTH_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/* Where a key comes from. The groups are tried in this order. */
enum key_group {
	KEY_OF_CERTIFICATE_FILE,
	KEY_OF_AGENT_NAMED, /* the configuration names the key too */
	KEY_OF_AGENT,
	KEY_OF_FILE,
};

/* How well a key can be expected to work: the smallest rank is tried first. 0
 * and 2 are kept for certificates of security keys that need less, or more,
 * than a touch. */
enum key_rank {
	KEY_RANK_CERTIFICATE = 1,
	KEY_RANK_PLAIN = 3, /* also a key whose type is not known yet */
};

struct key_priority {
	enum key_group group;
	bool is_explicit; /* the user named the key: it keeps its place among
			   * the keys of its group */
	enum key_rank rank;
};

/*
 * Sets order[i] to the index in v (which has n keys) of the key that is offered
 * as the i-th. Within a group the keys stay in the order of v, except that
 * those which are not explicit are sorted by rank among the places that they
 * have together. For this, the two groups of the agent count as one.
 */
void userauth_order(const struct key_priority *v, size_t n, size_t *order);

#endif
