/* SPDX-License-Identifier: ISC */
/*
 * One connection in the event loop: reads the socket, gives each message to
 * its layer, lets the channels fill the output, writes it, starts rekeys.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONNECTION_H
#define HPN_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "kex.h"
#include "packet.h"

struct channels;
struct connection;

struct connection_hooks {
	void *arg;
	/* Messages 5, 6 and 50-79 (service and user authentication). A type
	 * that is not expected: return ERR_PROTOCOL, or call
	 * connection_unimplemented() and return 0. */
	int (*auth)(void *arg, uint8_t type, struct rd payload);
	/* The connection ended: 0 never, ERR_CLOSED, ERR_DISCONNECTED (the
	 * peer's text is in packet_disconnect_text()), or any error of a
	 * layer, for which a DISCONNECT was already sent. Called once, from
	 * the loop; the hook stops the loop or frees later. */
	void (*ended)(void *arg, int err);
};

/* The other side is gone, rather than that something is wrong. */
bool connection_is_lost(int err);

/* Life. Everything is borrowed and must outlive the connection, channels may
 * be NULL until authentication is done. */
int connection_new(struct connection **out, struct loop *l, struct packet *p,
    struct kex *k, const struct connection_hooks *hooks) must_check;
void connection_free(struct connection *c);
void connection_set_channels(struct connection *c, struct channels *ch);

/* What both sides set by their configuration, and by what the peer can do. */
struct connection_settings {
	bool dynamic_windows; /* they follow the path */
	int threads;	      /* most of them; or PACKET_THREADS_AUTO */
	enum packet_form form;
	bool deny_keystream;
};
/* The settings are applied at the beginning of channels, when the
 * identification of the peer is there. */
void connection_apply(const struct connection_settings *s, struct packet *p,
    const struct kex *k, struct channels *chs);

/* Asked before each write: whether what waits for the socket may leave now. An
 * error ends the connection. fn NULL: always. */
typedef int (*connection_pace_fn)(void *arg, bool *write);
void connection_set_pace(struct connection *c, connection_pace_fn fn,
    void *arg);

/* Processes input that is buffered already (after an import). */
void connection_kick(struct connection *c);
/* While paused, no input is processed (a handler waits for the user). */
void connection_pause(struct connection *c, bool paused);
/* Answers the message that is being handled with UNIMPLEMENTED. */
int connection_unimplemented(struct connection *c) must_check;
/* Alive checks (global request keepalive@openssh.com) every interval_s
 * seconds, 0 = off: ends with ERR_TIMEOUT when nothing at all came for more
 * than count_max of them. */
#define CONNECTION_ALIVE_NO_END UINT32_MAX /* count_max: never ends */
void connection_set_alive(struct connection *c, uint32_t interval_s,
    uint32_t count_max);

#endif
