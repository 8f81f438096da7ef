/* SPDX-License-Identifier: ISC */
/*
 * The host's keys: loaded once by the listener, given to each connection's
 * monitor as bytes, turned into a key only when it has to sign.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_HOSTKEYS_H
#define HPN_SERVER_HOSTKEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

struct key;

enum { HOSTKEYS_MAX = 16 };

struct hostkey {
	struct key *key;      /* owned; NULL until it is needed */
	struct buf public;    /* public blob */
	struct buf private;   /* secret: key_private_to_wire(); may be empty */
};

/* Zeroed = none. */
struct hostkeys {
	struct hostkey v[HOSTKEYS_MAX];
	size_t n;
};

/* Loads what can be loaded; logs the rest, quietly for files that are not
 * there unless they were asked for. Returns how many. */
size_t hostkeys_load(struct hostkeys *h, const struct strlist *paths,
    bool given, int min_rsa_bits);
void hostkeys_clear(struct hostkeys *h); /* wipes */
/* Wipes the private halves; the public ones stay. */
void hostkeys_forget_private(struct hostkeys *h);

/* Those of the comma list that some key can serve. Caller frees. */
char *hostkeys_algs(const struct hostkeys *h, const char *wanted);
/* Public blob of the key that serves alg; ERR_NOT_FOUND. */
int hostkeys_blob(const struct hostkeys *h, const char *alg,
    struct span *blob) must_check;
int hostkeys_sign(struct hostkeys *h, const char *alg, struct span data,
    struct buf *signature) must_check;

/*
 * hostkeys-prove-00@openssh.com: the signature that proves, to the client of
 * this session, that we have the key with this public blob. RSA keys sign
 * with rsa_alg. ERR_NOT_FOUND: it is none of ours.
 */
int hostkeys_prove(struct hostkeys *h, struct span blob, const char *rsa_alg,
    struct span session_id, struct buf *signature) must_check;

/* To processes of our own. */
void hostkeys_export(const struct hostkeys *h, bool with_private,
    struct buf *out);
int hostkeys_import(struct hostkeys *h, struct rd *in) must_check;

#endif
