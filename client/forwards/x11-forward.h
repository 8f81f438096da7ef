/* SPDX-License-Identifier: ISC */
/*
 * X11 forwarding (RFC 4254 section 6.3): X clients on the server reach the
 * user's display through channels that the server opens here. The server gets
 * a cookie of our own making; the display's stays here.
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
	const struct client_conf *conf; /* borrowed, as what follows */
	struct forwarded_list *list;
};

/* The user wants X11 forwarded, and has a display. */
bool x11_forward_is_wanted(const struct client_conf *conf);
/* Asks xauth for the display's cookie, which blocks, for a few seconds at
 * most. *out is NULL when there is nothing to forward: the user was told
 * why. */
int x11_forward_new(struct x11_forward **out,
    const struct x11_forward_params *params) must_check;
/* NULL is fine. */
void x11_forward_free(struct x11_forward *x);
/* Asks the server for it, on a session's channel. x may be NULL: nothing is
 * asked. */
int x11_forward_request(struct x11_forward *x, struct channel *session,
    channels_reply_fn reply, void *arg) must_check;
/* The server opens a channel: an enum channel_answer. Refused unless it was
 * asked for, and not too long ago; x may be NULL. */
int x11_forward_open(struct x11_forward *x, struct channel *c,
    struct rd *data);

#endif
