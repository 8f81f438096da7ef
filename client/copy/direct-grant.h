/* SPDX-License-Identifier: ISC */
/*
 * A grant of a copy from host to host (docs/PROTOCOL.md), for the directory
 * that the other host may use by it, as long as the copy lasts.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_GRANT_H
#define HPN_CLIENT_COPY_DIRECT_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "client/auth/login-tickets.h"
#include "client/copy/direct-wire.h"

struct key;
struct remote;

/* Begin with the first three set, and the rest zero. */
struct direct_grant {
	struct remote *remote; /* the host that gives it */
	/* Serves the connection to that host for a second at most; ends the
	 * program if it is lost. */
	void (*turn)(void *arg);
	void *arg;
	bool answered; /* the last question */
	bool is;       /* there is a grant */
	bool ended;    /* and it has ended */
	uint8_t name[LOGIN_TICKET_NAME_LEN];
};

enum {
	/* The first connection by a grant has to come within these seconds. */
	DIRECT_GRANT_BEGIN_S = 60,
	/* For one connection, and further ones after it is lost. */
	DIRECT_GRANT_CONNECTIONS = 4,
};

/* Adds options for an hpnssh that logs in by a grant alone. */
void direct_grant_options(struct strlist *ssh);
/* Sets the ticket of who has got a grant of that name, for ms from now on. The
 * key and the host key's blob are borrowed. */
void direct_grant_ticket(struct login_ticket *t,
    const uint8_t name[LOGIN_TICKET_NAME_LEN], const struct key *key,
    struct span hostkey, uint64_t ms);
/* Asks for a grant, which the owner of that public key gets, for the directory
 * `scope` with these rights (xfer/sftp/sftp-rights.h), and for so many
 * connections altogether. 0; ERR_UNSUPPORTED: the host runs no hpnsshd that
 * this process has logged in to; another error: it gives none. */
int direct_grant_get(struct direct_grant *g, struct span key,
    const char *scope, uint32_t rights, uint32_t connections) must_check;
/* Takes the grant back, and waits until all connections by it have ended. What
 * is looked at and moved after that is nobody else's any more: the source's
 * host might have kept a file open that it could write to at its place. False:
 * they have not. */
bool direct_grant_end(struct direct_grant *g);
/* Has the host write down which receipt there is of the grant; if it keeps no
 * such records, the receipt is as good. */
void direct_grant_receipt(struct direct_grant *g,
    const uint8_t digest[DIRECT_SUM_LEN]);
/* Sets the other host, its key and the user in a job, borrowed but for the key;
 * and the grant. */
void direct_grant_address(const struct direct_grant *g,
    struct direct_job *job);

#endif
