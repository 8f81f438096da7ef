/* SPDX-License-Identifier: ISC */
/*
 * X11 forwarding (RFC 4254 section 6.3): X clients on the server reach the
 * user's display through channels that the server opens here. The server gets a
 * random cookie that we made; the display's own cookie stays here.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_X11_FORWARD_H
#define HPN_CLIENT_FORWARDS_X11_FORWARD_H

#include "base/err.h"
#include "base/wire.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "forward/forwarded.h"

struct x11_forward;

struct x11_forward_params {
	const struct client_conf *conf; /* borrowed, as list is */
	struct forwarded_list *list;
};

/* The configuration asks for X11 forwarding, and DISPLAY is set. */
bool x11_forward_is_wanted(const struct client_conf *conf);
/* Asks xauth for the display's cookie, which blocks for some seconds at most.
 * *out is NULL when there is nothing to forward: the user was told why. */
int x11_forward_new(struct x11_forward **out,
    const struct x11_forward_params *params) must_check;
/* NULL is fine. */
void x11_forward_free(struct x11_forward *x);
/* Asks the server for X11 forwarding, by a request on a session's channel. Does
 * nothing if x is NULL. */
int x11_forward_request(struct x11_forward *x, struct channel *session,
    channels_reply_fn reply, void *arg) must_check;
/* Handles a channel that the server opens for an X client; returns an enum
 * channel_answer. It is refused if X11 was not requested, ForwardX11Timeout is
 * over, or x is NULL. */
int x11_forward_open(struct x11_forward *x, struct channel *c,
    struct rd *data);

#endif
