/* SPDX-License-Identifier: ISC */
/*
 * The messages of survive@hpnssh.org and resume@hpnssh.org (docs/PROTOCOL.md):
 * one side puts them, the other reads them. What is read is within the limits
 * below; spans are borrowed. Pure.
 *
 * Threads: any.
 */
#ifndef HPN_CONNECTION_SURVIVE_WIRE_H
#define HPN_CONNECTION_SURVIVE_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

#define SURVIVE_REQUEST "survive@hpnssh.org"

enum {
	SURVIVE_HANDLE_LEN = 16,
	SURVIVE_SECONDS_MAX = 24 * 60 * 60,
};

/* Terms that a client asks for: seconds that the session waits, and bytes that
 * are kept for it. */
struct survive_terms {
	uint32_t seconds, bytes;
};

/* What the server grants. */
struct survive_grant {
	struct span handle, secret;
	uint32_t seconds, bytes;
};

/* The fields of a request to come back. signed_len: bytes of the request in
 * front of the proof, which signs them. */
struct survive_resume {
	struct span handle, proof;
	uint32_t generation;
	uint64_t received;
	size_t signed_len;
};

/* The fields of RESUME_OK. */
struct survive_welcome {
	uint64_t received;
	struct span proof;
};

void survive_put_request(struct buf *b, const struct survive_terms *t);
/* Reads what a client asks for. ERR_UNSUPPORTED: it is of another version. */
int survive_get_request(struct rd r,
    struct survive_terms *t) must_check;
void survive_put_grant(struct buf *b, const struct survive_grant *g);
/* For the client: reads what is granted. ERR_LIMIT: that is more than was asked
 * for, or nothing. */
int survive_get_grant(struct rd r, const struct survive_terms *asked,
    struct survive_grant *g) must_check;
/* Appends the fields behind the method's name, except for the proof, which the
 * caller appends as a string. */
void survive_put_resume(struct buf *b, const struct survive_resume *q);
/* Reads the fields behind the method's name; r: the end of a request of
 * request_len bytes. ERR_UNSUPPORTED: it is of another version. */
int survive_get_resume(struct rd r, size_t request_len,
    struct survive_resume *q) must_check;
void survive_put_welcome(struct buf *b, const struct survive_welcome *w);
int survive_get_welcome(struct rd r, struct survive_welcome *w) must_check;

#endif
