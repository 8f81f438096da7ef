/* SPDX-License-Identifier: ISC */
/*
 * How many connections may be unauthenticated at a time: MaxStartups and
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

/* An address without the bits that tell hosts of one source apart. */
struct startups_source {
	uint8_t bytes[16];
	uint8_t family; /* 0: no internet address, is like no other */
};
struct startups_source startups_source_of(const struct sockaddr *sa,
    const struct server_net_bits *bits);
bool startups_same_source(const struct startups_source *a,
    const struct startups_source *b);

/* Is one more refused while count are there? chance is uniform in [0,100). */
bool startups_drop(const struct server_startups *limits, int count,
    uint32_t chance);

#endif
