/* SPDX-License-Identifier: ISC */
/*
 * Is a signature good, and for a security key (FIDO): was it touched, and did
 * it know its user, where that is asked for?
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "server/monitor/login-internal.h"

/* The texts end in a blank, because programs look for them. */
#define UNTOUCHED "user presence (authenticator touch) requirement not met "
#define UNVERIFIED "user verification requirement not met "

static bool
has_option(const struct login *l, const char *name)
{
	return strlist_has(&l->conf.login.pubkey_auth_options, name);
}

/* The touch or the check of the user that is missing. What the key's line or
 * its certificate permits, the administrator may still ask for. NULL:
 * nothing. */
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
