/* SPDX-License-Identifier: ISC */
/*
 * PerSourcePenalties: how long an address that misbehaved before it was
 * authenticated is refused. One value of several parts; for each part the
 * first value counts, over all lines.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_SERVER_PENALTIES_H
#define HPN_CONF_SERVER_PENALTIES_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* What ended a connection before authentication, the mildest first. If several
 * apply, the last of them in this list counts. */
enum penalty_class {
	PENALTY_NOAUTH,	      /* none of the following */
	PENALTY_INVALID_USER, /* a name that is unknown or may not log in */
	PENALTY_AUTHFAIL,     /* a password or signature was checked */
	PENALTY_REFUSED,      /* RefuseConnection */
	PENALTY_GRACE,	      /* LoginGraceTime was exceeded */
	PENALTY_CRASH,	      /* one of its processes crashed */
	PENALTY_CLASSES,
};

/* IPv4 and IPv6 addresses are counted separately. */
enum penalty_family { PENALTY_IPV4, PENALTY_IPV6, PENALTY_FAMILIES };

struct server_penalties {
	int64_t cost_us[PENALTY_CLASSES]; /* microseconds; 0: no penalty */
	int64_t min_us, max_us; /* a penalty is enforced once it exceeds min; it
				 * never exceeds max */
	int max_sources[PENALTY_FAMILIES];
	bool deny_all[PENALTY_FAMILIES]; /* when the table is full: refuse all;
					  * else forget one address */
	bool enabled;
	uint32_t given; /* bit per part that has its value */
};

extern const struct conf_type server_penalties_type;

#endif
