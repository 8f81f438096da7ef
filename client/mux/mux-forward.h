/* SPDX-License-Identifier: ISC */
/*
 * Forwards between a client and its master: a forward as users write it, as
 * a message has it, and the request for it.
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

/* ERR_ARGUMENT: no such forward is possible. The caller clears *out. */
int mux_forward_to_spec(struct forward_spec *out,
    const struct mux_forward *f) must_check;
int mux_forward_from_spec(struct mux_forward *out,
    const struct forward_spec *spec) must_check;

/* Asks for all of the configuration, or (cancel) for their end. told is called
 * for each with the port that the server has picked for port 0, or with the
 * error of mux_conn_ask(). The first error is returned, and nothing is asked
 * for behind it unless goes_on. */
typedef void (*mux_forward_told)(void *arg, const struct mux_conn *c,
    const struct forward_spec *spec, int err, uint32_t port);
int mux_forward_request_all(struct mux_conn *c,
    const struct client_conf *conf, bool cancel, bool goes_on,
    mux_forward_told told, void *arg) must_check;

#endif
