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
#include <stdint.h>

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
struct userauth_resume;
struct userauth_secret;
struct login_tickets;

struct sshlogin_params {
	const struct client_conf *conf; /* conf, link and loop are borrowed */
	const struct sshlink *link;
	struct loop *loop;
	/* The link leads to a master (-O proxy), whose connection is logged in
	 * already. Nothing is sent before authenticated() is called, which
	 * happens in the loop. */
	bool proxied;
	/* ConnectTimeout limits each answer of the server until the user is
	 * authenticated; it does not run while this end is busy (it may ask the
	 * user, an agent or a token). Without `watched`, ConnectTimeout limits
	 * all the time until keys are agreed on, or with BatchMode until the
	 * login is done. */
	bool watched;
	bool proxy_may_ask; /* the proxy command may ask the user, so there is
			     * no limit before the server answers through it,
			     * except with BatchMode */
	bool quiet;	     /* messages for the user become debug messages */
	struct userauth_secret *secret; /* client/auth/userauth.h; or NULL */
	struct login_tickets *tickets; /* likewise */
	struct userauth_resume *resume; /* likewise */
	/* The host key check of the first login to the same host, which is
	 * freed later than this login: this one accepts only the host key that
	 * the first one accepted. NULL: this is the first login. */
	const struct hostcheck *first;
	/* The login that has to succeed, as userauth_key_hint() names it: with
	 * another one this login ends with an error. NULL: any may.
	 * Borrowed. */
	const char *login_by;
	bool keys_only;	     /* after the key exchange, wait for
			      * sshlogin_log_in() */
	void *arg;
	/* Called when the first request of the authentication was sent, its
	 * success is expected, and the server accepts messages behind it: sends
	 * such messages now. If the request is refused, they are sent again
	 * after the login. Returns 0 or an error. May be NULL. */
	int (*send_optimistic)(void *arg);
	/* Called when the user is authenticated: gives the connection its
	 * channels. */
	void (*authenticated)(void *arg);
	/* Called when a key exchange after the first one is complete. Returns 0
	 * or an error. May be NULL. */
	int (*rekeyed)(void *arg);
	/* Is all done for which the connection was made? Then it is no error if
	 * the server closes it. May be NULL. */
	bool (*complete)(void *arg);
	/* The hook `lost` of struct connection_hooks. May be NULL. */
	bool (*lost)(void *arg, int err);
	/* Called when the connection has ended; the reason was logged. The
	 * callee stops the loop, and frees the login later. */
	void (*ended)(void *arg, int err);
};

/* Sends our identification; the rest happens in the loop. Errors were
 * logged. */
int sshlogin_new(struct sshlogin **out,
    const struct sshlogin_params *params) must_check;
void sshlogin_free(struct sshlogin *l);
/* Sends a DISCONNECT to the server, if that is possible without waiting. */
void sshlogin_disconnect(struct sshlogin *l);

/* Has l go on over the connection of fresh, which has logged in with
 * p.resume and can then only be freed. received: number of messages that the
 * server has. */
int sshlogin_resume(struct sshlogin *l, struct sshlogin *fresh,
    uint64_t received) must_check;
/* Keeps fresh from reading its next message, which belongs to the session. */
void sshlogin_hold(struct sshlogin *fresh);

/* Milliseconds after which the server's identification arrived; 0: it has not
 * yet. Once it has, the server knows of this connection. */
uint64_t sshlogin_answer_ms(const struct sshlogin *l);
/* Lets a login with keys_only go on, because the first login has succeeded.
 * ERR_HOSTKEY: this one was shown another host key than the first accepted. */
int sshlogin_log_in(struct sshlogin *l) must_check;
/* Will the login probably need nothing from the user? True if the last one did
 * not, and its hints are known. */
bool sshlogin_is_predictable(const struct sshlogin *l);

/* Is the host's key not the known one, and accepted only because the
 * configuration allows that? Then nothing may be forwarded. */
bool sshlogin_is_distrusted(const struct sshlogin *l);

/* Parts of the login for the layers above, which may use them from
 * authenticated() on. Borrowed. */
struct packet *sshlogin_packet(const struct sshlogin *l);
struct kex *sshlogin_kex(const struct sshlogin *l);
struct connection *sshlogin_connection(const struct sshlogin *l);
/* Borrowed; NULL with proxied. */
const struct hostcheck *sshlogin_hostcheck(const struct sshlogin *l);
const struct userauth *sshlogin_userauth(const struct sshlogin *l);
/* Proves which connection this is: the host's key, and its signature over the
 * session identifier, both from the first key exchange. Borrowed. */
struct sshlogin_binding {
	struct span hostkey, session_id, signature;
};
struct sshlogin_binding sshlogin_binding(const struct sshlogin *l);
/* Makes the object that learns the host's other keys over chs
 * (client/hosts/hostlearn.h). *out is NULL if that is not wanted. It has to be
 * freed before the login. */
int sshlogin_learn_hostkeys(const struct sshlogin *l, struct channels *chs,
    struct hostlearn **out) must_check;

#endif
