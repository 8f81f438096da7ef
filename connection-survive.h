/* SPDX-License-Identifier: ISC */
/*
 * The keys by which the two ends of a session that survives its transport prove
 * to each other who they are (resume@hpnssh.org in docs/PROTOCOL.md). Each
 * return makes a new key, of the next generation, so a thief of an old one can
 * do nothing once the client has come back.
 *
 * Pure. Threads: any.
 */
#ifndef HPN_CONNECTION_SURVIVE_H
#define HPN_CONNECTION_SURVIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"

enum {
	SURVIVE_SECRET_LEN = 32, /* of the grant */
	SURVIVE_KEY_LEN = 32,
	SURVIVE_PROOF_LEN = 32,
	SURVIVE_OTHERS_MAX = 8,
};

/* Zeroed: none. Clear with survive_keys_clear(), which wipes it.
 *
 * A client that gives a try up comes again with the same key, and the server
 * may see the two tries in another order than they were made. So until the
 * client has spoken, the server cannot know which return it has heard of, and
 * keeps the keys of all. */
struct survive_keys {
	uint8_t key[SURVIVE_KEY_LEN];
	uint8_t older[SURVIVE_KEY_LEN]; /* of the generation before */
	/* Keys of this generation, which returns before the last one have
	 * made. */
	uint8_t others[SURVIVE_OTHERS_MAX][SURVIVE_KEY_LEN];
	unsigned n_others;
	uint32_t generation;
	bool has_older; /* the client may not have got the answer to its last
			 * return yet */
	bool granted;
};

/* The facts that go into the first key of a session. */
struct survive_binding {
	struct span session_id; /* of its first transport */
	struct span hostkey;
	const char *user;
};

/* A request to come back, up to its proof; session_id: that of the new
 * transport. */
struct survive_request {
	struct span session_id, bytes;
	uint32_t generation;
};

/* Makes the key of generation 0 from the granted secret. */
int survive_keys_begin(struct survive_keys *k, const struct survive_binding *b,
    const uint8_t secret[SURVIVE_SECRET_LEN]) must_check;
void survive_keys_clear(struct survive_keys *k);

/* For the client: makes its proof with the newest key. */
int survive_keys_ask(const struct survive_keys *k,
    const struct survive_request *q,
    uint8_t proof[SURVIVE_PROOF_LEN]) must_check;
/* Server: is the proof right, by a key of the newest generation or the one
 * before? Changes nothing. */
bool survive_keys_check(const struct survive_keys *k,
    const struct survive_request *q, struct span proof);
/* For the server: checks the proof as survive_keys_check(), and begins the next
 * generation. answer: the server's proof, which includes the number of messages
 * that it has received. ERR_DENIED: the proof is wrong, and nothing has
 * changed. */
int survive_keys_accept(struct survive_keys *k,
    const struct survive_request *q, struct span proof, uint64_t received,
    uint8_t answer[SURVIVE_PROOF_LEN]) must_check;
/* For the client: checks the server's answer to this request and proof, and
 * begins the next generation. ERR_DENIED: it is wrong. */
int survive_keys_confirm(struct survive_keys *k,
    const struct survive_request *q, struct span proof, uint64_t received,
    struct span answer) must_check;
/* For the server: the client has sent a message over the transport of the last
 * return, so it has that return's key. */
void survive_keys_settle(struct survive_keys *k);

#endif
