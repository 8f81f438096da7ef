/* SPDX-License-Identifier: ISC */
/*
 * The host's keys: loaded once by the listener, given to each connection's
 * monitor as bytes, turned into a key only when it has to sign. A private half
 * may be in an agent or in a security key instead, which then signs. A key may
 * have a certificate, which clients get instead of it if they want that.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_HOSTKEYS_H
#define HPN_SERVER_HOSTKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

struct key;
struct server_conf;

enum { HOSTKEYS_MAX = 16 };

struct hostkey {
	struct key *key;      /* owned; NULL until it is needed */
	struct buf public;    /* blob of the plain key */
	struct buf private;   /* secret: key_private_to_wire(); may be empty */
	struct buf cert;      /* blob of its certificate; may be empty */
};

/* Zeroed = none. */
struct hostkeys {
	struct hostkey v[HOSTKEYS_MAX];
	size_t n;
	char *agent; /* path of its socket; NULL: none; owned */
	char *provider; /* of security keys: sk-client.h; NULL: none; owned */
};

/* ---- loading: server/hostkeys-load.c ------------------------------------ */

/* Loads what HostKey, HostCertificate and HostKeyAgent name, as far as that
 * can be; logs the rest, quietly for files that are not there unless they were
 * asked for. Returns how many keys. */
size_t hostkeys_load(struct hostkeys *h, const struct server_conf *c);

/* ---- use ---------------------------------------------------------------- */

void hostkeys_clear(struct hostkeys *h); /* wipes */
/* Wipes the private halves; the public ones stay. */
void hostkeys_forget_private(struct hostkeys *h);
/* Is this the blob of a key, or of its certificate? */
bool hostkeys_own(const struct hostkeys *h, struct span blob);
/* The key with this blob; NULL: none. */
struct hostkey *hostkeys_find_blob(struct hostkeys *h, struct span blob);

/* Those of the comma list that some key can serve. Caller frees. */
char *hostkeys_algs(const struct hostkeys *h, const char *wanted);
/* Blob of the key, or the certificate, that serves alg; ERR_NOT_FOUND. */
int hostkeys_blob(const struct hostkeys *h, const char *alg,
    struct span *blob) must_check;
/* An agent or a security key that has not answered after wait_ms, or refuses:
 * ERR_AGENT, which was logged. */
int hostkeys_sign(struct hostkeys *h, const char *alg, struct span data,
    unsigned wait_ms, struct buf *signature) must_check;

/*
 * hostkeys-prove-00@openssh.com: the signature that proves, to the client of
 * this session, that we have the key with this public blob. RSA keys sign
 * with rsa_alg. ERR_NOT_FOUND: it is none of ours.
 */
int hostkeys_prove(struct hostkeys *h, struct span blob, const char *rsa_alg,
    struct span session_id, unsigned wait_ms,
    struct buf *signature) must_check;

/* To processes of our own. */
void hostkeys_export(const struct hostkeys *h, struct buf *out);
/* Without private halves, and without an agent. */
void hostkeys_export_public(const struct hostkeys *h, struct buf *out);
int hostkeys_import(struct hostkeys *h, struct rd *in) must_check;

#endif
