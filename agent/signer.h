/* SPDX-License-Identifier: ISC */
/*
 * A signer stands for a key that the agent does not hold itself, as those of
 * tokens: another process makes its signatures, and they arrive later.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_SIGNER_H
#define HPN_AGENT_SIGNER_H

#include "base/wire.h"

/* r: 0, and the signature in its wire form; or why there is none. */
typedef void (*signer_done_fn)(void *arg, int r, struct span signature);

struct signer_ops {
	/* Begins a signature by alg, in which done is called once: later, and
	 * not at all after cancel. data is valid during the call only. *job
	 * stands for it until done is called. */
	int (*sign)(void *key, const char *alg, struct span data,
	    signer_done_fn done, void *arg, void **job);
	void (*cancel)(void *job);
	/* The key was removed. Signatures under way end: done is called. */
	void (*release)(void *key);
};

#endif
