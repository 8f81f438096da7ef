/* SPDX-License-Identifier: ISC */
/*
 * Certificates: a key with what a certificate authority says of it. In memory
 * a certificate is a struct key (key_is_cert()), which key_from_blob() makes
 * only if the authority's signature is right. What it is worth is another
 * question, that the checks below answer: they ask no clock and no file.
 *
 * The blob: string type, string nonce, the fields of the public key, u64
 * serial, u32 kind, string id, string principals (strings), u64 valid after,
 * u64 valid before, string critical options, string extensions (name and data,
 * both strings), string reserved, string blob of the authority's key, string
 * signature over all that stands before it.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_CERT_H
#define HPN_KEYS_CERT_H

#include "base/str.h"
#include "keys/key.h"

enum cert_kind { CERT_USER = 1, CERT_HOST = 2 };

enum {
	CERT_PRINCIPALS_MAX = 256,
	CERT_BLOB_MAX = 64 * 1024, /* bytes */
};
#define CERT_FOREVER UINT64_MAX

struct cert {
	uint64_t serial; /* 0: the authority does not number */
	enum cert_kind kind;
	char *id;
	struct strlist principals;
	uint64_t valid_after, valid_before; /* seconds since 1970 */
	struct span critical, extensions;   /* in blob; well-formed */
	struct key *ca;			    /* a plain key */
	const char *signature_alg;	    /* of the authority; static */
	struct buf blob;
};

/* NULL if k is no certificate. Borrowed from k. */
const struct cert *key_cert(const struct key *k);

/* ---- making ------------------------------------------------------------- */

/* An option that is to be written. value NULL: it stands by its name alone. */
struct cert_option {
	char *name, *value;
};

/* Sorted by name, as readers of other programs expect. Zeroed = empty. */
struct cert_options {
	struct cert_option *v;
	size_t n;
};

int cert_options_add(struct cert_options *o, const char *name,
    const char *value) must_check;
bool cert_options_has(const struct cert_options *o, const char *name);
void cert_options_clear(struct cert_options *o);

struct cert_request {
	uint64_t serial;
	enum cert_kind kind;
	const char *id;
	struct strlist principals;
	uint64_t valid_after, valid_before;
	struct cert_options critical, extensions;
};

/* Appends the authority's signature, in its wire form. */
typedef int (*cert_sign_fn)(void *arg, struct span data,
    struct buf *signature);

/* A certificate for the plain key k, private if that is. ERR_ARGUMENT: k or ca
 * is a certificate itself; ERR_SIGNATURE: sign made one that is not ca's. */
int cert_make(const struct key *k, const struct cert_request *request,
    const struct key *ca, cert_sign_fn sign, void *arg,
    struct key **out) must_check;

/* ---- checking ----------------------------------------------------------- */

/*
 * Is the certificate of this kind, does it hold now, and does it name name?
 * NULL if so; else the reason, static. Users are compared as they are; the
 * names of hosts are patterns, for a name in lower case. name NULL: it is the
 * caller who compares (key lines with principals="..."), but a certificate
 * that names nobody is refused then, too.
 */
const char *cert_refusal(const struct cert *c, enum cert_kind kind,
    uint64_t now, const char *name);
/* Did the authority sign by one of these algorithms (comma list)? */
bool cert_alg_allowed(const struct cert *c, const char *algorithms);
/* The reason to refuse the certificate of a host, all of it; or NULL. */
const char *cert_host_refusal(const struct cert *c, uint64_t now,
    const char *host, const char *ca_algorithms);

/* What the certificate of a user allows. Clear with cert_grants_clear(). */
struct cert_grants {
	bool pty, user_rc;
	bool agent_forwarding, port_forwarding, x11_forwarding;
	bool no_touch;	      /* a security key need not be touched */
	bool verify_required; /* a security key must know its user */
	char *command;	      /* forced; NULL: any */
	char *addresses; /* of clients, as in from=; not parsed; NULL: any */
	struct strlist ignored; /* extensions that are not known here */
};

/* ERR_DENIED: a critical option that is not known, or stands twice, or an
 * option with data that do not belong to it; *why is static. */
int cert_grants_read(const struct cert *c, struct cert_grants *out,
    const char **why) must_check;
void cert_grants_clear(struct cert_grants *g);

/* The next option of c->critical or c->extensions; false at the end. */
bool cert_option_next(struct rd *r, struct span *name, struct span *data);
/* The one string that the data of a valued option hold, without NUL; caller
 * frees. NULL: they hold something else. */
char *cert_option_value(struct span data);

#endif
