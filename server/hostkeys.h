/* SPDX-License-Identifier: ISC */
/*
 * The host's keys. The listener loads them once and gives them as bytes to the
 * monitor of each connection, which makes a struct key only when it has to
 * sign. The private half may be in an agent or in a security key, which then
 * signs. A key may have a certificate, which is sent to clients that ask for
 * it.
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
	struct key *key;      /* owned; NULL until it signs */
	struct buf public;    /* blob of the plain key */
	struct buf private;   /* secret: key_private_to_wire(); empty: an agent
			       * has it, or it was wiped */
	struct buf cert;      /* blob of the key's certificate; empty: none */
};

/* The host keys of a process. Zeroed: none. */
struct hostkeys {
	struct hostkey v[HOSTKEYS_MAX];
	size_t n;
	char *agent; /* path of the agent's socket; NULL: none; owned */
	/* Library for security keys (sk-client.h); NULL: none; owned. */
	char *provider;
};

/* ---- loading: server/hostkeys-load.c ------------------------------------ */

/* Loads the keys that HostKey, HostCertificate and HostKeyAgent name. A key
 * that cannot be loaded is logged and left out; a file that does not exist is
 * logged only if the configuration names it. Returns how many keys there
 * are. */
size_t hostkeys_load(struct hostkeys *h, const struct server_conf *c);

/* ---- use ---------------------------------------------------------------- */

void hostkeys_clear(struct hostkeys *h); /* frees all, and wipes secrets */
/* Wipes the private halves; the public ones stay. */
void hostkeys_forget_private(struct hostkeys *h);
/* Whether blob is the public blob of a host key or of its certificate. */
bool hostkeys_own(const struct hostkeys *h, struct span blob);
/* The host key whose plain public blob this is; NULL: none. */
struct hostkey *hostkeys_find_blob(struct hostkeys *h, struct span blob);

/* The algorithms of the comma list `wanted` that some host key can serve.
 * Caller frees. */
char *hostkeys_algs(const struct hostkeys *h, const char *wanted);
/* *blob: the public key, or the certificate, that serves alg; borrowed from h.
 * ERR_NOT_FOUND: none does. */
int hostkeys_blob(const struct hostkeys *h, const char *alg,
    struct span *blob) must_check;
/* Appends the signature of data by alg. ERR_NOT_FOUND: no key serves alg.
 * ERR_AGENT, after a log line: the agent or the security key refused, or did
 * not answer within wait_ms. */
int hostkeys_sign(struct hostkeys *h, const char *alg, struct span data,
    unsigned wait_ms, struct buf *signature) must_check;

/*
 * Appends the signature of hostkeys-prove-00@openssh.com, which proves to the
 * client of session_id that we have the private key for this public blob. RSA
 * keys sign by rsa_alg. ERR_NOT_FOUND: the blob is of none of the host's keys.
 * Other errors: as hostkeys_sign().
 */
int hostkeys_prove(struct hostkeys *h, struct span blob, const char *rsa_alg,
    struct span session_id, unsigned wait_ms,
    struct buf *signature) must_check;

/* The wire form, for other processes of this server. */
void hostkeys_export(const struct hostkeys *h, struct buf *out);
/* As hostkeys_export(), with empty private halves, agent and provider. */
void hostkeys_export_public(const struct hostkeys *h, struct buf *out);
int hostkeys_import(struct hostkeys *h, struct rd *in) must_check;

#endif
