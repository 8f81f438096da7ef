/* SPDX-License-Identifier: ISC */
/*
 * Messages inside of this server about a session that survives its connection.
 * The monitor and the session process use a socket of their own for them,
 * because over that of monitor-wire.h the process asks and the monitor answers
 * only. A further connection comes with all its state over a second socket:
 * from its own monitor to the process, without passing the session's monitor,
 * which has no use for the keys. All are of one build, so the messages have no
 * version.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SURVIVE_TALK_H
#define HPN_SERVER_SURVIVE_TALK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum survive_word {
	/* What the monitor says. */
	SURVIVE_FREEZE = 1, /* let go of the connection, if it is still open */
	SURVIVE_ATTACH, /* go on over the connection that comes through the
			 * socket fd; n: messages that the client has
			 * received */
	/* What the user's process says. */
	SURVIVE_FROZEN,	  /* n messages were received */
	SURVIVE_ATTACHED,
	SURVIVE_DETACHED, /* the connection is lost */
	SURVIVE_SETTLED,  /* the client has sent a packet over the new
			   * connection */
	SURVIVE_WORDS,
};

struct survive_message {
	enum survive_word word;
	uint64_t n;
	int fd; /* -1: none; else the receiver has to close it */
};

int survive_say(int sock, const struct survive_message *m) must_check;
/* Receives a message. ERR_SYSTEM: the other end is gone, or has sent too
 * little; ERR_PROTOCOL: it has sent something else. */
int survive_hear(int sock, struct survive_message *m) must_check;

/* A connection that is sent over the second socket. Its states hold the keys,
 * which are secret. */
struct survive_connection {
	int fd;
	struct buf packet_state, kex_state;
};

int survive_send_connection(int sock,
    const struct survive_connection *c) must_check;
/* Receives a connection. The caller clears *c, also after an error. */
int survive_receive_connection(int sock,
    struct survive_connection *c) must_check;
void survive_connection_clear(struct survive_connection *c);

#endif
