/* SPDX-License-Identifier: ISC */
/*
 * Settings that depend on the use of a connection's channels: IPQoS,
 * ChannelTimeout and UnusedConnectionTimeout.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_CHANNEL_USE_H
#define HPN_SERVER_SESSION_CHANNEL_USE_H

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "server/session/serve.h"

struct channel_use;

/* All arguments are borrowed. Must be called before there are channels. Calls
 * unused when no channel has been open for the time of
 * UnusedConnectionTimeout. */
int channel_use_new(struct channel_use **out, struct loop *l,
    struct channels *chs, const struct serve_params *p,
    void (*unused)(void *arg), void *arg) must_check;
/* Marks a new connection of the same session as the last one was marked. */
void channel_use_again(const struct channel_use *u);
/* NULL is fine. Must be called before the channels are freed. */
void channel_use_free(struct channel_use *u);

#endif
