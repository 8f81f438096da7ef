/* SPDX-License-Identifier: ISC */
/*
 * Checks signatures, and for security keys (FIDO) also whether the key was
 * touched and has verified its user, where that is required.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "server/monitor/login-internal.h"

/* The blank at the end is as in OpenSSH: programs look for these texts. */
#define UNTOUCHED "user presence (authenticator touch) requirement not met "
#define UNVERIFIED "user verification requirement not met "

static bool
has_option(const struct login *l, const char *name)
{
	return strlist_has(&l->conf.login.pubkey_auth_options, name);
}

/* The text about a touch or verification that is required and missing; NULL:
 * none is. The administrator may require them even if the key's line or
 * certificate does not. */
static const char *
missing(const struct login *l, const struct key_sk_seen *seen,
    const struct permits *p)
{
	bool touch = !p->no_touch || has_option(l, "touch-required");
	bool verify = p->verify_required || has_option(l, "verify-required");

	if (touch && !seen->touched)
		return UNTOUCHED;
	return verify && !seen->user_verified ? UNVERIFIED : NULL;
}

bool
login_signature_is_good(const struct login *l, const struct key *k,
    const char *alg, struct span data, struct span signature,
    const struct permits *p)
{
	struct key_sk_seen seen;
	const char *why;
	char *text;

	if (key_verify_seen(k, alg, data, signature, &seen) != 0)
		return false;
	if (key_sk(k) == NULL)
		return true;
	why = missing(l, &seen, p);
	if (why == NULL)
		return true;
	text = login_key_text(l, k);
	log_error("public key %s signature for %s from %s port %u rejected: %s",
	    text, l->shown_name, l->peer->address, l->peer->port, why);
	free(text);
	return false;
}
