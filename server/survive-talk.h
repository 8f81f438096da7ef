/* SPDX-License-Identifier: ISC */
/*
 * What is said inside of this server about a session that survives its
 * connection. The monitor and the session process have a socket of their own
 * for that, for datagrams, because the talk of monitor-wire.h is questions of
 * the process only. Another connection comes with all of its state over a
 * second socket, from its monitor to the process, past the monitor of the
 * session, which has no use for the keys. Both are of one build, so nothing of
 * it has a version.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SURVIVE_TALK_H
#define HPN_SERVER_SURVIVE_TALK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum survive_word {
	/* Of the monitor. */
	SURVIVE_FREEZE = 1, /* let go of the connection, if it is still there */
	SURVIVE_ATTACH, /* go on; the client has received n messages; the
			 * descriptor is the second socket */
	/* Of the process. */
	SURVIVE_FROZEN,	  /* n messages were received */
	SURVIVE_ATTACHED,
	SURVIVE_DETACHED, /* the connection is lost */
	SURVIVE_SETTLED,  /* the client has spoken over the other one */
	SURVIVE_WORDS,
};

struct survive_message {
	enum survive_word word;
	uint64_t n;
	int fd; /* -1: none; of who receives it */
};

int survive_say(int sock, const struct survive_message *m) must_check;
/* ERR_SYSTEM, ERR_PROTOCOL: the other end is gone, or not to be trusted. */
int survive_hear(int sock, struct survive_message *m) must_check;

/* A connection on its way over the second socket. The keys of the first two are
 * secret. */
struct survive_connection {
	int fd;
	struct buf packet_state, kex_state;
};

int survive_send_connection(int sock,
    const struct survive_connection *c) must_check;
/* The caller clears *c, also after an error. */
int survive_receive_connection(int sock,
    struct survive_connection *c) must_check;
void survive_connection_clear(struct survive_connection *c);

#endif
