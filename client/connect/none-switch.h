/* SPDX-License-Identifier: ISC */
/*
 * NoneSwitch: once the user is logged in, a rekey that prefers the cipher
 * "none". It offers the real ciphers behind it, so that a server without
 * "none" keeps the connection as it is.
 *
 * A terminal, where passwords are typed, is never used on a connection that is
 * not encrypted, in whichever order the two come; nor is the user's agent or
 * display, which are forwarded from the beginning or not at all.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CONNECT_NONE_SWITCH_H
#define HPN_CLIENT_CONNECT_NONE_SWITCH_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "kex.h"
#include "packet.h"

enum none_switch_state {
	NONE_SWITCH_OFF,
	NONE_SWITCH_WANTED,    /* to be requested when the running exchange
				* is over */
	NONE_SWITCH_REQUESTED, /* by an exchange of ours */
	NONE_SWITCH_DECIDED,   /* by the server; the user knows */
};

struct none_switch {
	struct packet *packet; /* both borrowed */
	struct kex *kex;
	enum none_switch_state state;
	bool mac; /* without a MAC, too */
};

/* The session has begun: starts the rekey if the configuration wants it, or
 * logs why that is not possible. private: what the connection has that is
 * never sent in clear ("a terminal"), or NULL. */
int none_switch_start(struct none_switch *n, const struct client_conf *conf,
    struct packet *p, struct kex *k, const char *private) must_check;
/* New keys are in use: logs what the server decided. needed: if it does not
 * allow "none", ERR_DENIED, which was logged. */
int none_switch_rekeyed(struct none_switch *n, bool needed) must_check;
/* A terminal will be opened: the connection becomes encrypted again, and what
 * is sent from now on waits for the new keys. False: not now, because a key
 * exchange is running. */
bool none_switch_leave(struct none_switch *n);

#endif
