/* SPDX-License-Identifier: ISC */
/*
 * Who may connect now: penalties of the address, MaxStartups,
 * PerSourceMaxStartups, and what is logged of them. All of it is about the
 * address that the listener itself has seen.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_ADMISSION_H
#define HPN_SERVER_LISTENER_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "conf/server-conf.h"
#include "server/listener/startups.h"

struct admission;

/* conf is borrowed. */
struct admission *admission_new(const struct server_conf *conf);
void admission_free(struct admission *a); /* NULL is fine */

/* A peer, as far as limits and penalties tell peers apart. */
struct admission_peer {
	struct startups_source source;
	bool exempt; /* from penalties */
};
struct admission_peer admission_peer_of(const struct admission *a,
    const struct sockaddr *sa, socklen_t len);

/* The connections that are there when one more comes. */
struct admission_load {
	int startups;	 /* unauthenticated ones */
	int same_source; /* of these, from the source of the new one */
	uint32_t chance; /* uniform in [0,100) */
};

/* Is the connection fd, which comes from sa, to be refused? Logs it. */
bool admission_refuses(struct admission *a, int fd,
    const struct sockaddr *sa, socklen_t len,
    const struct admission_peer *peer, const struct admission_load *load,
    int64_t now_us);

/* A connection of the peer ended without authentication. */
void admission_penalise(struct admission *a,
    const struct admission_peer *peer, enum penalty_class c, int64_t now_us);

#endif
