/* SPDX-License-Identifier: ISC */
/*
 * Whether a key may be used to log in. First checks its algorithm, its form,
 * the policy for all keys, and RevokedKeys; these also apply to keys of hosts.
 * Then asks the sources that may know it: the user's files, then the
 * authorities of certificates, then AuthorizedKeysCommand. The first source
 * that lets the key in ends the search; a source that fails does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/cert.h"
#include "keys/revoked-keys.h"
#include "server/monitor/authorized-certs.h"
#include "server/monitor/authorized-files.h"
#include "server/monitor/login-internal.h"

enum { REVOKED_MAX = 64 * 1024 * 1024 };

/* ---- texts ------------------------------------------------------------- */

/* The key for the log, "ED25519 SHA256:..."; caller frees. */
static char *
short_text(const struct login *l, const struct key *k)
{
	char *print = key_fingerprint(k,
	    (enum digest_alg)l->conf.algs.fingerprint_hash);
	char *text;

	xasprintf(&text, "%s %s", key_short_name(k),
	    print != NULL ? print : "?");
	free(print);
	return text;
}

char *
login_key_text(const struct login *l, const struct key *k)
{
	const struct cert *c = key_cert(k);
	char *text = short_text(l, k), *ca, *whole;

	if (c == NULL)
		return text;
	ca = short_text(l, c->ca);
	xasprintf(&whole, "%s ID %.*s (serial %llu) CA %s", text,
	    AUTHCERT_ID_SHOWN, c->id, (unsigned long long)c->serial, ca);
	free(text);
	free(ca);
	return whole;
}

char *
login_key_line(const struct key *k)
{
	struct buf b = { 0 };
	char *line = NULL;

	if (key_format_line(k, NULL, &b) == 0)
		line = buf_dup_string(&b);
	if (line != NULL)
		line[strcspn(line, "\n")] = '\0';
	buf_clear(&b);
	return line;
}

static void
log_found(struct login *l, const struct key *k, const char *where)
{
	const struct cert *c = key_cert(k);
	char *text = short_text(l, c != NULL ? c->ca : k);

	if (c != NULL) {
		log_verbose("Accepted certificate ID \"%.*s\" (serial %llu) "
			    "signed by CA %s found at %s",
		    AUTHCERT_ID_SHOWN, c->id, (unsigned long long)c->serial,
		    text, where);
	} else {
		log_debug("%s: matching key found: %s", where, text);
		log_verbose("Accepted key %s found at %s", text, where);
	}
	free(l->found_at);
	l->found_at = xstrdup(where);
	free(text);
}

/* ---- by name, before anything is parsed -------------------------------- */

/* Whether the blob has the key type of the algorithm. */
static bool
names_agree(const char *alg, struct span blob)
{
	const struct key_alg *plain = key_alg_by_name(alg);
	const struct key_alg *of_cert = key_alg_by_cert_name(alg);
	struct rd r = rd_from_span(blob);
	struct span type = rd_string(&r);
	const char *wanted = plain != NULL ? plain->key_type :
	    of_cert != NULL		   ? of_cert->cert_type :
					     NULL;

	return wanted != NULL && rd_err(&r) == 0 && span_equals(type, wanted);
}

/* Whether the key may be parsed. What a stranger sends is parsed with the
 * superuser's rights, so as much as possible is refused before. */
static bool
may_be_parsed(const struct login *l, const struct login_key_list *list,
    const char *alg, struct span blob)
{
	if (!csv_has(list->algorithms, alg)) {
		log_info("%s: signature algorithm %s not in %s", list->shown,
		    alg, list->keyword);
		return false;
	}
	if (blob.len > CERT_BLOB_MAX || !names_agree(alg, blob)) {
		log_info("%s: key of user %s is not one for %s", list->shown,
		    l->shown_name, alg);
		return false;
	}
	return true;
}

/* ---- the policy for all keys ------------------------------------------- */

/* The name of a key in used_keys, which is the same for the key and its
 * certificates. Caller frees. */
