/* SPDX-License-Identifier: ISC */
/*
 * Decides whether a user may log in with a certificate, by the certificate
 * itself and by the line that was found for it. The caller has already checked
 * that the authority is trusted and nothing is revoked. These functions read no
 * clock and no file. The reason for a refusal is a static text in the words of
 * OpenSSH's log, which programs know.
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

/* A certificate that a client shows to log in. */
struct authcert_shown {
	const struct cert *cert;
	const char *login;   /* name of the user to log in as */
	const char *address; /* address of the client, numeric */
	uint64_t now;	     /* seconds since 1970 */
};

/* Decides by a line with cert-authority in the user's own file. NULL: the
 * certificate is accepted, and *permits is what line and certificate both
 * allow. Else the reason for the refusal, and *permits allows nothing. */
const char *authcert_refusal_of_line(const struct authcert_shown *shown,
    const struct authkeys_options *line, struct permits *permits) must_check;

/* Decides for an authority of TrustedUserCAKeys. line is the line of the user's
 * list of principals that names a principal of the certificate; applies is the
 * result of authkeys_options_apply() for it. line NULL: there are no such
 * lists, and the certificate must name the user. Results as above. */
const char *authcert_refusal_by_ca(const struct authcert_shown *shown,
    const struct authkeys_options *line, enum authkeys_applies applies,
    struct permits *permits) must_check;

/* Parses a line of a list of principals: a name, and perhaps options in front
 * of it. 0: the certificate has this principal, and *o is filled.
 * ERR_NOT_FOUND: it has not. Other errors: the line is malformed, *why is a
 * static text. */
int authcert_match_principal(const char *line, const struct cert *c,
    struct authkeys_options *o, const char **why) must_check;

/* Logs that the certificate is refused. hash: for fingerprints in the log. via:
 * the place of the line that was found for it, or NULL. */
void authcert_log_refusal(const struct cert *c, enum digest_alg hash,
    const char *via, const char *why);

/* Initialises *to with what a line allows. Always true. */
bool authcert_copy_permits(const struct permits *from, struct permits *to);

#endif
