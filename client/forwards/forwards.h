/* SPDX-License-Identifier: ISC */
/*
 * The forwards of hpnssh's connection: sockets that listen here for -L and -D,
 * what the server was asked to listen on for -R, and the connections that
 * come of both. Those of the configuration begin with the connection; more
 * may be added and cancelled at any time (escape ~C, sharing).
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

/* All borrowed; they outlive the forwards. */
struct forwards_params {
	const struct client_conf *conf;
	struct loop *loop;
	struct channels *channels;
	struct uses *uses; /* of the connection; NULL: not counted */
	/* The server's host key is not the one that is known: nothing is
	 * forwarded. */
	bool distrusted;
	/* The connection is a master's, whose owner lets us ask for nothing but
	 * ports that the server listens on, for as long as we are there. */
	bool proxied;
};

int forwards_new(struct forwards **out,
    const struct forwards_params *params) must_check;
/* Closes what listens, and the connections. Nothing that the server sends is
 * handled after it. NULL is fine. */
void forwards_free(struct forwards *f);

/* error NULL: the forward stands; else why not, in one line. allocated: the
 * port that the server has picked for port 0, else 0. */
typedef void (*forwards_done_fn)(void *arg, const char *error,
    uint16_t allocated);
/* done is called once, perhaps in this call. The same forward again is no
 * error. spec is copied. done may be NULL. */
void forwards_add(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg);
/* Why nothing may be forwarded over this connection; NULL: it may. */
const char *forwards_refusal(const struct forwards *f);
/* The forward stands, or may still. */
bool forwards_has(const struct forwards *f, const struct forward_spec *spec);
/* A forward ends that has the same listening side and the same target. Its
 * connections go on. True: it stood. */
bool forwards_cancel(struct forwards *f, const struct forward_spec *spec);
/* The same for all of this kind that listen there, whatever their target. */
bool forwards_cancel_listening(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen);
/* All listeners of this side end. What the server listens on goes on. */
void forwards_stop_listening(struct forwards *f);

/* All forwards of the configuration. done is called once, when each of them
 * stands or has failed: failed is true if it was told to the user, and
 * ExitOnForwardFailure says that this is the end. */
void forwards_add_configured(struct forwards *f,
    void (*done)(void *arg, bool failed), void *arg);
/* Called before it: asks the server for the configured -R now. */
void forwards_ask_early(struct forwards *f);

/* The server opened a channel for what it listens on; the channel_open_fn of
 * forwarded-tcpip, and of forwarded-streamlocal@openssh.com. */
int forwards_opened_tcp(struct forwards *f, struct channel *c,
    struct rd *data);
int forwards_opened_path(struct forwards *f, struct channel *c,
    struct rd *data);

#endif