static char *
used_name(const struct key *k)
{
	char *print = key_fingerprint(key_identity(k), DIGEST_SHA256);

	if (print == NULL)
		fatal("out of memory");
	return print;
}

static bool
was_used(const struct login *l, const struct key *k)
{
	char *name = used_name(k);
	bool was = strlist_has(&l->used_keys, name);

	free(name);
	return was;
}

void
login_key_was_used(struct login *l, const struct key *k)
{
	char *name = used_name(k);

	xstrlist_add(&l->used_keys, name);
	free(name);
}

/* Whether the policy for all keys allows this key, whoever's it is. */
static bool
policy_allows(const struct login *l, const struct login_key_list *list,
    const char *alg, const struct key *k)
{
	const struct cert *c = key_cert(k);

	if (!key_serves(k, alg))
		return false;
	if (was_used(l, k)) {
		log_info("refusing previously-used %s key", key_short_name(k));
		return false;
	}
	if (c != NULL &&
	    !cert_alg_allowed(c, l->conf.algs.ca_signature_algorithms)) {
		log_info("%s: certificate signature algorithm %s: signature "
			 "algorithm not supported",
		    list->shown, c->signature_alg);
		return false;
	}
	if (key_check_length(k, (unsigned)l->conf.algs.required_rsa_size) !=
	    0) {
		log_info("refusing key of user %s: it is too short",
		    l->shown_name);
		return false;
	}
	return true;
}

/* ---- revocation -------------------------------------------------------- */

/* Whether the file revokes the key. A file that cannot be read revokes every
 * key. To revoke a certificate, the file may name its key, the certificate, or
 * its authority. */
static bool
is_revoked_by(const struct login *l, const char *path, const struct key *k)
{
	struct buf list = { 0 };
	bool revoked = false;
	char *text = NULL;
	int r = file_read(path, &list, REVOKED_MAX);

	if (r == 0)
		r = revoked_keys_find(&list, k, &revoked);
	if (r != 0 || revoked)
		text = short_text(l, k);
	if (r != 0)
		log_error("Error checking authentication key %s in revoked "
			  "keys file %s: %s",
		    text, path, err_text(r));
	else if (revoked)
		log_error("Authentication key %s revoked by file %s", text,
		    path);
	free(text);
	buf_clear(&list);
	return revoked || r != 0;
}

bool
login_key_is_revoked(const struct login *l, const struct key *k)
{
	for (size_t i = 0; i < l->conf.login.revoked_keys.n; i++)
		if (is_revoked_by(l, l->conf.login.revoked_keys.v[i], k))
			return true;
	return false;
}

/* ---- where it is known ------------------------------------------------- */

/* Removes variables of environment= that PermitUserEnvironment forbids. */
static void
filter_env(const struct login *l, struct permits *p)
{
	struct strlist kept = { 0 };

	for (size_t i = 0; i < p->env.n; i++) {
		char *name = xstrndup(p->env.v[i],
		    strcspn(p->env.v[i], "="));

		if (server_conf_permits_variable(&l->conf, name))
			xstrlist_add(&kept, p->env.v[i]);
		free(name);
	}
	strlist_clear(&p->env);
	p->env = kept;
}

static bool
found_in_file(struct login *l, const struct authkeys_query *q,
    const struct key *k, const char *path, struct permits *p)
{
	unsigned line;
	char *where;

	log_debug("trying public key file %s", path);
	if (authkeys_search(q, path, p, &line) != 0)
		return false;
	xasprintf(&where, "%s:%u", path, line);
	log_found(l, k, where);
	free(where);
	return true;
}

static bool
found_in_files(struct login *l, const struct authkeys_query *q,
    const struct key *k, struct permits *p)
{
	const struct strlist *patterns = &l->conf.login.authorized_keys_file;
	struct strlist paths = { 0 };
	bool found = false;

	for (size_t i = 0; i < patterns->n; i++)
		if (!str_equal_nocase(patterns->v[i], "none") &&
		    authfiles_paths(l->user, "AuthorizedKeysFile",
			patterns->v[i], &paths) != 0)
			log_debug("no files of AuthorizedKeysFile \"%s\"",
			    patterns->v[i]);
	for (size_t i = 0; !found && i < paths.n; i++)
		found = found_in_file(l, q, k, paths.v[i], p);
	strlist_clear(&paths);
	return found;
}

