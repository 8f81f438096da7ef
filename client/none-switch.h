/* SPDX-License-Identifier: ISC */
/*
 * NoneSwitch: once the user is logged in, a rekey that prefers the cipher
 * "none". It offers the real ciphers behind it, so that a server without
 * "none" keeps the connection as it is.
 *
 * What is private (a terminal, where passwords are typed) and an open
 * connection exclude each other, in whichever order they come.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_NONE_SWITCH_H
#define HPN_CLIENT_NONE_SWITCH_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "kex.h"
#include "packet.h"

struct none_switch {
	struct packet *packet; /* both borrowed */
	struct kex *kex;
	bool mac, wanted, asked, told;
};

/* The session has begun: asks for the rekey if the configuration says so,
 * and tells why not if it cannot be. tty: it has a terminal. */
int none_switch_start(struct none_switch *n, const struct client_conf *conf,
    struct packet *p, struct kex *k, bool tty) must_check;
/* New keys are in use: tells the user what became of it. needed: ERR_DENIED
 * where the server does not allow it (told). */
int none_switch_rekeyed(struct none_switch *n, bool needed) must_check;
/* Something private comes. What is sent from now on waits for a rekey to a
 * real cipher if there is none now. False: it must not be now, because keys
 * are just changing. */
bool none_switch_leave(struct none_switch *n);

#endif
