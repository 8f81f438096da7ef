/* SPDX-License-Identifier: ISC */
/*
 * Sessions that survive the loss of their connection (Survive). A struct
 * survive asks the server for permission. When the connection is lost, it tries
 * to make another one until the server has agreed or refused, or the time is
 * over.
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

/* What the object needs. All is borrowed, and outlives the object. */
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
/* In all these functions s may be NULL. */
void survive_free(struct survive *s);
/* Asks the server to keep the sessions when the connection is lost, if the
 * server has announced that it can. To be called when the user is authenticated
 * and the channels exist. */
void survive_ask(struct survive *s);
/* Called when the connection is lost. False: its sessions are lost, too. */
bool survive_begin(struct survive *s, int err);
/* The user has typed something while the connection is lost, and waits: has
 * another one made at once. */
void survive_typed(struct survive *s);

#endif
