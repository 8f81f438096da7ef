/* SPDX-License-Identifier: ISC */
/*
 * Messages between the programs that use security keys (FIDO) and
 * hpnssh-sk-helper: a request and its answer, each with its length in front
 * (fd_send_msg()). Both sides read what the other sent as if a stranger had:
 * the helper runs a library of somebody else.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_SK_WIRE_H
#define HPN_KEYS_SK_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum {
	SK_REQUEST_MAX = 512 * 1024, /* bytes of a message */
	SK_ANSWER_MAX = 1024 * 1024,
	SK_FIELD_MAX = 64 * 1024, /* bytes of a field of an answer */
	SK_TEXT_MAX = 4096,	  /* bytes of a text, with its NUL */
	SK_FOUND_MAX = 512,	  /* resident keys */
};

enum sk_op { SK_SIGN = 1, SK_ENROLL = 2, SK_LOAD = 3 };

/* The numbers of the algorithms for the libraries of providers. */
enum { SK_ALG_ECDSA = 0, SK_ALG_ED25519 = 1 };

/* The result of a request: the negative numbers that libraries of providers
 * return, without their sign. */
enum sk_status {
	SK_DONE = 0,
	SK_FAILED = 1,
	SK_UNSUPPORTED = 2,
	SK_NEEDS_PIN = 3,
	SK_NO_DEVICE = 4,
	SK_HAS_KEY = 5,
};

/* A request. Texts and spans are borrowed; in one that was read, from the
 * message. */
struct sk_request {
	enum sk_op op;
	const char *provider; /* "internal", or the path of a library */
	const char *device, *pin, *user; /* NULL: not given */
	const char *application;	/* not with SK_LOAD */
	uint32_t alg;
	uint8_t flags;	     /* KEY_SK_* */
	struct span message; /* to be signed; with SK_ENROLL the challenge */
	struct span handle;  /* with SK_SIGN */
};

int sk_put_request(const struct sk_request *q, struct buf *out) must_check;
int sk_read_request(struct span message, struct sk_request *q) must_check;

struct sk_signed {
	uint8_t flags;
	uint32_t counter;
	/* The signature. Ed25519: r has all of it. ECDSA: two numbers, high
	 * byte first. */
	struct span r, s;
};

/* A key that was made. */
struct sk_made {
	uint8_t flags;
	struct span public_key, handle, signature, cert, authdata;
};

/* A resident key. */
struct sk_found {
	uint32_t alg;
	uint8_t flags;
	const char *application;
	struct span user, public_key, handle;
};

/* Append the parts of an answer: its head, and after SK_DONE the result of op:
 * one struct, or for SK_LOAD a number and as many structs. */
void sk_put_head(struct buf *out, enum sk_op op, enum sk_status status);
void sk_put_signed(struct buf *out, const struct sk_signed *s);
void sk_put_made(struct buf *out, const struct sk_made *m);
void sk_put_found(struct buf *out, const struct sk_found *f);

/* Reads the head of an answer; *rd is then behind it. ERR_PROTOCOL: this is no
 * answer to op. */
int sk_read_head(struct span answer, enum sk_op op, struct rd *rd,
    enum sk_status *status) must_check;
int sk_read_signed(struct rd *rd, struct sk_signed *s) must_check;
int sk_read_made(struct rd *rd, struct sk_made *m) must_check;
int sk_read_count(struct rd *rd, uint32_t *n) must_check;
int sk_read_found(struct rd *rd, struct sk_found *f) must_check;

#endif
