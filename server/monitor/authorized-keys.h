/* SPDX-License-Identifier: ISC */
/*
 * authorized_keys: lines, their options, and the search for a user's key or
 * for the authority of a certificate. The parser is pure; only
 * authkeys_search() touches files.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_AUTHORIZED_KEYS_H
#define HPN_SERVER_MONITOR_AUTHORIZED_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "keys/cert.h"
#include "server/permits.h"
#include "server/user.h"

/* A line's options: when it counts, and what it allows then. Clear with
 * authkeys_options_clear(). */
struct authkeys_options {
	bool cert_authority; /* the line names a CA, not a key */
	char *from;	     /* owned pattern list; NULL: from anywhere */
	char *principals;    /* owned; of a CA's line only */
	struct permits permits;
};

/* Those of a line without any. */
void authkeys_options_init(struct authkeys_options *o);
void authkeys_options_clear(struct authkeys_options *o);
/* The same of a text that holds nothing but options. *why is static. */
int authkeys_parse_options(const char *text, struct authkeys_options *o,
    const char **why) must_check;

/* What somebody shows: a plain key, or a certificate. That is looked for by
 * its authority, and in lines with cert-authority only; a plain key never fits
 * these, nor a certificate any other line. */
struct authkeys_wanted {
	struct span blob; /* of the plain key, or of the authority's */
	bool is_ca;
};
/* One line. ERR_NOT_FOUND: blank, comment, another key, or a line of the other
 * kind. 0: it is this key, *o is filled. Other errors: malformed. */
int authkeys_match_line(const char *line, const struct authkeys_wanted *wanted,
    struct authkeys_options *o, const char **why) must_check;

/* Do the options count for this client (name and numeric address), now? */
enum authkeys_applies {
	AUTHKEYS_APPLIES,
	AUTHKEYS_EXPIRED,
	AUTHKEYS_OTHER_CLIENT,
	AUTHKEYS_BAD_NETWORK, /* from= cannot be read */
};
enum authkeys_applies authkeys_options_apply(const struct authkeys_options *o,
    const char *host, const char *address, int64_t now) must_check;

struct authkeys_query {
	const struct user *user;
	struct authkeys_wanted wanted;
	const struct cert *cert; /* that is shown; NULL: a plain key */
	const char *address;	/* of the peer, numeric */
	const char *host;	/* its name, or the address again */
	int64_t now;		/* seconds since 1970 */
	enum digest_alg hash;	/* of fingerprints in the log */
	bool strict_modes;
	bool user_environment;	/* environment= counts */
};

/* Looks for the key or certificate in one file, as the user. 0 with *permits
 * (of the line, and of the certificate) and *line_no filled; or, with nothing
 * permitted, ERR_NOT_FOUND (also when the line does not apply: expired, from
 * elsewhere, or not for this certificate), or an error that was logged. */
int authkeys_search(const struct authkeys_query *q, const char *path,
    struct permits *permits, unsigned *line_no) must_check;
/* The same in what f holds; name is for the log. */
int authkeys_search_lines(const struct authkeys_query *q, FILE *f,
    const char *name, struct permits *permits, unsigned *line_no) must_check;

/* Logs why options do not apply; where: what stands in front of that. */
void authkeys_log_refusal(const struct authkeys_query *q,
    const struct authkeys_options *o, enum authkeys_applies what,
    const char *where);

#endif
