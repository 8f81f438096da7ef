/* SPDX-License-Identifier: ISC */
/*
 * LoginTickets of the server: whether a login may get tickets for further
 * connections, how many, for how long, from which address, and for what. One
 * value of several parts.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_SERVER_TICKETS_H
#define HPN_CONF_SERVER_TICKETS_H

#include "conf/conf.h"

/* The addresses from which a ticket may be used. */
enum { SERVER_TICKET_SAME_ADDRESS, SERVER_TICKET_ANY_ADDRESS };
/* The most that a login by a ticket may do. */
enum {
	SERVER_TICKET_TRANSFER, /* commands and subsystems, but no terminal and
				 * no forwards */
	SERVER_TICKET_ALL,
};

enum { SERVER_TICKETS_MAX = 64 };

struct server_tickets {
	int enabled;	 /* flag: the option that enables the method in
			  * conf/auth-method-table.h */
	int lifetime_s;
	int max;	 /* unused tickets of one login */
	int connections; /* open connections by tickets of one login */
	int max_age_s;	 /* seconds since the login in which all methods were
			  * shown */
	int linger_s;	 /* seconds for which a ticket stays good that replaces
			  * a lost connection; 0: there is no such ticket */
	int address, permit;
};

extern const struct conf_type server_tickets_type;

#endif
