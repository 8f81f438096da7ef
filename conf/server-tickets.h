/* SPDX-License-Identifier: ISC */
/*
 * LoginTickets of the server: may a login get tickets for further connections,
 * and how many, for how long, from where, and for what? One value of several
 * parts.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_SERVER_TICKETS_H
#define HPN_CONF_SERVER_TICKETS_H

#include "conf/conf.h"

/* From which address a ticket may be used. */
enum { SERVER_TICKET_SAME_ADDRESS, SERVER_TICKET_ANY_ADDRESS };
/* What a login by a ticket may do, at most. */
enum {
	SERVER_TICKET_TRANSFER, /* commands and subsystems: no terminal, no
				 * forwarding */
	SERVER_TICKET_ALL,
};

enum { SERVER_TICKETS_MAX = 64 };

struct server_tickets {
	int enabled;	 /* flag; the method's option in
			  * conf/auth-method-table.h */
	int lifetime_s;
	int max;	 /* tickets of a login that are not used yet */
	int connections; /* by tickets of a login, that are there at a time */
	int max_age_s;	 /* from the login itself, which showed all methods */
	int linger_s;	 /* how long the ticket for one in place of a lost
			  * connection stays good; 0: there is none */
	int address, permit;
};

extern const struct conf_type server_tickets_type;

#endif
