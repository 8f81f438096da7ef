/* SPDX-License-Identifier: ISC */
/*
 * NoneSwitch: once the user is logged in, a rekey proposes the cipher "none"
 * first. The real ciphers stand behind it in the proposal, so that a server
 * that does not allow "none" keeps the connection as it is.
 *
 * No terminal is used on a connection without encryption, because passwords are
 * typed there: a connection with a terminal is not switched, and one that was
 * switched is encrypted again before a terminal is opened. The user's agent and
 * display are forwarded from the beginning of a connection or not at all, and
 * prevent the switch.
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
	NONE_SWITCH_WANTED,    /* wanted; requested when the running exchange is
				* over */
	NONE_SWITCH_REQUESTED, /* an exchange with "none" in our proposal is
				* running */
	NONE_SWITCH_DECIDED,   /* the server has decided; the user was told */
};

struct none_switch {
	struct packet *packet; /* packet and kex are borrowed */
	struct kex *kex;
	enum none_switch_state state;
	bool mac; /* propose the MAC "none" too (NoneMacEnabled) */
};

/* Starts the rekey if the configuration wants it and nothing forbids it; else
 * logs why it has no effect. To be called when the session begins. private:
 * what this connection has that must never be sent in clear ("a terminal", for
 * the log), or NULL. */
int none_switch_start(struct none_switch *n, const struct client_conf *conf,
    struct packet *p, struct kex *k, const char *private) must_check;
/* To be called when new keys are in use: tells the user what the server
 * decided. needed: return ERR_DENIED if the server did not allow "none" (which
 * was logged). */
int none_switch_rekeyed(struct none_switch *n, bool needed) must_check;
/* A terminal will be opened: makes sure that the connection is encrypted. If it
 * is not, a rekey is started, and what is sent from now on waits for its keys.
 * False: not possible now, because a key exchange is running, or the rekey
 * cannot start. */
bool none_switch_leave(struct none_switch *n);

#endif
