/* SPDX-License-Identifier: ISC */
/*
 * A connection of the client as a whole: it reaches the host, logs in, has the
 * channels, and does what belongs to the connection itself (alive checks,
 * metrics, the switch to the cipher none). The caller decides what happens on
 * the channels.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SSHCLIENT_H
#define HPN_CLIENT_SSHCLIENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "client/session/client-session.h"
#include "conf/client-conf.h"
#include "sshconnect.h"
#include "sshconnect2.h"

struct forwards;
struct connection_identity;
struct login_ticket;
struct sshclient;
struct userauth_resume;
struct uses;
struct why_slow;

struct sshclient_params {
	/* Borrowed. Its port becomes the one that answered. */
	struct client_conf *conf;
	struct loop *loop;
	bool tty;	   /* a session with a terminal will be opened */
	/* The connection is that of a master (-O proxy). proxy_fd is the socket
	 * to the master; this connection owns it and closes it. */
	bool proxied;
	int proxy_fd;
	bool need_none;	   /* end with an error if the server refuses the cipher
			    * none */
	/* ConnectTimeout limits each single answer of the server until the
	 * login is done, and not the login as a whole. */
	bool watched;
	bool proxy_may_ask; /* a proxy command may ask the user: no time limit
			     * before the host answers through it */
	bool keep_answer; /* keep the user's answer (password) in memory:
			   * further connections will need it */
	bool private_forwards; /* forward the agent and the display, if the
				* configuration asks for that */
	/* NULL: this is a first connection. Else this is a further connection,
	 * beside `first`, to the same address, where it accepts only the same
	 * host key, even if `first` has ended by now. A further connection does
	 * not block, shows the user nothing, and answers prompts with what the
	 * user answered for `first`. `first` has to be freed after it. */
	struct sshclient *first;
	bool keys_only; /* for a further connection: it exchanges keys and then
			 * waits for sshclient_log_in() */
	bool measured; /* for sshclient_measure(): asks the server each second
		        * for its figures of TCP */
	/* Counts the forwarded connections (borrowed). NULL: this connection
	 * forwards nothing. */
	struct uses *uses;
	/* For a first connection: the ticket of a lost one, whose place it
	 * takes without asking the user. It is copied. NULL, or kind 0:
	 * none. */
	const struct login_ticket *back;
	/* The sessions may survive the loss of the connection, if Survive and
	 * the server allow it; see client/survive.h. */
	bool survives;
	/* Makes this the further connection over which surviving sessions go
	 * on. Borrowed; NULL: it is an ordinary one. ready() is called when the
	 * server has agreed; then sshclient_take_over() follows, and nothing
	 * else. */
	struct userauth_resume *resume;
	/* Seconds that such a further connection may take for each step. */
	int resume_wait_s;
	/* Is called when the connection is lost (waits true), and when its
	 * sessions go on. May be NULL. */
	void (*waits)(void *arg, bool waits);
	void *arg;
	/* As send_optimistic of struct sshlogin_params (sshconnect2.h); the
	 * channels exist when it is called. May be NULL. */
	int (*send_optimistic)(void *arg);
	/* Called once, when the user is authenticated and the channels exist.
	 * Returns 0, or an error, which ends the connection. */
	int (*ready)(void *arg);
	/* Called once, when the connection has ended; the reason was logged.
	 * sshclient_free() must not be called from inside. After an err for
	 * which connection_is_lost() is true, each session still writes its
	 * output and calls its own ended() later. */
	void (*ended)(void *arg, int err);
};

/* Makes a connection and sends the first messages; the rest happens in the
 * loop. Connecting blocks, except for a further connection or with proxied.
 * Errors were logged. ERR_CLOSED: the host was reached, but the connection
 * broke; ERR_TIMEOUT: no address answered. */
int sshclient_new(struct sshclient **out,
    const struct sshclient_params *params) must_check;
/* Makes no connection, but an object that can be the `first` of further
 * connections in place of a connection that another process has. The further
 * connections go to the address of the identity, accept only its host key, and
 * log in only with its login (a key, or a method that needs no user). Sends
 * nothing. */
int sshclient_new_by_identity(struct sshclient **out,
    const struct sshclient_params *params,
    const struct connection_identity *identity) must_check;
/* Wipes what the user answered for the first connection c, which will need no
 * further connections. From then on sshclient_further() says
 * SSHCLIENT_FURTHER_NEVER if an answer had been kept. */
void sshclient_forget_answer(struct sshclient *c);
/* Fills in the identity of the connection, once the user is authenticated, for
 * sshclient_new_by_identity() in another process. ERR_UNSUPPORTED: the
 * connection goes through a proxy, its host key is not trusted, or its login
 * cannot be repeated without the user. The caller clears *out, also after an
 * error. */
int sshclient_tell_identity(const struct sshclient *c,
    struct connection_identity *out) must_check;
