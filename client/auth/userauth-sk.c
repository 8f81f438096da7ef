/* SPDX-License-Identifier: ISC */
#include "client/auth/userauth-sk.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/screen.h"
#include "keys/sk-client.h"

static const char *
provider(const struct userauth *ua)
{
	return sk_provider(ua->p.conf->auth.security_key_provider);
}

bool
userauth_sk_has_provider(const struct userauth *ua, const struct candidate *c)
{
	if (c->pub == NULL || key_sk(c->pub) == NULL || c->in_agent ||
	    provider(ua) != NULL)
		return true;
	log_debug("Ignoring security key %s: no SecurityKeyProvider", c->name);
	return false;
}

/* A notice to the user to touch the key: on standard error if that is a
 * terminal, else in a window of the askpass program. */
struct notice {
	bool told;
	pid_t window; /* process that shows the window; 0: none */
};

static void
notice_begin(struct notice *n, const struct userauth *ua, const struct key *k)
{
	enum digest_alg hash =
	    (enum digest_alg)ua->p.conf->known.fingerprint_hash;
	char *fp, *text;

	*n = (struct notice){ .told = false };
	if ((key_sk(k)->flags & KEY_SK_TOUCH) == 0)
		return;
	fp = key_fingerprint(k, hash);
	xasprintf(&text, "Confirm user presence for key %s %s",
	    key_short_name(k), fp != NULL ? fp : "");
	free(fp);
	n->told = isatty(STDERR_FILENO) == 1;
	screen_clear();
	if (n->told)
		fprintf(stderr, "%s\r\n", text);
	else if (!ua->p.conf->auth.batch_mode)
		n->window = askpass_show(text);
	free(text);
}

static void
notice_end(const struct notice *n, bool confirmed)
{
	askpass_hide(n->window);
	if (n->told && confirmed)
		fprintf(stderr, "User presence confirmed\r\n");
}

static int
try_to_sign(const struct userauth *ua, const char *pin, const struct key *k,
    const char *alg, struct span data, struct buf *signature)
{
	const struct sk_params p = { .provider = provider(ua), .pin = pin };
	struct notice n;
	int r;

	notice_begin(&n, ua, k);
	r = sk_client_sign(&p, k, alg, data, signature);
	notice_end(&n, r == 0);
	return r;
}

int
userauth_sk_sign(struct userauth *ua, const struct candidate *c,
    const struct key *k, const char *alg, struct span data,
    struct buf *signature)
{
	char *text, *pin;
	int r;

	if (provider(ua) == NULL)
		return ERR_SK_DEVICE;
	r = try_to_sign(ua, NULL, k, alg, data, signature);
	if (r == ERR_SK_PIN && !ua->p.conf->auth.batch_mode) {
		xasprintf(&text, "Enter PIN for %s key %s: ",
		    key_short_name(k), c->name);
		pin = prompt_ask(text, PROMPT_HIDDEN);
		free(text);
		if (pin == NULL)
			return r;
		r = try_to_sign(ua, pin, k, alg, data, signature);
		prompt_free(pin);
	}
	/* A further connection cannot use the PIN or the touch again. */
	if (r == 0)
		userauth_keep_answer(ua, NULL);
	return r;
}
