/* SPDX-License-Identifier: ISC */
/* One side of a connection that is authenticated, and its channels. */
#ifndef HPN_REGRESS_UNIT_CHANNELS_SIDE_H
#define HPN_REGRESS_UNIT_CHANNELS_SIDE_H

#include "channels.h"
#include "packet.h"

/* Caller frees both. */
struct packet *side_new(int fd, bool server, struct loop *loop,
    struct channels **chs);
/* Takes what has come, has the channels act, and sends. */
void side_step(struct packet *p, struct channels *chs);

#endif
