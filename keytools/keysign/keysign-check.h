/* SPDX-License-Identifier: ISC */
/*
 * The checks of hpnssh-keysign, which signs with the keys of the host: only
 * requests for host-based authentication (RFC 4252 section 9) that tell the
 * truth about the user and the host that ask. Everything else is refused,
 * because others trust a signature by the host's key as the host's statement.
 *
 * Request: byte 2, u32 number of the descriptor with the connection, string
 * data. Data: string session identifier, byte 50, string login, string service,
 * string method, string algorithm, string key, string name of the host with a
 * dot at its end, string name of its user.
 *
 * Uses no files, clock or other system calls. Threads: any.
 */
#ifndef HPN_KEYTOOLS_KEYSIGN_KEYSIGN_CHECK_H
#define HPN_KEYTOOLS_KEYSIGN_KEYSIGN_CHECK_H

#include "base/buf.h"
#include "base/err.h"
#include "keys/key.h"

enum {
	KEYSIGN_VERSION = 2,
	KEYSIGN_CONNECTION_FD = 3,
	KEYSIGN_REQUEST_MAX = 128 * 1024, /* bytes of a request */
};

/* The facts that a request is checked against. */
struct keysign_facts {
	const char *user; /* name of the user who started the program */
	const char *host; /* name of the local address of the connection */
	/* Host's private keys; NULL: that key is missing. */
	struct key *const *keys;
	size_t n;
};

/* What may be signed: the data, the key and the algorithm. All borrowed. */
struct keysign_order {
	const struct key *key;
	const char *alg; /* name of the algorithm in the signature */
	struct span data;
};

/* Reads a request without its length field; *data: the data to be signed.
 * ERR_DENIED: its descriptor is not KEYSIGN_CONNECTION_FD; ERR_UNSUPPORTED:
 * another version; or an error of its form. *why: the reason, static. */
int keysign_read(struct span request, struct span *data,
    const char **why) must_check;
/* Checks the data of a request, and sets *order to what is to be signed.
 * ERR_DENIED: it must not be signed; *why has the reason, static. */
int keysign_check(struct span data, const struct keysign_facts *facts,
    struct keysign_order *order, const char **why) must_check;
/* Signs, and appends the whole answer with its length field. */
int keysign_answer(const struct keysign_order *order,
    struct buf *out) must_check;

#endif
