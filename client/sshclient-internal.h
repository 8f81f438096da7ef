/* SPDX-License-Identifier: ISC */
/* What sshclient.c and sshclient-tickets.c both use. */
#ifndef HPN_CLIENT_SSHCLIENT_INTERNAL_H
#define HPN_CLIENT_SSHCLIENT_INTERNAL_H

#include "client/auth/userauth.h"
#include "client/connect/none-switch.h"
#include "client/forwards/from-server.h"
#include "client/sshclient.h"
#include "client/why-slow.h"

/* What further connections are held to if the first connection belongs to
 * another process, which has told its identity. */
struct expected_login {
	struct hostcheck *hostcheck; /* has accepted the first connection's host
				      * key */
	char *user, *login;
};

struct sshclient {
	struct sshclient_params p;
	struct expected_login *expected; /* NULL, unless this object is no
					  * connection:
					  * sshclient_new_by_identity() */
	struct client_conf quiet; /* conf of a further connection: a changed
				   * copy of *p.conf whose pointers are still
				   * those of *p.conf */
	const struct client_conf *conf;
	struct sshlink link;
	struct sshlogin *login;
	struct channels *channels;
	struct none_switch none;
	struct why_slow_start began;
	struct metrics *metrics;
	struct keystroke_pace *pace; /* NULL: keystrokes leave at once */
	struct from_server from_server;
	struct survive *survive; /* NULL: nothing survives */
	/* A check that accepts only the host key of a grant; NULL: there is no
	 * grant. */
	struct hostcheck *vouched;
	struct userauth_secret secret;
	/* Tickets for further connections, got if the login needed the user. */
	struct login_tickets tickets;
	/* For a first connection: the connection that is asked for tickets.
	 * That is this one, until it is lost and another one takes its place.
	 * NULL: none. */
	struct sshclient *root;
	bool tickets_asked;   /* tickets were asked for, and the answer has not
			       * come */
	bool tickets_scarce;  /* the server has given fewer tickets than were
			       * asked for */
	uint64_t began_ms; /* clock_ms() when the user was authenticated; 0: not
			    * yet */
	bool ready, ended;
};

static inline struct sshclient *
sshclient_first(struct sshclient *c)
{
	return c->p.first != NULL ? c->p.first : c;
}

/* sshclient-tickets.c. sshclient_lose_tickets(): forgets the tickets that the
 * server gave over c, which has ended. sshclient_take_root(): makes c, which
 * has logged in, the connection that is asked for tickets, if there is none.
 * sshclient_ask_for_return(): asks for the ticket by which a lost connection is
 * made again, if that is wanted. sshclient_further_by_ticket(): does the work
 * of sshclient_further() after a login that needed the user. */
void sshclient_lose_tickets(struct sshclient *c);
void sshclient_take_root(struct sshclient *c);
void sshclient_ask_for_return(struct sshclient *c);
enum sshclient_further sshclient_further_by_ticket(struct sshclient *c);

#endif
