/* SPDX-License-Identifier: ISC */
/*
 * May a user log in with a certificate? What the certificate itself, and the
 * line that was found for it, have to say. That its authority is trusted, and
 * nothing is revoked, was found out before. These ask no clock and no file; a
 * reason is static, and in the words that programs know from OpenSSH's log.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_AUTHORIZED_CERTS_H
#define HPN_SERVER_MONITOR_AUTHORIZED_CERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/cert.h"
#include "server/monitor/authorized-keys.h"
#include "server/permits.h"

enum { AUTHCERT_ID_SHOWN = 1024 }; /* bytes of an id in the log */

/* A certificate that somebody shows. */
struct authcert_shown {
	const struct cert *cert;
	const char *login;   /* name of the user who is to be logged in */
	const char *address; /* of the client, numeric */
	uint64_t now;	     /* seconds since 1970 */
};

/* By the user's own line with cert-authority, whose options apply. NULL, and
 * *permits has what line and certificate both allow; else the reason, and
 * nothing is permitted. */
const char *authcert_refusal_of_line(const struct authcert_shown *shown,
    const struct authkeys_options *line, struct permits *permits) must_check;

/* By an authority that the administrator trusts (TrustedUserCAKeys), and a
 * principal of the certificate that the user's list has; this line of the list
 * stands for it. line NULL: users have no lists, and the certificate has to
 * name the user. applies: of the options of the line. */
const char *authcert_refusal_by_ca(const struct authcert_shown *shown,
    const struct authkeys_options *line, enum authkeys_applies applies,
    struct permits *permits) must_check;

/* A line of a list of principals: the last word is the name, in front of it may
 * stand options. 0, with *o filled: it names one of the certificate's.
 * ERR_NOT_FOUND: it does not. Other errors: malformed, *why tells. */
int authcert_match_principal(const char *line, const struct cert *c,
    struct authkeys_options *o, const char **why) must_check;

/* Tells that the certificate is refused. hash: of fingerprints; via: the line
 * that led to it, or NULL. */
void authcert_log_refusal(const struct cert *c, enum digest_alg hash,
    const char *via, const char *why);

/* Copies what a line allows into *to, which holds nothing. Always true. */
bool authcert_copy_permits(const struct permits *from, struct permits *to);

#endif
