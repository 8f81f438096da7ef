/* SPDX-License-Identifier: ISC */
/*
 * One connection in the event loop: reads the socket, gives each message to the
 * layer that handles it, lets the channels fill the output, writes the output,
 * and starts rekeys.
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
	/* Is called when the transport was lost, and the peer has granted
	 * survive@hpnssh.org. True: the connection is suspended, as by
	 * connection_suspend(). May be NULL. */
	bool (*lost)(void *arg, int err);
	/* The connection ended: 0 never, ERR_CLOSED, ERR_DISCONNECTED (the
	 * peer's text is in packet_disconnect_text()), or any error of a
	 * layer, for which a DISCONNECT was already sent. Called once, from
	 * the loop; the hook stops the loop or frees later. */
	void (*ended)(void *arg, int err);
};

/* Does err mean only that the peer has gone, and not that something went
 * wrong? */
bool connection_is_lost(int err);

/* All pointers are borrowed, and must outlive the connection. There are no
 * channels until connection_set_channels() is called after authentication. */
int connection_new(struct connection **out, struct loop *l, struct packet *p,
    struct kex *k, const struct connection_hooks *hooks) must_check;
void connection_free(struct connection *c);
void connection_set_channels(struct connection *c, struct channels *ch);

/* Settings from the configuration, for client and server. */
struct connection_settings {
	bool dynamic_windows; /* windows follow the path */
	int threads;	      /* most threads; or PACKET_THREADS_AUTO */
	enum packet_form form;
	bool deny_keystream;
};
/* Applies the settings, limited to what the peer can do. Called when channels
 * begin, when the peer's identification is known. */
void connection_apply(const struct connection_settings *s, struct packet *p,
    const struct kex *k, struct channels *chs);

/* Sets a function that is asked before each write: may the bytes that wait for
 * the socket leave now (*write)? An error ends the connection. NULL: always. */
typedef int (*connection_pace_fn)(void *arg, bool *write);
void connection_set_pace(struct connection *c, connection_pace_fn fn,
    void *arg);

/* Processes input that is buffered already (after an import). */
void connection_kick(struct connection *c);
/* No input is processed while the connection is paused, as when a handler waits
 * for the user. */
void connection_pause(struct connection *c, bool paused);
/* Answers the message that is being handled with UNIMPLEMENTED. */
int connection_unimplemented(struct connection *c) must_check;
/* Sends one alive check now: if nothing comes from the peer within wait_ms,
 * the connection is lost (ERR_TIMEOUT). Does nothing if such a check is
 * under way. */
void connection_probe(struct connection *c, uint32_t wait_ms);
/* Sends an alive check (keepalive@openssh.com) every interval_s seconds; 0:
 * off. When count_max checks in a row brought nothing from the peer, the next
 * ends the connection with ERR_TIMEOUT. */
#define CONNECTION_ALIVE_NO_END UINT32_MAX /* count_max: never ends */
void connection_set_alive(struct connection *c, uint32_t interval_s,
    uint32_t count_max);

#endif
