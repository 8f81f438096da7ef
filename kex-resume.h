/* SPDX-License-Identifier: ISC */
/*
 * The part of kex in a change of transports (packet-keep.h).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEX_RESUME_H
#define HPN_KEX_RESUME_H

#include "kex.h"

/* Takes the keys that fresh has agreed on over another transport, and its
 * session identifier. fresh can then only be freed. A running exchange of k is
 * dropped. ERR_AGAIN: fresh has a running exchange. */
int kex_resume(struct kex *k, struct kex *fresh) must_check;

#endif
