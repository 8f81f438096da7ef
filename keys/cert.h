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
	uint64_t serial; /* serial number; 0: the authority gives none */
	enum cert_kind kind;
	char *id;
	struct strlist principals;
	uint64_t valid_after, valid_before; /* seconds since 1970 */
	struct span critical, extensions;   /* parts of blob; well-formed */
	struct key *ca;			    /* a plain key */
	/* the authority's algorithm; static */
	const char *signature_alg;
	struct buf blob;
};

/* The certificate that k is, borrowed from k; NULL: k is none. */
const struct cert *key_cert(const struct key *k);

/* ---- making ------------------------------------------------------------- */

/* An option that is to be written. value NULL: the option has only a name. */
struct cert_option {
	char *name, *value;
};

/* Options, sorted by name, because other programs expect that. Zeroed: none. */
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

/* Called to sign: appends the authority's signature over data, in its wire
 * form. */
typedef int (*cert_sign_fn)(void *arg, struct span data,
    struct buf *signature);

/* Makes a certificate for the plain key k; it is private if k is. ERR_ARGUMENT:
 * k or ca is a certificate; ERR_SIGNATURE: the signature that sign() made is
 * not by ca. */
int cert_make(const struct key *k, const struct cert_request *request,
    const struct key *ca, cert_sign_fn sign, void *arg,
    struct key **out) must_check;

/* ---- checking ----------------------------------------------------------- */

/* The reason (static) to refuse the certificate: it is of another kind, is not
 * valid now, or does not have `name` among its principals. NULL: there is none.
 * Principals of users are compared as they are; those of hosts are patterns,
 * for a name in lower case. name NULL: the caller compares the principals
 * itself (key lines with principals="..."), and only a certificate without any
 * is refused. */
const char *cert_refusal(const struct cert *c, enum cert_kind kind,
    uint64_t now, const char *name);
/* Did the authority sign by one of these algorithms (comma list)? */
bool cert_alg_allowed(const struct cert *c, const char *algorithms);
/* The reason (static) to refuse the certificate of a host, also because of its
 * options; NULL: there is none. */
const char *cert_host_refusal(const struct cert *c, uint64_t now,
    const char *host, const char *ca_algorithms);

/* What the certificate of a user allows. Clear with cert_grants_clear(). */
struct cert_grants {
	bool pty, user_rc;
	bool agent_forwarding, port_forwarding, x11_forwarding;
	bool no_touch;	      /* a security key need not be touched */
	bool verify_required; /* a security key must verify its user */
	char *command;	      /* forced; NULL: any */
	/* addresses of clients, as in from=; not parsed; NULL: any */
	char *addresses;
	struct strlist ignored; /* extensions that are not known here */
};

/* Reads the options of a user's certificate. ERR_DENIED, and *why (static): a
 * critical option is unknown or stands twice, or the data of an option are
 * malformed. */
int cert_grants_read(const struct cert *c, struct cert_grants *out,
    const char **why) must_check;
void cert_grants_clear(struct cert_grants *g);

/* Reads the next option from r, a cursor in c->critical or c->extensions; false
 * at the end. */
bool cert_option_next(struct rd *r, struct span *name, struct span *data);
/* The value of an option: its data have to be one string without NUL. The
 * caller frees it. NULL: the data are something else. */
char *cert_option_value(struct span data);

#endif
