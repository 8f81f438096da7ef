/* SPDX-License-Identifier: ISC */
/*
 * The forwards that a mux client asks its master for: conversion between a
 * struct forward_spec, as users write it, and a struct mux_forward, as messages
 * have it; and the requests.
 *
 * Threads: loop thread only; mux_forward_request_all() blocks.
 */
#ifndef HPN_CLIENT_MUX_MUX_FORWARD_H
#define HPN_CLIENT_MUX_MUX_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "client/mux/mux-conn.h"
#include "client/mux/mux-wire.h"
#include "conf/client-conf.h"
#include "conf/forward-spec.h"

/* mux_forward_to_spec(): ERR_ARGUMENT if no such forward is possible. The
 * caller clears *out of both, also after an error. */
int mux_forward_to_spec(struct forward_spec *out,
    const struct mux_forward *f) must_check;
int mux_forward_from_spec(struct mux_forward *out,
    const struct forward_spec *spec) must_check;

/* Asks the master for all forwards of the configuration or, with cancel, to end
 * them. told is called for each forward, with its error of mux_conn_ask(), or
 * with the port that the server picked where port 0 was asked for (else 0).
 * Returns the first error. With goes_on a refusal does not stop the rest; any
 * other error does. */
typedef void (*mux_forward_told)(void *arg, const struct mux_conn *c,
    const struct forward_spec *spec, int err, uint32_t port);
int mux_forward_request_all(struct mux_conn *c,
    const struct client_conf *conf, bool cancel, bool goes_on,
    mux_forward_told told, void *arg) must_check;

#endif
