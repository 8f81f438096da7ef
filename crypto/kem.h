/* SPDX-License-Identifier: ISC */
/*
 * The two halves of every key exchange method: the client makes an
 * ephemeral value, the server answers with its own and both get a shared
 * secret. Diffie-Hellman (RFC 4253 section 8, 8268, 4419), ECDH (RFC 5656),
 * X25519 (RFC 8731), and the hybrids with ML-KEM-768 and sntrup761.
 *
 * The values travel as SSH strings (an mpint has the same framing), and the
 * shared secret is given already encoded as it enters the exchange hash:
 * an mpint, or a string for the hybrids.
 *
 * Threads: any; a struct kem belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_KEM_H
#define HPN_CRYPTO_KEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "crypto/digest.h"

struct kem; /* private state of one exchange */

struct kem_alg {
	const char *name;	/* key exchange method on the wire */
	enum digest_alg digest; /* of the exchange hash and the KDF */
	bool post_quantum;
	bool group_exchange; /* RFC 4419: needs kem_new_group() */
	bool weak; /* by today's knowledge: users are warned */
	/* GSSAPI's (RFC 4462, 8732): what configurations call it, the name
	 * without its mechanism. NULL: a plain one. */
	const char *gss_prefix;
	const void *ops;     /* private to kem.c */
	int param;
};

/* NULL: unknown. */
const struct kem_alg *kem_by_name(const char *name);
/* The plain ones, then GSSAPI's; NULL at the end of each. */
const struct kem_alg *kem_at(size_t index);
const struct kem_alg *kem_gss_at(size_t index);
/* A comma list of the GSSAPI methods whose gss_prefix is in the comma list
 * prefixes. Caller frees; NULL when memory is out. */
char *kem_gss_names(const char *prefixes);

int kem_new(struct kem **out, const struct kem_alg *alg) must_check;
/* For group exchange: prime and generator, big-endian. Refuses groups of
 * less than 2048 or more than 8192 bits, even or trivial values. */
int kem_new_group(struct kem **out, const struct kem_alg *alg,
    struct span prime, struct span generator) must_check;
void kem_free(struct kem *k); /* wipes */

/* Client: append the public value's bytes (no length) to init. */
int kem_client_init(struct kem *k, struct buf *init) must_check;
/* Client: from the server's bytes to the encoded shared secret. ERR_KEX_VALUE
 * if the peer's value is invalid. shared must be a secret buffer. */
int kem_client_finish(struct kem *k, struct span reply,
    struct buf *shared) must_check;
/* Server: from the client's bytes to the own value and the secret. */
int kem_server_reply(struct kem *k, struct span init, struct buf *reply,
    struct buf *shared) must_check;

/* The moduli file (7 fields a line). Picks at random among the groups of the
 * smallest size of at least `want` bits, or else the largest, in [min, max];
 * falls back to the fixed groups of RFC 3526 when there is no file or none
 * fits, and gives ERR_NOT_FOUND if none of those does. prime and generator
 * are appended as plain big-endian bytes. path may be NULL. */
int kem_choose_group(const char *path, uint32_t min, uint32_t want,
    uint32_t max, struct buf *prime, struct buf *generator) must_check;
/* The same from a file that was opened earlier, for a process that may not
 * open any. It is read from its current offset to its end. fd -1: no file. */
int kem_choose_group_fd(int fd, uint32_t min, uint32_t want, uint32_t max,
    struct buf *prime, struct buf *generator) must_check;

#endif
