/* SPDX-License-Identifier: ISC */
/*
 * From a connected socket to an authenticated user: identification, key
 * exchange, host key, user authentication. Driven by what arrives.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SSHCONNECT2_H
#define HPN_SSHCONNECT2_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "conf/client-conf.h"
#include "connection.h"
#include "sshconnect.h"

struct channels;
struct hostcheck;
struct hostlearn;
struct sshlogin;
struct userauth;
struct userauth_secret;

struct sshlogin_params {
	const struct client_conf *conf; /* these three are borrowed */
	const struct sshlink *link;
	struct loop *loop;
	/* The link leads to a master that gives its connection (-O proxy):
	 * there is nothing to log in for. Nothing goes out before
	 * authenticated() is called, which is in the loop. */
	bool proxied;
	/* ConnectTimeout is the limit for each answer that the server owes
	 * until the user is authenticated, and does not run while this end
	 * does something: it may ask the user, an agent, a token. Else it is
	 * one for all until there are keys, or with BatchMode until the
	 * login. */
	bool watched;
	bool proxy_may_ask; /* the user: no limit before the server answers
			     * through a proxy, but with BatchMode */
	bool quiet;	     /* messages for the user are only for debugging */
	struct userauth_secret *secret; /* client/auth/userauth.h; or NULL */
	/* Of the first login to the same host, and freed later: this one takes
	 * no other host key than that one accepted. NULL: this is the first
	 * itself. */
	const struct hostcheck *first;
	/* What has to let it in: a key, as userauth_key_hint(). NULL: whatever
	 * does. Borrowed. */
	const char *login_by;
	bool keys_only;	     /* stop when keys are agreed on,
			      * until sshlogin_log_in() */
	void *arg;
	/* The first authentication request was sent, its success is expected,
	 * and the server takes messages that are sent behind it: to be put
	 * now. If the expectation was wrong they are sent again later. 0 or an
	 * error. May be NULL. */
	int (*send_optimistic)(void *arg);
	/* The user is authenticated: give the connection its channels now. */
	void (*authenticated)(void *arg);
	/* An exchange after the first is complete. 0 or an error. May be
	 * NULL. */
	int (*rekeyed)(void *arg);
	/* Is all done that the connection was made for? Then it is no error
	 * that the server closes it. May be NULL. */
	bool (*complete)(void *arg);
	/* The connection ended; the reason was logged. The callee stops the
	 * loop and frees later. */
	void (*ended)(void *arg, int err);
};

/* Sends the identification; the rest happens in the loop. */
int sshlogin_new(struct sshlogin **out,
    const struct sshlogin_params *params) must_check;
void sshlogin_free(struct sshlogin *l);
/* Says goodbye to the server, best effort. */
void sshlogin_disconnect(struct sshlogin *l);

/* The server's identification arrived: it knows of this connection. */
bool sshlogin_is_answered(const struct sshlogin *l);
/* The login goes on, with keys_only: the first one has succeeded. ERR_HOSTKEY:
 * this one agreed on keys with another host key than the first. */
int sshlogin_log_in(struct sshlogin *l) must_check;
/* The last time, the user logged in with a key, without having to do anything,
 * and what the host would say first could be guessed. So it should be this
 * time. */
bool sshlogin_is_predictable(const struct sshlogin *l);

/* The host's key is not the one that is known for it, and the configuration
 * goes on in spite of that: nothing may be forwarded. */
bool sshlogin_is_distrusted(const struct sshlogin *l);

/* For the layers above, from authenticated() on. */
struct packet *sshlogin_packet(const struct sshlogin *l);
struct kex *sshlogin_kex(const struct sshlogin *l);
struct connection *sshlogin_connection(const struct sshlogin *l);
/* Borrowed; NULL with proxied. */
const struct hostcheck *sshlogin_hostcheck(const struct sshlogin *l);
const struct userauth *sshlogin_userauth(const struct sshlogin *l);
/* Which connection this is, provably: the host's key, and its signature over
 * the session identifier, as they were in the first exchange. Borrowed. */
struct sshlogin_binding {
	struct span hostkey, session_id, signature;
};
struct sshlogin_binding sshlogin_binding(const struct sshlogin *l);
/* What learns the host's other keys over chs (client/hosts/hostlearn.h), if
 * that is wanted, else NULL; freed before the login. */
int sshlogin_learn_hostkeys(const struct sshlogin *l, struct channels *chs,
    struct hostlearn **out) must_check;

#endif
