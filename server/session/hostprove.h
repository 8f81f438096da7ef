/* SPDX-License-Identifier: ISC */
/*
 * Telling the client all host keys, so that it knows them before one of them
 * changes (hostkeys-00@openssh.com), and proving that they are ours
 * (hostkeys-prove-00@openssh.com).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_HOSTPROVE_H
#define HPN_SERVER_SESSION_HOSTPROVE_H

#include "base/err.h"
#include "channels.h"
#include "kex.h"
#include "server/session/serve.h"
#include "server/session/services.h"

struct hostprove;

/* All borrowed. Tells the client the keys. */
int hostprove_new(struct hostprove **out, struct channels *chs,
    const struct kex *k, const struct serve_params *params) must_check;
void hostprove_free(struct hostprove *h);
/* A row of services.c: the client asks for proofs. */
int hostprove_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
