/* SPDX-License-Identifier: ISC */
/*
 * Parses lines of authorized_keys and their options, and looks for a user's key
 * or for the authority of a certificate. The parser is pure; only
 * authkeys_search() opens files.
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

/* The options of a line: when the line applies, and what it allows then. Clear
 * with authkeys_options_clear(). */
struct authkeys_options {
	bool cert_authority; /* the line names a CA, not a key */
	char *from;	     /* list of patterns; owned; NULL: any client */
	char *principals;    /* comma list; owned; only with cert_authority */
	struct permits permits;
};

/* Sets *o to the options of a line that has none. */
void authkeys_options_init(struct authkeys_options *o);
void authkeys_options_clear(struct authkeys_options *o);
/* Parses a text that contains only options. After an error *o is clear, and
 * *why is a static text. */
int authkeys_parse_options(const char *text, struct authkeys_options *o,
    const char **why) must_check;

/* What to look for. A plain key is looked for in lines without cert-authority.
 * A certificate is looked for by its authority's key, in lines with
 * cert-authority. */
struct authkeys_wanted {
	struct span blob; /* of the plain key, or of the authority's key */
	bool is_ca;
};
/* Parses one line. 0: it is for the wanted key, and *o is filled.
 * ERR_NOT_FOUND: it is blank, a comment, for another key, or (by
 * cert-authority) of the other kind. Other errors: it is malformed, and *why is
 * a static text or NULL. */
int authkeys_match_line(const char *line, const struct authkeys_wanted *wanted,
    struct authkeys_options *o, const char **why) must_check;

/* Whether the options apply to this client (by host name and numeric address)
 * at the time now, in seconds since 1970. */
enum authkeys_applies {
	AUTHKEYS_APPLIES,
	AUTHKEYS_EXPIRED,
	AUTHKEYS_OTHER_CLIENT,
	AUTHKEYS_BAD_NETWORK, /* from= has a malformed network */
};
enum authkeys_applies authkeys_options_apply(const struct authkeys_options *o,
    const char *host, const char *address, int64_t now) must_check;

struct authkeys_query {
	const struct user *user;
	struct authkeys_wanted wanted;
	const struct cert *cert; /* the certificate shown; NULL: a plain key */
	const char *address;	/* address of the peer, numeric */
	const char *host;	/* name of the peer, or the address again */
	int64_t now;		/* seconds since 1970 */
	enum digest_alg hash;	/* for fingerprints in the log */
	bool strict_modes;
	bool user_environment;	/* environment= has an effect */
};

/* Looks for the key or certificate in one file, with the user's rights. 0:
 * found, *permits is what the line (and the certificate) allow, and *line_no
 * its number. ERR_NOT_FOUND: there is no line for it, or none that applies
 * (expired, for another client, or not for this certificate). Other errors: the
 * file cannot be used. After any error *permits allows nothing. */
int authkeys_search(const struct authkeys_query *q, const char *path,
    struct permits *permits, unsigned *line_no) must_check;
/* Does the same with the lines of f; name: of the file, for the log. */
int authkeys_search_lines(const struct authkeys_query *q, FILE *f,
    const char *name, struct permits *permits, unsigned *line_no) must_check;

/* Logs why options do not apply. where: place of the line, which begins the log
 * line. */
void authkeys_log_refusal(const struct authkeys_query *q,
    const struct authkeys_options *o, enum authkeys_applies what,
    const char *where);

#endif
