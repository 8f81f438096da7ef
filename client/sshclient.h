/* SPDX-License-Identifier: ISC */
/*
 * A connection of the client as a whole: reaching the host, logging in, the
 * channels, and what else runs on a connection (alive checks, metrics, the
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
#include "client/session/client-session.h"
#include "conf/client-conf.h"
#include "sshconnect.h"
#include "sshconnect2.h"

struct forwards;
struct connection_identity;
struct sshclient;
struct uses;

struct sshclient_params {
	/* Borrowed. The port becomes the one that answered. */
	struct client_conf *conf;
	struct loop *loop;
	bool tty;	   /* there will be a terminal */
	/* Through a master's proxy: its socket, which is owned from here on. */
	bool proxied;
	int proxy_fd;
	bool need_none;	   /* the switch to the cipher none must succeed */
	/* ConnectTimeout is the limit for each answer until the login. */
	bool watched;
	bool proxy_may_ask; /* no limit before the host answers through one */
	bool keep_answer; /* of the user: further connections will need it */
	bool private_forwards; /* agent and display, if the user wants them */
	/* The first connection. NULL: this is it. Else this is a further one to
	 * the same address and the same host key, also if the first has ended
	 * since. It does not block, shows the user nothing, and uses what the
	 * user answered for the first, which is freed last. */
	struct sshclient *first;
	bool keys_only; /* a further one: stops before it logs in, until
			 * sshclient_log_in() */
	/* The connection can forward, and what it forwards is counted here
	 * (borrowed). NULL: it cannot. */
	struct uses *uses;
	void *arg;
	/* As of struct sshlogin_params, and there are channels. May be NULL. */
	int (*send_optimistic)(void *arg);
	/* The user is authenticated, and there are channels. 0 or an error,
	 * which ends the connection. */
	int (*ready)(void *arg);
	/* The connection ended; the reason was logged. Free later. If it was
	 * lost (connection_is_lost), its sessions end after it, each when its
	 * output is written. */
	void (*ended)(void *arg, int err);
};

/* Connects, which blocks (but not for a further one, or if it is proxied), and
 * sends the first messages. Errors were logged; ERR_CLOSED: it was connected,
 * and lost; ERR_TIMEOUT: nobody answered. */
int sshclient_new(struct sshclient **out,
    const struct sshclient_params *params) must_check;
/* No connection, but what stands for one that another process has: further ones
 * can be made beside it, as beside a first one. They lead to that address, show
 * that host key, and are let in by that key. Nothing is sent. */
int sshclient_new_by_identity(struct sshclient **out,
    const struct sshclient_params *params,
    const struct connection_identity *identity) must_check;
/* A first connection will have no further one any more. What the user answered
 * for it is wiped, and one that is begun in spite of that is
 * SSHCLIENT_FURTHER_NEVER's. */
void sshclient_forget_answer(struct sshclient *c);
/* The identity of the connection, for sshclient_new_by_identity(), once its
 * user is authenticated. ERR_UNSUPPORTED: it went through a proxy, its host key
 * is not trusted, or its login cannot be repeated without the user. The caller
 * clears it in any case. */
int sshclient_tell_identity(const struct sshclient *c,
    struct connection_identity *out) must_check;
/* Logs why it was slow, disconnects, closes. Sessions are freed before. NULL is
 * fine. */
void sshclient_free(struct sshclient *c);

/* The connection should log in as the last time, without the user: further ones
 * may be begun before it has logged in. */
bool sshclient_is_predictable(const struct sshclient *c);
/* The first one has logged in: now this one does. */
int sshclient_log_in(struct sshclient *c) must_check;

/* The server's identification arrived: it counts this connection among those
 * that are not logged in yet. */
bool sshclient_is_answered(const struct sshclient *c);

/* A method of authentication was refused, or was not all that is asked for. */
bool sshclient_was_refused(const struct sshclient *c);

/* The chance that further connections can log in as this one did. They never
 * ask the user. */
enum sshclient_further {
	SSHCLIENT_FURTHER_LIKELY,   /* the user had nothing to do for it */
	SSHCLIENT_FURTHER_POSSIBLE, /* the user's answer may serve again, or
				     * a proxy may have asked for one */
	SSHCLIENT_FURTHER_NEVER,    /* the user's answers were not kept */
};
enum sshclient_further sshclient_further(const struct sshclient *c);

/* How much went over it since the login, for -v. */
void sshclient_tell_transferred(const struct sshclient *c);
struct channels *sshclient_channels(const struct sshclient *c);
/* The forwards, from send_optimistic() on; NULL: the connection cannot
 * forward. */
struct forwards *sshclient_forwards(const struct sshclient *c);
int sshclient_fd(const struct sshclient *c);
/* The link is left to another process. */
void sshclient_leave_link(struct sshclient *c);
/* The server's host key is not the one that is known, and the user went on. */
bool sshclient_is_distrusted(const struct sshclient *c);
/* A terminal will be opened: client/connect/none-switch.h. */
bool sshclient_leave_none(struct sshclient *c) must_check;
/* Fills in what a session needs of its connection. */
void sshclient_fill(const struct sshclient *c, struct session_params *s);

#endif
