/* SPDX-License-Identifier: ISC */
/*
 * Tells the client all host keys, so that it knows the others before one of
 * them is replaced (hostkeys-00@openssh.com), and proves that we have their
 * private keys (hostkeys-prove-00@openssh.com).
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

/* Tells the client the host keys. All arguments are borrowed. */
int hostprove_new(struct hostprove **out, struct channels *chs,
    const struct kex *k, const struct serve_params *params) must_check;
void hostprove_free(struct hostprove *h);
/* Handler in the table of services.c for hostkeys-prove-00@openssh.com. */
int hostprove_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
