/* SPDX-License-Identifier: ISC */
/*
 * How many connections may be unauthenticated at the same time: MaxStartups and
 * PerSourceMaxStartups. Pure.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_LISTENER_STARTUPS_H
#define HPN_SERVER_LISTENER_STARTUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "conf/server-conf.h"

/* A source of connections: an address without its last bits.
 * PerSourceNetBlockSize says how many bits are kept. */
struct startups_source {
	uint8_t bytes[16];
	uint8_t family; /* 4 or 6; 0: no internet address, equal to no other
			 * source */
};
struct startups_source startups_source_of(const struct sockaddr *sa,
    const struct server_net_bits *bits);
bool startups_same_source(const struct startups_source *a,
    const struct startups_source *b);

/* Whether one more connection is refused while count unauthenticated ones
 * exist. chance is random, uniform in [0,100). */
bool startups_drop(const struct server_startups *limits, int count,
    uint32_t chance);

#endif
