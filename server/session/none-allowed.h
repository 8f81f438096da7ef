/* SPDX-License-Identifier: ISC */
/*
 * The cipher "none" from the server's side (NoneEnabled): offered behind the
 * real ciphers, in exchanges after authentication only, and never on a
 * connection that has, or had, something private on it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_NONE_ALLOWED_H
#define HPN_SERVER_SESSION_NONE_ALLOWED_H

#include <stdbool.h>

#include "conf/server-conf.h"
#include "kex.h"
#include "packet.h"

/* The user is authenticated: offers it if the configuration allows. */
void none_offer(struct kex *k, const struct server_conf *conf);
/* Something private is to be opened, such as a terminal. False (and logged):
 * it must not be, as the connection is unencrypted. True: it may, and the
 * connection is never unencrypted from now on. */
bool none_exclude(struct kex *k, const struct packet *p, const char *what);

#endif
