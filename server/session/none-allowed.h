/* SPDX-License-Identifier: ISC */
/*
 * The cipher "none" on the server (NoneEnabled). It is offered after all other
 * ciphers, and only in key exchanges after authentication. It is never used on
 * a connection that has, or had, something private such as a terminal.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_NONE_ALLOWED_H
#define HPN_SERVER_SESSION_NONE_ALLOWED_H

#include <stdbool.h>

#include "conf/server-conf.h"
#include "kex.h"
#include "packet.h"

/* Offers "none" from now on if the configuration allows it. To be called after
 * authentication. */
void none_offer(struct kex *k, const struct server_conf *conf);
/* To be called before something private, such as a terminal, is opened; `what`
 * names it for the log. False: it must not be opened, because the connection is
 * unencrypted now; this was logged. True: it may be opened, and the connection
 * will never be unencrypted. */
bool none_exclude(struct kex *k, const struct packet *p, const char *what);

#endif