/* Runs the command and searches its output like a file. */
static bool
found_by_command(struct login *l, const struct authkeys_query *q,
    const struct key *k, struct permits *p)
{
	const char *command = l->conf.login.authorized_keys_command;
	struct buf out = { 0 };
	unsigned line = 0;
	bool found = false;
	char *where;
	FILE *f;

	if (login_run_keys_command(l, k, &out) == 0 && buf_len(&out) > 0) {
		f = fmemopen((void *)(uintptr_t)buf_data(&out), buf_len(&out),
		    "r");
		found = f != NULL &&
		    authkeys_search_lines(q, f, command, p, &line) == 0;
		if (f != NULL)
			fclose(f);
	}
	if (found) {
		xasprintf(&where, "%s:%u", command, line);
		log_found(l, k, where);
		free(where);
	}
	buf_clear(&out);
	return found;
}

static bool
find(struct login *l, const struct key *k, struct span wanted,
    struct permits *p)
{
	const struct authkeys_query q = { .user = l->user,
		.wanted = { .blob = wanted, .is_ca = key_is_cert(k) },
		.cert = key_cert(k),
		.address = l->peer->address,
		.host = l->peer->host,
		.now = time(NULL),
		.hash = (enum digest_alg)l->conf.algs.fingerprint_hash,
		.strict_modes = l->conf.login.strict_modes != 0,
		.user_environment =
		    l->conf.session.permit_user_environment != NULL };

	if (found_in_files(l, &q, k, p))
		return true;
	if (key_is_cert(k) && l->conf.login.trusted_user_ca_keys != NULL &&
	    login_cert_by_ca(l, k, p)) {
		free(l->found_at);
		l->found_at = xstrdup("cert");
		return true;
	}
	return l->conf.login.authorized_keys_command != NULL &&
	    found_by_command(l, &q, k, p);
}

/* ---- all of it --------------------------------------------------------- */

static bool
may_be_known(struct login *l, const struct key *k, struct permits *p)
{
	const struct cert *c = key_cert(k);
	struct buf wanted = { 0 };
	bool found = false, demoted;

	if (key_to_blob(c != NULL ? c->ca : k, &wanted) != 0) {
		buf_clear(&wanted);
		return false;
	}
	/* For users who may not log in, these log lines are not of interest. */
	demoted = log_demote(!l->allowed);
	if (!login_key_is_revoked(l, k))
		found = find(l, k,
		    buf_span(&wanted), p);
	(void)log_demote(demoted);
	buf_clear(&wanted);
	if (found)
		filter_env(l, p);
	return found && l->allowed;
}

bool
login_key_is_allowed(const struct login *l, const struct login_key_list *list,
    const char *alg, struct span blob, struct key **k)
{
	int r;

	*k = NULL;
	if (!may_be_parsed(l, list, alg, blob))
		return false;
	if ((r = key_from_blob(blob, k)) != 0) {
		*k = NULL;
		log_debug("public key of user %s: %s", l->shown_name,
		    err_text(r));
		return false;
	}
	return policy_allows(l, list, alg, *k);
}

bool
login_key_is_welcome(struct login *l, const char *alg, struct span blob,
    struct key **k, struct permits *permits)
{
	const struct login_key_list list = {
		.algorithms = l->conf.algs.pubkey_accepted_algorithms,
		.keyword = "PubkeyAcceptedAlgorithms",
		.shown = "userauth_pubkey" };

	return login_key_is_allowed(l, &list, alg, blob, k) &&
	    may_be_known(l, *k, permits);
}

bool
login_key_is_still_welcome(struct login *l, const char *alg, struct span blob,
    struct key **k, struct permits *permits)
{
	struct strlist used = l->used_keys;
	bool welcome;

	l->used_keys = (struct strlist){ 0 };
	welcome = login_key_is_welcome(l, alg, blob, k, permits);
	l->used_keys = used;
	return welcome;
}
