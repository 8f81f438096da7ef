/* SPDX-License-Identifier: ISC */
/*
 * Hash functions of OpenSSL, by number or name.
 *
 * Threads: any; a struct digest belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_DIGEST_H
#define HPN_CRYPTO_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum digest_alg {
	DIGEST_MD5,
	DIGEST_SHA1,
	DIGEST_SHA224,
	DIGEST_SHA256,
	DIGEST_SHA384,
	DIGEST_SHA512,
	DIGEST_BLAKE2B_512,
	DIGEST_ALG_COUNT,
};

enum { DIGEST_MAX_LEN = 64 }; /* bytes of the longest digest */

struct digest; /* a computation that is under way */

/* The name of an algorithm as fingerprints show it ("SHA256"), and the
 * algorithm with a name. digest_parse() ignores case; -1: the name is
 * unknown. */
const char *digest_name(enum digest_alg alg);
int digest_parse(const char *name);
size_t digest_len(enum digest_alg alg); /* bytes */

/* Compute a digest or an HMAC at once. out must have room for digest_len(alg)
 * bytes. */
int digest_once(enum digest_alg alg, const void *p, size_t len,
    uint8_t *out) must_check;
int digest_hmac(enum digest_alg alg, const void *key, size_t key_len,
    const void *p, size_t len, uint8_t *out) must_check;

int digest_new(struct digest **out, enum digest_alg alg) must_check;
/* Computes an HMAC with the algorithm of d, and loses the state of d. It is for
 * many short texts, each under a key of its own, because nothing is allocated.
 * ERR_LIMIT: the key is longer than a block of the algorithm. */
int digest_hmac_by(struct digest *d, const void *key, size_t key_len,
    const void *p, size_t len, uint8_t *out) must_check;
int digest_update(struct digest *d, const void *p, size_t len) must_check;
int digest_final(struct digest *d, uint8_t *out) must_check;
/* Copies the state of `from` to `to`. Both must have the same algorithm. */
int digest_copy(struct digest *to, const struct digest *from) must_check;
void digest_free(struct digest *d);

#endif
