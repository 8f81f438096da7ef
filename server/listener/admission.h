/* SPDX-License-Identifier: ISC */
/*
 * Whether a connection that has come is accepted: penalties of its address,
 * MaxStartups, PerSourceMaxStartups, and the log lines about refusals. Only the
 * address that the listener itself sees counts.
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

/* What limits and penalties know of a peer. Peers with the same source are not
 * told apart. */
struct admission_peer {
	struct startups_source source;
	bool exempt; /* penalties do not apply to the peer */
};
struct admission_peer admission_peer_of(const struct admission *a,
    const struct sockaddr *sa, socklen_t len);

/* The connections that exist when one more comes. */
struct admission_load {
	int startups;	 /* unauthenticated connections */
	int same_source; /* unauthenticated connections from the source of the
			  * new one */
	uint32_t chance; /* random, uniform in [0,100) */
};

/* Decides whether the connection fd from sa must be refused. Returns the
 * keyword because of which it is refused, which was logged; NULL: it is not
 * refused. */
const char *admission_refuses(struct admission *a, int fd,
    const struct sockaddr *sa, socklen_t len,
    const struct admission_peer *peer, const struct admission_load *load,
    int64_t now_us);

/* Punishes the peer for a connection that ended without authentication. */
void admission_penalise(struct admission *a,
    const struct admission_peer *peer, enum penalty_class c, int64_t now_us);

#endif
