/* SPDX-License-Identifier: ISC */
/*
 * Signatures by security keys (FIDO), new keys on them, and those that they
 * keep. A process of its own, hpnssh-sk-helper (or what $SSH_SK_HELPER names),
 * does each of it with the library of a provider, so that this library is
 * never a part of the caller: it may hang, crash and lie there.
 *
 * Errors: ERR_SK_PIN: ask the user for the PIN and call again; ERR_SK_DEVICE;
 * ERR_SK_EXISTS; ERR_UNSUPPORTED; ERR_TIMEOUT; ERR_FORMAT: the library failed
 * without a better word; ERR_SIGNATURE: it lied; ERR_SK_HELPER: the helper
 * could not be run, or ended without an answer.
 *
 * Threads: any, but one at a time: helpers that were given up are remembered
 * and waited for by later calls.
 */
#ifndef HPN_KEYS_SK_CLIENT_H
#define HPN_KEYS_SK_CLIENT_H

#include "keys/key.h"

/* The parameters of each call, borrowed during the call. */
struct sk_params {
	const char *provider; /* "internal", or the path of a library */
	const char *device;   /* NULL: any */
	const char *pin;      /* NULL: none was asked for yet */
	unsigned limit_ms;    /* 0: the default, for calls that block */
};

/* The provider that a setting names; for "$NAME" it is the value of that
 * environment variable. NULL: there is none. Borrowed from text or the
 * environment. */
const char *sk_provider(const char *text);

/* The reason why this program cannot sign by that provider (NULL: none). NULL:
 * it can, or the helper will tell the reason. */
const char *sk_why_unusable(const char *provider);

/* Can a signature by alg be made here? Those of browsers cannot. */
bool sk_can_sign(const char *alg);

/* ---- calls that block, at most limit_ms --------------------------------- */

/* Has k sign data, verifies the signature, and appends it in its wire form. k
 * is the private half of a security key, or a certificate with that. */
int sk_client_sign(const struct sk_params *p, const struct key *k,
    const char *alg, struct span data, struct buf *signature) must_check;

struct sk_enroll {
	const char *type; /* "ed25519-sk", "ecdsa-sk" */
	const char *application;
	const char *user; /* name of the user for whom the key is; NULL: none */
	uint8_t flags;	  /* KEY_SK_* */
	struct span challenge;
};

/* A new key. Clear it with sk_enrolled_clear(). */
struct sk_enrolled {
	struct key *key; /* private */
	struct buf cert, signature, authdata; /* attestation */
};

int sk_client_enroll(const struct sk_params *p, const struct sk_enroll *e,
    struct sk_enrolled *out) must_check;
void sk_enrolled_clear(struct sk_enrolled *e);

struct sk_resident {
	struct key *key; /* private */
	struct buf user; /* the user of the key: a name, or any bytes */
};

int sk_client_load(const struct sk_params *p, struct sk_resident **out,
    size_t *n) must_check;
void sk_residents_free(struct sk_resident *v, size_t n);

/* ---- signing without blocking, for event loops -------------------------- */

struct sk_call;

/* Starts a helper that signs data by k. limit_ms is ignored. */
int sk_sign_begin(struct sk_call **out, const struct sk_params *p,
    const struct key *k, const char *alg, struct span data) must_check;
/* The descriptor to be watched: until it is readable, or while sk_call_writes()
 * until it is writable. */
int sk_call_fd(const struct sk_call *c);
bool sk_call_writes(const struct sk_call *c);
/* To be called when the descriptor is ready. 0: the signature was appended.
 * ERR_AGAIN: it is not complete yet. */
int sk_sign_step(struct sk_call *c, struct buf *signature) must_check;
/* Ends the helper, whatever it does. NULL is fine. */
void sk_call_end(struct sk_call *c);

#endif
