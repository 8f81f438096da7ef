/* SPDX-License-Identifier: ISC */
/*
 * What hpnssh-keysign signs with the keys of the host: requests for host-based
 * authentication (RFC 4252 section 9) that say nothing but the truth about who
 * asks and from where. Everything else is refused, because a signature of the
 * host's key is the host's word.
 *
 * Request: byte 2, u32 number of the descriptor with the connection, string
 * data. Data: string session identifier, byte 50, string login, string
 * service, string method, string algorithm, string key, string name of the
 * host with a dot at its end, string name of its user.
 *
 * Pure: asks no file, no clock and no system. Threads: any.
 */
#ifndef HPN_KEYTOOLS_KEYSIGN_KEYSIGN_CHECK_H
#define HPN_KEYTOOLS_KEYSIGN_KEYSIGN_CHECK_H

#include "base/buf.h"
#include "base/err.h"
#include "keys/key.h"

enum {
	KEYSIGN_VERSION = 2,
	KEYSIGN_CONNECTION_FD = 3,
	KEYSIGN_REQUEST_MAX = 128 * 1024, /* bytes */
};

/* The facts that a request is checked against. */
struct keysign_facts {
	const char *user; /* who has started the program */
	const char *host; /* name of the connection's own address */
	struct key *const *keys; /* private; NULL: not there */
	size_t n;
};

/* What may be signed, how and with which key. All borrowed. */
struct keysign_order {
	const struct key *key;
	const char *alg; /* that the signature carries */
	struct span data;
};

/* A request without its length: its data, if it is about the descriptor that
 * it must be about; else the error, and *why, static. */
int keysign_read(struct span request, struct span *data,
    const char **why) must_check;
/* ERR_DENIED, and *why: this is not signed. */
int keysign_check(struct span data, const struct keysign_facts *facts,
    struct keysign_order *order, const char **why) must_check;
/* Appends the whole answer, with its length. */
int keysign_answer(const struct keysign_order *order,
    struct buf *out) must_check;

#endif
