/* SPDX-License-Identifier: ISC */
/*
 * What the user is told when a connection begins and why it has ended, in
 * lines that programs look for.
 */
#ifndef HPN_CLIENT_CONNECT_TELL_END_H
#define HPN_CLIENT_CONNECT_TELL_END_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "sshconnect.h"

struct kex;
struct packet;

/* A connection that has ended. All borrowed. */
struct tell_end {
	const struct client_conf *conf;
	const struct sshlink *link;
	const char *name; /* its address, or the host's name behind a proxy */
	const struct packet *packet;
	const struct kex *kex;
	const char *last_line; /* in place of an identification, or NULL */
	bool identified, authenticated;
};

/* err: why it has ended. */
void tell_end(const struct tell_end *t, int err);

/* The login is told of with -v. name is the host's address, where there is
 * one. */
void tell_authenticated(const char *host, const char *name,
    const struct sshlink *link, const char *method);
void tell_transferred(const struct packet *p, uint64_t took_ms);
void tell_identifications(const struct client_conf *conf, const char *ours,
    const char *theirs);
/* The server answered on the second port: said once of a host. */
void tell_fallback(const struct client_conf *conf, const struct sshlink *link,
    bool is_known);

#endif
