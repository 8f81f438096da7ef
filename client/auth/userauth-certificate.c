/* SPDX-License-Identifier: ISC */
/*
 * Decides when CertificateCommand is run for a login, and what becomes of the
 * certificates that it prints (client/auth/cert-command.h): they are
 * candidates, before those of CertificateFile, and go to the agent with their
 * key if AddKeysToAgent says so.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/auth/agent-add.h"
#include "client/auth/cert-command.h"
#include "client/auth/userauth-internal.h"
#include "keys/keyfile.h"

void
pubkey_add_issued(const struct userauth *ua, struct pubkey_state *s)
{
	const struct key *cert;

	for (size_t i = 0;
	    (cert = cert_command_issued(ua->p.conf, i)) != NULL; i++) {
		struct buf blob = { 0 };
		struct key *copy = NULL;
		struct key_mark mark;
		struct candidate *c;
		int r = key_to_blob(cert, &blob);

		if (r == 0)
			r = key_from_blob(buf_span(&blob), &copy);
		buf_clear(&blob);
		if (r != 0)
			fatal("%s", err_text(r));
		mark = pubkey_mark(copy);
		c = pubkey_add(s, copy, &mark);
		c->name = xstrdup("CertificateCommand");
		c->issued = true;
		c->priority = (struct key_priority){ KEY_OF_CERTIFICATE_FILE,
			true, KEY_RANK_CERTIFICATE };
	}
}

/* True if the certificate is by the authority whose certificate has worked for
 * this host the last time, or if no such authority is known. */
static bool
is_by_hinted_authority(const struct userauth *ua, const struct cert *cert)
{
	const char *at = ua->key_hint != NULL ? strchr(ua->key_hint, '@') :
						NULL;
	char *fp;
	bool same;

	if (at == NULL)
		return true;
	fp = key_fingerprint(cert->ca, DIGEST_SHA256);
	same = fp != NULL && strcmp(fp, at + 1) == 0;
	free(fp);
	return same;
}

/* The reason why a certificate is needed; NULL: there is a good one. *key is
 * set to the plain key that it should be for: that of a certificate that has
 * ended or ends soon, else the first key that could sign. NULL: none is
 * known. */
static const char *
why_needed(const struct userauth *ua, const struct key **key)
{
	const struct pubkey_state *s = ua->pubkey;
	const struct key *plain = NULL, *ending = NULL;
	uint64_t now = (uint64_t)time(NULL);

	for (size_t i = 0; i < s->n; i++) {
		const struct key *k = s->v[i].pub;

		if (k == NULL)
			continue;
		if (!key_is_cert(k))
			plain = plain != NULL ? plain : k;
		else if (!is_by_hinted_authority(ua, key_cert(k)))
			continue;
		else if (cert_command_is_good(key_cert(k), now))
			return NULL;
		else if (ending == NULL)
			ending = key_identity(k);
	}
	*key = ending != NULL ? ending : plain;
	return ending != NULL ? CERT_COMMAND_ENDS : CERT_COMMAND_MISSING;
}

/* Puts the printed certificates into the agent, where their private key is in a
 * file without a passphrase. */
static void
keep_in_agent(const struct userauth *ua)
{
	const struct pubkey_state *s = ua->pubkey;

	if (ua->p.conf->auth.add_keys == CLIENT_ADD_NO)
		return;
	for (size_t i = 0; i < s->n; i++) {
		const struct candidate *c = &s->v[i];
		struct key *priv = NULL;

		if (!c->issued || c->path == NULL || key_sk(c->pub) != NULL ||
		    keyfile_load_private(c->path, NULL, true, &priv, NULL) != 0)
			continue;
		agent_add_certificate(ua->p.conf, c->pub, priv);
		key_free(priv);
	}
}

/* Runs the program and makes the list of candidates anew. *more: the list may
 * have new ones. */
static int
renew(struct userauth *ua, const char *reason, const struct key *k,
    bool *more)
{
	int r;

	*more = false;
	if (ua->certificate_asked)
		return 0;
	ua->certificate_asked = true;
	if (!cert_command_run(ua->p.conf, reason, k,
		!ua->p.conf->auth.batch_mode && !ua->p.hinted_only))
		return 0;
	if ((r = pubkey_list_again(ua)) != 0)
		return r;
	keep_in_agent(ua);
	*more = true;
	return 0;
}

int
pubkey_renew_certificate(struct userauth *ua)
{
	const struct key *key = NULL;
	const char *reason;
	bool more;
	int r;

	if (ua->p.conf->auth.certificate_command == NULL ||
	    (reason = why_needed(ua, &key)) == NULL)
		return 0;
	r = renew(ua, reason, key, &more);
	if (r != 0 || !more)
		return r;
	if (why_needed(ua, &key) == NULL)
		cert_command_was_good(ua->p.conf);
	else
		log_error("CertificateCommand: there is still no certificate "
			  "that is good for some time");
	return 0;
}

int
pubkey_replace_refused(struct userauth *ua, bool *more)
{
	const struct pubkey_state *s = ua->pubkey;
	const struct key *key = NULL;

	*more = false;
	if (ua->p.conf->auth.certificate_command == NULL)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].proven)
			return 0;
		if (key == NULL && s->v[i].pub != NULL)
			key = key_identity(s->v[i].pub);
	}
	return renew(ua, CERT_COMMAND_REFUSED, key, more);
}
