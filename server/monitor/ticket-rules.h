/* SPDX-License-Identifier: ISC */
/*
 * The rules for whether a login may have tickets made, by how the user logged
 * in and what the login may do: one table. A ticket stands for the methods that
 * were shown, and must not give more than they would give again. Pure.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_TICKET_RULES_H
#define HPN_SERVER_MONITOR_TICKET_RULES_H

#include <stdbool.h>

#include "conf/auth-method-table.h"

/* Facts about a login, as bits. */
enum ticket_trait {
	TICKET_BY_NONE = 1 << AUTH_METHOD_NONE,
	TICKET_BY_PUBLICKEY = 1 << AUTH_METHOD_PUBLICKEY,
	TICKET_BY_KEYEX = 1 << AUTH_METHOD_KEYEX,
	TICKET_BY_GSSAPI = 1 << AUTH_METHOD_GSSAPI,
	TICKET_BY_PASSWORD = 1 << AUTH_METHOD_PASSWORD,
	TICKET_BY_KBDINT = 1 << AUTH_METHOD_KBDINT,
	TICKET_BY_HOSTBASED = 1 << AUTH_METHOD_HOSTBASED,
	TICKET_BY_TICKET = 1 << AUTH_METHOD_TICKET,
	/* The login may only change its password. */
	TICKET_MUST_CHANGE = 1 << AUTH_METHOD_COUNT,
	/* The login may only run a certain command, other than SFTP. */
	TICKET_FORCED = TICKET_MUST_CHANGE << 1,
	TICKET_CHROOTED = TICKET_MUST_CHANGE << 2,
	TICKET_SFTP_ONLY = TICKET_MUST_CHANGE << 3,
	/* It was by a ticket for the place of a lost connection. */
	TICKET_BY_INSTEAD = TICKET_MUST_CHANGE << 4,
	TICKET_BY_GRANT = TICKET_MUST_CHANGE << 5,
};

/* The kind of a ticket, on the wire: for connections beside this one; for a
 * connection in its place when it is lost; or for another machine (grant.h).
 * TICKET_SURVIVE is never on the wire: it stands for a session that goes on
 * over another connection. */
enum {
	TICKET_BESIDE = 'p',
	TICKET_INSTEAD = 'r',
	TICKET_GRANT = 'g',
	TICKET_SURVIVE = 's',
};

/* True if a login with these traits may have tickets of that kind made (or, for
 * TICKET_SURVIVE, survive its connection). */
bool ticket_rules_may(unsigned traits, char kind);

#endif
