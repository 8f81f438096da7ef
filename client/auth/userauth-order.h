/* SPDX-License-Identifier: ISC */
/*
 * In which order the user's keys are offered, as a pure function of what is
 * known of each. Scripts and servers that count tries rely on the order, which
 * is OpenSSH's.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_ORDER_H
#define HPN_CLIENT_AUTH_USERAUTH_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/* In this order. */
enum key_group {
	KEY_OF_CERTIFICATE_FILE,
	KEY_OF_AGENT_NAMED, /* by the configuration as well */
	KEY_OF_AGENT,
	KEY_OF_FILE,
};

/* The better a guess it is, the smaller. 0 and 2 are for certificates of
 * security keys that need less, and more, of the user than a touch. */
enum key_rank {
	KEY_RANK_CERTIFICATE = 1,
	KEY_RANK_PLAIN = 3, /* or not known yet */
};

struct key_priority {
	enum key_group group;
	bool is_explicit; /* the user named it: nothing else changes its place
			   * among those of its group */
	enum key_rank rank;
};

/*
 * order[i] becomes the index in v (n of them) of the one that is offered as the
 * i-th. Those of a group stay in the order in which they are in v, apart from
 * this: the ones that are not explicit share the places that the others leave
 * them by their rank. For that, the two groups of the agent are one.
 */
void userauth_order(const struct key_priority *v, size_t n, size_t *order);

#endif
