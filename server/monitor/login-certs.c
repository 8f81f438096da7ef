/* SPDX-License-Identifier: ISC */
/*
 * Certificates of authorities that the administrator trusts for all users
 * (TrustedUserCAKeys), and the lists of a user's principals
 * (AuthorizedPrincipalsFile, AuthorizedPrincipalsCommand).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/cert.h"
#include "server/monitor/authorized-certs.h"
#include "server/monitor/authorized-files.h"
#include "server/monitor/login-internal.h"
#include "server/privs.h"

/* ---- the authority ----------------------------------------------------- */

/* Compares the key in a line with ca. 1: it is the same. 0: the line has none,
 * another one, or one that is too short. Negative: it cannot be read. */
static int
line_has_key(const char *line, const struct key *ca)
{
	const char *s = line + strspn(line, " \t");
	struct key *k;
	int r;

	if (*s == '\0' || *s == '#')
		return 0;
	r = key_parse_line(&s, &k);
	if (r != 0)
		return r == ERR_KEY_LENGTH ? 0 : r;
	r = !key_is_cert(k) && key_equal_public(k, ca);
	key_free(k);
	return r;
}

/* Whether the file lists the authority. A line that cannot be read ends the
 * list, because the lines behind it may not be meant as a part of it. */
static bool
is_trusted(const char *path, const struct key *ca)
{
	FILE *f = fopen(path, "re");
	struct authlines lines;
	int r = 0;

	if (f == NULL) {
		log_error("TrustedUserCAKeys %s: %s", path,
		    err_text(ERR_SYSTEM));
		return false;
	}
	authlines_init(&lines, f);
	while (r == 0 && authlines_next(&lines))
		r = line_has_key(lines.text, ca);
	if (r < 0)
		log_error("TrustedUserCAKeys %s:%u: %s: it ends here", path,
		    lines.number, err_text(r));
	authlines_clear(&lines);
	fclose(f);
	return r == 1;
}

/* ---- principals -------------------------------------------------------- */

/* Looks for the first line of f that names one of the certificate's principals.
 * True: *found has its options. */
static bool
find_in_lines(FILE *f, const char *name, const struct cert *c,
    struct authkeys_options *found)
{
	struct authlines lines;
	int r = ERR_NOT_FOUND;
	const char *why;

	authlines_init(&lines, f);
	while (r != 0 && authlines_next(&lines)) {
		r = authcert_match_principal(lines.text, c, found, &why);
		if (r != 0 && r != ERR_NOT_FOUND)
			log_debug("%s:%u: %s", name, lines.number,
			    why != NULL ? why : err_text(r));
	}
	authlines_clear(&lines);
	return r == 0;
}

static bool
find_in_file(const struct login *l, const char *path, const struct cert *c,
    struct authkeys_options *found)
{
	bool is = false;
	FILE *f;

	if (privs_enter(l->user) != 0)
		return false;
	f = authfiles_open(l->user, path, l->conf.login.strict_modes != 0);
	if (f != NULL)
		is = find_in_lines(f, path, c, found);
	privs_leave();
	if (f != NULL)
		fclose(f);
	return is;
}

static bool
find_in_files(const struct login *l, const struct cert *c,
    struct authkeys_options *found)
{
	const char *pattern = l->conf.login.authorized_principals_file;
	struct strlist paths = { 0 };
	bool is = false;

	if (pattern == NULL)
		return false;
	if (authfiles_paths(l->user, "AuthorizedPrincipalsFile", pattern,
		&paths) != 0)
		log_debug("no files of AuthorizedPrincipalsFile \"%s\"",
		    pattern);
	for (size_t i = 0; !is && i < paths.n; i++)
		is = find_in_file(l, paths.v[i], c, found);
	strlist_clear(&paths);
	return is;
}

static bool
find_by_command(const struct login *l, const struct key *k,
    struct authkeys_options *found)
{
	const char *command = l->conf.login.authorized_principals_command;
	struct buf out = { 0 };
	bool is = false;
	FILE *f;

	if (command == NULL)
		return false;
	if (login_run_principals_command(l, k, &out) == 0 &&
	    buf_len(&out) > 0) {
		f = fmemopen((void *)(uintptr_t)buf_data(&out), buf_len(&out),
		    "r");
		is = f != NULL &&
		    find_in_lines(f, command, key_cert(k), found);
		if (f != NULL)
			fclose(f);
	}
	buf_clear(&out);
	return is;
}

/* ---- both -------------------------------------------------------------- */

static const char *
refusal(const struct login *l, const struct key *k, struct permits *permits)
{
	const struct cert *c = key_cert(k);
	const struct authcert_shown shown = { .cert = c,
		.login = l->user->name,
		.address = l->peer->address,
		.now = (uint64_t)time(NULL) };
	const struct authkeys_query q = { .user = l->user,
		.address = l->peer->address,
		.host = l->peer->host };
	struct authkeys_options line;
	enum authkeys_applies applies;
	const char *why;

	if (l->conf.login.authorized_principals_file == NULL &&
	    l->conf.login.authorized_principals_command == NULL)
		return authcert_refusal_by_ca(&shown, NULL, AUTHKEYS_APPLIES,
		    permits);
	if (!find_in_files(l, c, &line) && !find_by_command(l, k, &line))
		return "Certificate does not contain an authorized principal";
	applies = authkeys_options_apply(&line, q.host, q.address,
	    (int64_t)shown.now);
	authkeys_log_refusal(&q, &line, applies, "principals");
	why = authcert_refusal_by_ca(&shown, &line, applies, permits);
	authkeys_options_clear(&line);
	return why;
}

bool
login_cert_by_ca(struct login *l, const struct key *cert,
    struct permits *permits)
{
	const struct cert *c = key_cert(cert);
	enum digest_alg hash =
	    (enum digest_alg)l->conf.algs.fingerprint_hash;
	const char *path = l->conf.login.trusted_user_ca_keys, *why;
	char *print;

	if (!is_trusted(path, c->ca))
		return false;
	why = refusal(l, cert, permits);
	if (why != NULL) {
		authcert_log_refusal(c, hash, NULL, why);
		return false;
	}
	print = key_fingerprint(c->ca, hash);
	log_verbose("Accepted certificate ID \"%.*s\" (serial %llu) signed by "
		    "%s CA %s via %s",
	    AUTHCERT_ID_SHOWN, c->id, (unsigned long long)c->serial,
	    key_short_name(c->ca), print != NULL ? print : "?", path);
	free(print);
	return true;
}
