/* SPDX-License-Identifier: ISC */
/*
 * What follows from how the channels of a connection are used: IPQoS,
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

/* All borrowed; there are no channels yet. unused is called when nothing was
 * open for the time of UnusedConnectionTimeout. */
int channel_use_new(struct channel_use **out, struct loop *l,
    struct channels *chs, const struct serve_params *p,
    void (*unused)(void *arg), void *arg) must_check;
/* NULL is fine. The channels are still there. */
void channel_use_free(struct channel_use *u);

#endif
