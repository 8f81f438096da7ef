/* SPDX-License-Identifier: ISC */
/*
 * Sessions of a connection that survive its loss (Survive): asks the server for
 * the grant, and when the connection is lost makes another one, again and again
 * until the server has agreed, has refused, or the time is over.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SURVIVE_H
#define HPN_CLIENT_SURVIVE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "conf/client-conf.h"

struct sshclient;
struct sshlogin;
struct survive;

/* All is borrowed, and outlives the object. */
struct survive_params {
	struct sshclient *client;
	const struct client_conf *conf;
	struct loop *loop;
	struct sshlogin *login;
	bool tty;
	void (*waits)(void *arg, bool waits); /* of struct sshclient_params */
	void *arg;
};

struct survive *survive_new(const struct survive_params *params);
/* In all functions, s may be NULL. */
void survive_free(struct survive *s);
/* The user is authenticated, and the channels exist: asks the server, if it has
 * said that it may be asked. */
void survive_ask(struct survive *s);
/* The connection is lost. False: its sessions are lost, too. */
bool survive_begin(struct survive *s, int err);

#endif
