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
struct hostlearn;
struct sshlogin;
struct userauth_secret;

struct sshlogin_params {
	const struct client_conf *conf; /* these three are borrowed */
	const struct sshlink *link;
	struct loop *loop;
	bool quiet;	     /* what is told to users is only for debugging */
	struct userauth_secret *secret; /* see client/userauth.h; or NULL */
	/* One to the same host, which is freed later: this one is right only
	 * with the host key that that one accepted. NULL: this is the first. */
	const struct sshlogin *beside;
	bool hold;	     /* keys only: sshlogin_release() logs in */
	void *arg;
	/* The first authentication request is out and likely to succeed, and
	 * the server takes what is sent behind it: messages put now are sent
	 * again if they came too early. 0 or an error. May be NULL. */
	int (*likely)(void *arg);
	/* The user is authenticated: give the connection its channels now. */
	void (*authenticated)(void *arg);
	/* An exchange after the first is complete. 0 or an error. May be
	 * NULL. */
	int (*rekeyed)(void *arg);
	/* What the connection was made for is over: that the server goes now
	 * is no news. May be NULL. */
	bool (*complete)(void *arg);
	/* The connection ended; why has been told. The callee stops the
	 * loop and frees later. */
	void (*ended)(void *arg, int err);
};

/* Sends the identification; the rest happens in the loop. */
int sshlogin_new(struct sshlogin **out,
    const struct sshlogin_params *params) must_check;
void sshlogin_free(struct sshlogin *l);
/* Says goodbye to the server, best effort. */
void sshlogin_disconnect(struct sshlogin *l);

/* The server has said that it is one: it knows of this login. */
bool sshlogin_is_answered(const struct sshlogin *l);
/* Logs in, as the one that it is beside has. ERR_HOSTKEY: keys were agreed on
 * with another host key than that one's. */
int sshlogin_release(struct sshlogin *l) must_check;
/* The user logged in silently with a key the last time, and the host's first
 * packets could be guessed. */
bool sshlogin_expected(const struct sshlogin *l);

/* For the layers above, from authenticated() on. */
struct packet *sshlogin_packet(const struct sshlogin *l);
struct kex *sshlogin_kex(const struct sshlogin *l);
struct connection *sshlogin_connection(const struct sshlogin *l);
/* What learns the host's other keys over chs (client/hostlearn.h), if that is
 * wanted, else NULL; freed before the login. */
int sshlogin_learn_hostkeys(const struct sshlogin *l, struct channels *chs,
    struct hostlearn **out) must_check;
/* The server calls itself OpenSSH: it knows that project's extensions. */
bool sshlogin_peer_is_openssh(const struct sshlogin *l);
/* The server is this project's. */
bool sshlogin_peer_is_hpnssh(const struct sshlogin *l);
/* It calls itself HPN-SSH. */
bool sshlogin_peer_is_hpn(const struct sshlogin *l);

#endif
