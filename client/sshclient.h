/* SPDX-License-Identifier: ISC */
/*
 * A connection of the client as a whole: the way to the host, logging in,
 * the channels, and what goes on beside them (alive checks, metrics, the
 * switch to the cipher none). What runs on the channels is the caller's.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SSHCLIENT_H
#define HPN_CLIENT_SSHCLIENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "client/client-session.h"
#include "conf/client-conf.h"
#include "sshconnect.h"
#include "sshconnect2.h"

struct sshclient;

struct sshclient_params {
	/* Borrowed. The port becomes the one that answered. */
	struct client_conf *conf;
	struct loop *loop;
	bool tty;	   /* there will be a terminal */
	bool need_none;	   /* the switch to the cipher none must succeed */
	bool more;	   /* there may be others beside this one */
	/* One more to where this one went (it may have ended since): without
	 * looking for the name, quietly, and to the same host key. NULL: the
	 * first. Does not block then. What the user was asked for the first
	 * one, which is freed last, serves again. */
	struct sshclient *beside;
	bool hold; /* one beside another: sshclient_release() lets it log in */
	void *arg;
	/* As of struct sshlogin_params, and there are channels. May be NULL. */
	int (*likely)(void *arg);
	/* The user is authenticated, and there are channels. 0 or an error,
	 * which ends the connection. */
	int (*ready)(void *arg);
	/* The connection ended; why has been told. Free later. If it is lost
	 * (connection_is_lost), sessions that there are end behind it, each
	 * when its output is written. */
	void (*ended)(void *arg, int err);
};

/* Goes to the host, which blocks (but beside another), and begins to talk.
 * Errors have been told. */
int sshclient_new(struct sshclient **out,
    const struct sshclient_params *params) must_check;
/* Tells what held it back, says goodbye, closes. Sessions are freed before.
 * NULL is fine. */
void sshclient_free(struct sshclient *c);

/* It goes as it went the last time, when nobody was asked: others may begin
 * beside it before it has logged in. */
bool sshclient_expected(const struct sshclient *c);
/* The one that it is beside has logged in. */
int sshclient_release(struct sshclient *c) must_check;

/* The server answers, and has it half logged in. */
bool sshclient_is_answered(const struct sshclient *c);

/* Can others log in beside this one, which is (or was) logged in? They never
 * ask the user. */
enum sshclient_more {
	SSHCLIENT_MORE_LIKELY,	/* nobody was asked for this one */
	SSHCLIENT_MORE_PERHAPS, /* with the answer that was given for it, or
				 * through a proxy that may have asked */
	SSHCLIENT_MORE_NEVER,	/* that took what was not kept */
};
enum sshclient_more sshclient_more(const struct sshclient *c);

struct channels *sshclient_channels(const struct sshclient *c);
int sshclient_fd(const struct sshclient *c);
/* Fills in what a session needs of its connection. */
void sshclient_fill(const struct sshclient *c, struct session_params *s);

#endif