/* Logs what held the connection back (with -v), says goodbye to the server, and
 * closes. The sessions have to be freed before. c may be NULL. */
void sshclient_free(struct sshclient *c);

/* Will this connection probably log in as the last one to this host did,
 * without asking the user? Then further connections may be started before it
 * has logged in. */
bool sshclient_is_predictable(const struct sshclient *c);
/* Has the user answered with a code, and does the server give tickets to who
 * logs in so? Then, too, further connections may be started before this one has
 * logged in. True until the server has judged the code. */
bool sshclient_expects_tickets(const struct sshclient *c);
/* Lets a connection with keys_only go on, because its first connection has
 * logged in. ERR_HOSTKEY: it had agreed on keys with another host key. */
int sshclient_log_in(struct sshclient *c) must_check;

/* Has c go on over the connection of fresh (with p.resume), which can then only
 * be freed. */
int sshclient_take_over(struct sshclient *c, struct sshclient *fresh,
    uint64_t received) must_check;
/* Closes the lost connection; its descriptors stay open, but lead nowhere. */
void sshclient_close_lost(struct sshclient *c);
/* The user has typed something while the connection is lost: another one is
 * made at once. */
void sshclient_typed(struct sshclient *c);
/* Does a proxy command lead to the host? */
bool sshclient_is_proxied(const struct sshclient *c);
/* Ends c, which has waited for another connection in vain. */
void sshclient_give_up(struct sshclient *c, int err);

/* Has the server's identification arrived? From then on the server counts this
 * connection as one that has not logged in yet (MaxStartups). */
bool sshclient_is_answered(const struct sshclient *c);

/* Has the server refused a request of the authentication, or taken one as only
 * a part of what it asks for? */
bool sshclient_was_refused(const struct sshclient *c);

/* How likely further connections, which never ask the user, can log in as this
 * connection did. */
enum sshclient_further {
	SSHCLIENT_FURTHER_LIKELY,   /* the login did not need the user, or there
				     * are tickets for several connections */
	SSHCLIENT_FURTHER_ONE,	    /* one connection takes the place of a lost
				     * one, and others have to wait for it */
	SSHCLIENT_FURTHER_POSSIBLE, /* the user's answer may serve again, or
				     * a proxy may have asked for one */
	SSHCLIENT_FURTHER_NEVER,    /* the user's answers were not kept */
	SSHCLIENT_FURTHER_LATER,    /* the server was asked for tickets; the
				     * caller asks again in a later turn */
};
/* Tells whether further connections can log in. It is called when one is
 * wanted, and may ask the server for tickets (LoginTickets). */
enum sshclient_further sshclient_further(struct sshclient *c);

/* Copies the ticket for the place of this first connection, or of the one that
 * has taken its place, for another process or another first connection. False:
 * there is none. The caller wipes it. */
bool sshclient_back(const struct sshclient *c, struct login_ticket *out);
/* True if the login of c showed a ticket of a connection that was lost by now,
 * and another one is there to come back with: then a refusal says nothing about
 * the next login. */
bool sshclient_lost_its_root(struct sshclient *c);
/* True if the server gives further tickets over this connection. When it ends,
 * the other connections have to do without. */
bool sshclient_is_root(const struct sshclient *c);

/* The blob of the server's host key; borrowed. */
struct span sshclient_hostkey(const struct sshclient *c);

/* Measures what holds the connection back; limits: as for why_slow_measure().
 * False: it has not logged in. */
bool sshclient_measure(const struct sshclient *c, struct why_slow *out,
    bool limits);
/* The software that the server has named; NULL: it has not yet. */
const char *sshclient_peer(const struct sshclient *c);
/* Its traits (peer-version.h), once it has logged in. */
uint32_t sshclient_peer_traits(const struct sshclient *c);

/* Logs (for -v) how many bytes were transferred since the login. */
void sshclient_tell_transferred(const struct sshclient *c);
struct channels *sshclient_channels(const struct sshclient *c);
/* The connection's forwards; they exist from send_optimistic() on, or from
 * ready(). NULL: the connection forwards nothing. */
struct forwards *sshclient_forwards(const struct sshclient *c);
int sshclient_fd(const struct sshclient *c);
/* Closes this process's descriptors of the connection, without a message to the
 * server, because another process goes on with it. */
void sshclient_leave_link(struct sshclient *c);
/* Is the server's host key not the known one, and accepted only because
 * StrictHostKeyChecking is off? */
bool sshclient_is_distrusted(const struct sshclient *c);
/* A terminal will be opened, so the connection must be encrypted again:
 * none_switch_leave() in client/connect/none-switch.h. */
bool sshclient_leave_none(struct sshclient *c) must_check;
/* Fills in the fields of s that a session takes from its connection. */
void sshclient_fill(const struct sshclient *c, struct session_params *s);

#endif
