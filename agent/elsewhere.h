/* SPDX-License-Identifier: ISC */
/*
 * Keys whose signatures are made elsewhere, as those of tokens are by a helper
 * process, and arrive later: what such a key does for the agent.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_ELSEWHERE_H
#define HPN_AGENT_ELSEWHERE_H

#include "base/wire.h"

/* r: 0, and the signature in its wire form; or why there is none. */
typedef void (*elsewhere_fn)(void *arg, int r, struct span signature);

struct elsewhere_ops {
	/* Begins a signature by alg, in which done is called once: later, and
	 * not at all after cancel. data is valid during the call only. *job
	 * stands for it until done is called. */
	int (*sign)(void *key, const char *alg, struct span data,
	    elsewhere_fn done, void *arg, void **job);
	void (*cancel)(void *job);
	/* The key was removed. Signatures under way end: done is called. */
	void (*release)(void *key);
};

#endif
