/* SPDX-License-Identifier: ISC */
/*
 * Hooks of a key exchange (struct kex_hooks) that trusts everybody: both ends
 * have the host key "key", and what is signed is its own signature.
 */
#ifndef HPN_REGRESS_UNIT_TRUSTING_KEX_H
#define HPN_REGRESS_UNIT_TRUSTING_KEX_H

#include "kex.h"

static inline int
trusting_check(void *arg, struct span blob, const char *alg)
{
	(void)arg;
	(void)blob;
	(void)alg;
	return 0;
}

static inline int
trusting_blob(void *arg, const char *alg, struct buf *blob)
{
	(void)arg;
	(void)alg;
	buf_put_cstring(blob, "key");
	return 0;
}

static inline int
trusting_sign(void *arg, const char *alg, struct span data, struct buf *sig)
{
	(void)arg;
	(void)alg;
	buf_put(sig, data.p, data.len);
	return 0;
}

static inline int
trusting_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span sig)
{
	(void)arg;
	(void)alg;
	(void)blob;
	(void)data;
	(void)sig;
	return 0;
}

#endif
