/* SPDX-License-Identifier: ISC */
/*
 * The forwards of hpnssh's connection: sockets that listen on this host for -L
 * and -D, ports and paths that the server was asked to listen on for -R, and
 * the connections that come through either. The forwards of the configuration
 * begin with the connection; more may be added and cancelled at any time
 * (escape ~C, mux clients).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_FORWARDS_H
#define HPN_CLIENT_FORWARDS_FORWARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "conf/forward-spec.h"

struct forwards;
struct uses;

/* All is borrowed, and outlives the forwards. */
struct forwards_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct channels *channels;
	struct uses *uses; /* of the connection; NULL: not counted */
	/* The server's host key is not the known one: nothing is forwarded. */
	bool distrusted;
	/* The connection is a master's (-O proxy): all that we may ask for is
	 * that the server listens on ports, and we cannot cancel that. */
	bool proxied;
};

int forwards_new(struct forwards **out,
    const struct forwards_params *params) must_check;
/* Closes the listeners and the forwarded connections. The server's messages for
 * them must not be handled after that. NULL is fine. */
void forwards_free(struct forwards *f);

/* The result of adding a forward. error: NULL, or in one line why it failed.
 * allocated: the port that the server picked where port 0 was asked for; else
 * 0. */
typedef void (*forwards_done_fn)(void *arg, const char *error,
    uint16_t allocated);
/* Adds a forward; done (may be NULL) is called once, perhaps within this call.
 * A forward that exists already is no error. spec is copied. */
void forwards_add(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg);
/* The reason why nothing may be forwarded over this connection; NULL: forwards
 * are allowed. */
const char *forwards_refusal(const struct forwards *f);
/* The forward was added, and has not failed (yet). */
bool forwards_has(const struct forwards *f, const struct forward_spec *spec);
/* Ends the forward with this listening side and target. Its connections go on.
 * True: there was one. */
bool forwards_cancel(struct forwards *f, const struct forward_spec *spec);
/* Ends all forwards of this kind that listen at this endpoint, whatever their
 * target. Their connections go on. True: there was one. */
bool forwards_cancel_listening(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen);
/* Ends all forwards that listen on this host. The server goes on listening for
 * its own. */
void forwards_stop_listening(struct forwards *f);

/* Adds all forwards of the configuration. done is called once, when each of
 * them has succeeded or failed. failed: one has failed, the user was told, and
 * ExitOnForwardFailure demands that the connection ends. */
void forwards_add_configured(struct forwards *f,
    void (*done)(void *arg, bool failed), void *arg);
/* May be called before forwards_add_configured(): asks the server now for the
 * -R forwards of the configuration. */
void forwards_ask_early(struct forwards *f);

/* The channel_open_fn of forwarded-tcpip and of
 * forwarded-streamlocal@openssh.com, for channels that the server opens because
 * something connected to a port or path of -R. */
int forwards_opened_tcp(struct forwards *f, struct channel *c,
    struct rd *data);
int forwards_opened_path(struct forwards *f, struct channel *c,
    struct rd *data);

#endif
