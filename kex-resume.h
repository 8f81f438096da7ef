/* SPDX-License-Identifier: ISC */
/*
 * The part of kex in a change of transports (packet-keep.h).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEX_RESUME_H
#define HPN_KEX_RESUME_H

#include "kex.h"

/* Takes what fresh has agreed on over another transport: its session
 * identifier, too. fresh can only be freed then. A running exchange of k is
 * dropped. ERR_AGAIN: one of fresh is running. */
int kex_resume(struct kex *k, struct kex *fresh) must_check;

#endif
