/* SPDX-License-Identifier: ISC */
/*
 * Key exchange methods. In each of them the client makes an ephemeral value,
 * the server answers with its own, and both compute a shared secret.
 * Diffie-Hellman (RFC 4253 section 8, 8268, 4419), ECDH (RFC 5656), X25519 (RFC
 * 8731), and hybrids of a curve with ML-KEM-768 or sntrup761.
 *
 * A value travels as an SSH string; the mpint of Diffie-Hellman has the same
 * framing. The shared secret is appended as it enters the exchange hash: as an
 * mpint, for hybrids as a string.
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
	enum digest_alg digest; /* hash of the exchange hash and of the KDF */
	bool post_quantum;
	bool group_exchange; /* RFC 4419: needs kem_new_group() */
	bool weak; /* too weak for today: users are warned */
	/* For methods of GSSAPI (RFC 4462, 8732): the name without the
	 * mechanism, as configurations write it. NULL for all other methods. */
	const char *gss_prefix;
	const void *ops;     /* private to kem.c */
	int param;
};

/* The method with this name; NULL: there is none. */
const struct kem_alg *kem_by_name(const char *name);
/* All methods: kem_at() has those without GSSAPI, kem_gss_at() those of GSSAPI.
 * NULL behind the last one. */
const struct kem_alg *kem_at(size_t index);
const struct kem_alg *kem_gss_at(size_t index);
/* The full names, as a comma list, of the GSSAPI methods whose gss_prefix is in
 * the comma list prefixes. The caller frees it; NULL if memory is out. */
char *kem_gss_names(const char *prefixes);

int kem_new(struct kem **out, const struct kem_alg *alg) must_check;
/* Makes the state for a group exchange in the group of prime and generator,
 * which are big-endian bytes. ERR_KEX_VALUE: the prime has fewer than 2048 or
 * more than 8192 bits, or is even, or the generator is trivial. */
int kem_new_group(struct kem **out, const struct kem_alg *alg,
    struct span prime, struct span generator) must_check;
void kem_free(struct kem *k); /* wipes */

/* Client: makes a key pair and appends the bytes of its public value to init,
 * without a length. */
int kem_client_init(struct kem *k, struct buf *init) must_check;
/* Client: computes the shared secret from the bytes of the server's value, and
 * appends it encoded. shared must be a secret buffer. ERR_KEX_VALUE if the
 * server's value is invalid. */
int kem_client_finish(struct kem *k, struct span reply,
    struct buf *shared) must_check;
/* Server: makes its value for the client's one, appends it to reply, and the
 * shared secret to shared as kem_client_finish() does. */
int kem_server_reply(struct kem *k, struct span init, struct buf *reply,
    struct buf *shared) must_check;

/* Chooses a group from the moduli file (moduli.h). Among the groups in [min,
 * max] the smallest size of at least `want` bits is taken, or else the largest
 * size; of several groups of that size, a random one. Without a file (path may
 * be NULL) or without a group that fits, a fixed group of RFC 3526 is chosen in
 * the same way. ERR_NOT_FOUND if none of these fits. Appends prime and
 * generator as big-endian bytes. */
int kem_choose_group(const char *path, uint32_t min, uint32_t want,
    uint32_t max, struct buf *prime, struct buf *generator) must_check;
/* kem_choose_group() for a process that may not open files: fd is the moduli
 * file, which is read from its current offset to its end. fd -1: there is no
 * file. */
int kem_choose_group_fd(int fd, uint32_t min, uint32_t want, uint32_t max,
    struct buf *prime, struct buf *generator) must_check;

#endif
