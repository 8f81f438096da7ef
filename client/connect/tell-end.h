/* SPDX-License-Identifier: ISC */
/*
 * Tells the user how a connection begins, and why it has ended, in the lines of
 * OpenSSH, because programs look for them.
 */
#ifndef HPN_CLIENT_CONNECT_TELL_END_H
#define HPN_CLIENT_CONNECT_TELL_END_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "sshconnect.h"

struct kex;
struct packet;

/* What is known of a connection that has ended. The pointers are borrowed. */
struct tell_end {
	const struct client_conf *conf;
	const struct sshlink *link;
	const char *name; /* the server's address; behind a proxy the host's
			   * name */
	const struct packet *packet;
	const struct kex *kex;
	const char *last_line; /* text that the server sent instead of an
				* identification; NULL: none */
	bool identified, authenticated;
};

/* Logs why the connection has ended: err is the error that ended it. */
void tell_end(const struct tell_end *t, int err);

/* Logs the successful login (with -v). name is the server's address, or behind
 * a proxy the host's name. */
void tell_authenticated(const char *host, const char *name,
    const struct sshlink *link, const char *method);
void tell_transferred(const struct packet *p, uint64_t took_ms);
void tell_identifications(const struct client_conf *conf, const char *ours,
    const char *theirs);
/* If the server answered on the second port only, tells that the first one has
 * no server. Only in the log of -v if is_known (an earlier connection to the
 * host was made) or with BatchMode. */
void tell_fallback(const struct client_conf *conf, const struct sshlink *link,
    bool is_known);

#endif
