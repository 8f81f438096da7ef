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
	SK_FIELD_MAX = 64 * 1024, /* of a field of an answer */
	SK_TEXT_MAX = 4096,	  /* of a text, with its NUL */
	SK_FOUND_MAX = 512,	  /* resident keys */
};

enum sk_op { SK_SIGN = 1, SK_ENROLL = 2, SK_LOAD = 3 };

/* The numbers by which libraries of providers are told. */
enum { SK_ALG_ECDSA = 0, SK_ALG_ED25519 = 1 };

/* How it went; without its sign what a library of a provider returns. */
enum sk_status {
	SK_DONE = 0,
	SK_FAILED = 1,
	SK_UNSUPPORTED = 2,
	SK_NEEDS_PIN = 3,
	SK_NO_DEVICE = 4,
	SK_HAS_KEY = 5,
};

/* Texts and spans are borrowed: of what is read, from the message. */
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
	/* Ed25519: r is all of it; ECDSA: numbers, high byte first. */
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

/* An answer: its head, and if the status is SK_DONE what belongs to op:
 * one struct, or with SK_LOAD a number and so many of them. */
void sk_put_head(struct buf *out, enum sk_op op, enum sk_status status);
void sk_put_signed(struct buf *out, const struct sk_signed *s);
void sk_put_made(struct buf *out, const struct sk_made *m);
void sk_put_found(struct buf *out, const struct sk_found *f);

/* *rd stands behind the head. ERR_PROTOCOL: this is no answer to op. */
int sk_read_head(struct span answer, enum sk_op op, struct rd *rd,
    enum sk_status *status) must_check;
int sk_read_signed(struct rd *rd, struct sk_signed *s) must_check;
int sk_read_made(struct rd *rd, struct sk_made *m) must_check;
int sk_read_count(struct rd *rd, uint32_t *n) must_check;
int sk_read_found(struct rd *rd, struct sk_found *f) must_check;

#endif
