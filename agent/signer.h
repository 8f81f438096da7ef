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

/* Called with the result. r: 0, and the signature in its wire form; or the
 * error. */
typedef void (*signer_done_fn)(void *arg, int r, struct span signature);

struct signer_ops {
	/* Begins a signature of data by the algorithm alg. done is called once,
	 * in a later turn of the loop, and not at all after cancel(*job). data
	 * is valid during this call only. */
	int (*sign)(void *key, const char *alg, struct span data,
	    signer_done_fn done, void *arg, void **job);
	void (*cancel)(void *job);
	/* Called when the key was removed. Signatures under way end, and their
	 * done is called. */
	void (*release)(void *key);
};

#endif
