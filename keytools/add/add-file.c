/* SPDX-License-Identifier: ISC */
/* Adds the keys of files, and the certificates beside them. */
#include "keytools/add/add.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/str.h"
#include "keys/cert.h"
#include "keys/keyfile.h"

enum {
	FILE_MAX_BYTES = 1024 * 1024, /* largest key file that is read */
	/* An agent keeps a certificate for this time after its end, because the
	 * clocks of hosts may differ. */
	AFTER_EXPIRY_S = 300,
	LIFETIME_TEXT_MAX = 32,
};

struct adding {
	struct agent *agent;
	const struct add_options *o;
	/* Last passphrase that was right; tried for other files, too. */
	char *pass;
};

/* ---- reading ------------------------------------------------------------ */

/* Reads a key file, but not if others can read it, too: such a key is not safe
 * to use. */
static int
read_file(const char *path, struct buf *content)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1) {
		fprintf(stderr, "%s: %s\n", path, err_text(ERR_SYSTEM));
		r = ERR_SYSTEM;
	} else if (st.st_uid == getuid() && (st.st_mode & 077) != 0) {
		log_error("WARNING: UNPROTECTED PRIVATE KEY FILE!");
		log_error("Permissions %04o for '%s' are too open.",
		    (unsigned)(st.st_mode & 0777), path);
		log_error("A private key must be readable by its owner only, "
			  "so this one is not used.");
		r = ERR_PERMISSION;
	} else if ((r = fd_read_file(fd, content, FILE_MAX_BYTES)) != 0) {
		fprintf(stderr, "%s: %s\n", path, err_text(r));
	}
	fd_close(&fd);
	return r;
}

static int
read_input(const char *name, struct buf *content)
{
	int r = fd_read_file(STDIN_FILENO, content, FILE_MAX_BYTES);

	if (r != 0)
		fprintf(stderr, "%s: %s\n", name, err_text(r));
	return r;
}

/* Decrypts a key: tries no passphrase, that of the file before, and then asks
 * the user until the passphrase is right or empty. ERR_PASSPHRASE: the user
 * gave up. */
static int
decrypt(struct adding *d, const struct buf *content, const char *name,
    struct key **k, char **comment)
{
	struct span text = buf_span(content);
	const char *hint = d->o->constraints.confirm ?
	    " (will confirm each use)" : "";
	char *prompt;
	int r = keyfile_parse_private(text, NULL, k, comment);

	if (r == ERR_PASSPHRASE && d->pass != NULL)
		r = keyfile_parse_private(text, d->pass, k, comment);
	for (bool again = false; r == ERR_PASSPHRASE; again = true) {
		prompt_free(d->pass);
		xasprintf(&prompt, again ?
			"Bad passphrase, try again for %s%s: " :
			"Enter passphrase for %s%s: ", name, hint);
		d->pass = prompt_ask_or_read(prompt);
		free(prompt);
		if (d->pass == NULL || *d->pass == '\0')
			break;
		r = keyfile_parse_private(text, d->pass, k, comment);
	}
	if (d->pass != NULL && *d->pass == '\0') {
		prompt_free(d->pass);
		d->pass = NULL;
	}
	return r;
}

/* Loads the private key of a file. False: it was told why not. */
static bool
load(struct adding *d, const char *path, const char *name, struct key **k,
    char **comment)
{
	struct buf content;
	int r;

	buf_init_secret(&content);
	r = path == name ? read_file(path, &content) :
			   read_input(name, &content);
	if (r != 0)
		goto out;
	r = decrypt(d, &content, name, k, comment);
	if (r != 0 && r != ERR_PASSPHRASE)
		fprintf(stderr, "Error loading key \"%s\": %s\n", name,
		    err_text(r));
out:
	buf_clear(&content);
	return r == 0;
}

/* ---- telling ------------------------------------------------------------ */

static void
format_lifetime(uint32_t s, char *out, size_t size)
{
	unsigned days = s / 86400, hours = s / 3600 % 24,
		 minutes = s / 60 % 60;

	if (days >= 7)
		snprintf(out, size, "%uw%ud%02uh", days / 7, days % 7, hours);
	else if (days > 0)
		snprintf(out, size, "%ud%02uh%02um", days, hours, minutes);
	else
		snprintf(out, size, "%02u:%02u:%02u", hours, minutes,
		    (unsigned)(s % 60));
}

void
add_tell_constraints(const struct add_options *o,
    const struct agent_constraints *c)
{
	char lifetime[LIFETIME_TEXT_MAX];

	if (o->quiet)
		return;
	if (c->lifetime > 0) {
		format_lifetime(c->lifetime, lifetime, sizeof lifetime);
		fprintf(stderr, "Lifetime set to %s\n", lifetime);
	}
	if (c->confirm)
		fprintf(stderr, "The user must confirm each use of the "
				"key\n");
}

static void
tell_added(const struct add_options *o, const struct agent_constraints *c,
    const char *what, const char *name, const char *text)
{
	char *shown = xstr_escape(text);

	if (!o->quiet)
		fprintf(stderr, "%s added: %s (%s)\n", what, name, shown);
	add_tell_constraints(o, c);
	free(shown);
}

/* ---- certificates ------------------------------------------------------- */

/* Shortens the key's lifetime in the agent so that it ends with the
 * certificate. False: the certificate has expired. */
static bool
cap_lifetime(const struct add_options *o, const struct cert *cert,
    struct agent_constraints *c)
{
	uint64_t now = (uint64_t)time(NULL), left;

	if (o->beyond_expiry || cert->valid_before == CERT_FOREVER)
		return true;
	if (cert->valid_before <= now)
		return false;
	left = cert->valid_before - now;
	if (left < UINT32_MAX - AFTER_EXPIRY_S) {
		left += AFTER_EXPIRY_S;
		if (c->lifetime == 0 || left < c->lifetime)
			c->lifetime = (uint32_t)left;
	}
	return true;
}

static void
add_joined(const struct adding *d, const struct key *cert, const char *path,
    const char *comment)
{
	struct agent_constraints c = add_constraints_for(d->o, cert);
	const char *id = key_cert(cert)->id;
	char *shown;
	int r;

	if (!cap_lifetime(d->o, key_cert(cert), &c)) {
		fprintf(stderr, "Certificate %s has already expired; "
				"ignored\n", path);
		return;
	}
	r = agent_add(d->agent, cert, comment, &c);
	if (r == 0) {
		tell_added(d->o, &c, "Certificate", path, id);
		return;
	}
	shown = xstr_escape(id);
	fprintf(stderr, "Certificate %s (%s) add failed: %s\n", path, shown,
	    add_why(r));
	free(shown);
}

/* Adds the certificate beside a key file. If that fails, it is told, but does
 * not change the exit status. */
static void
add_cert_beside(const struct adding *d, const struct key *k, const char *name,
    const char *comment)
{
	struct key *cert = NULL, *joined = NULL;
	char *path = add_cert_path(name);
	int r = keyfile_load_public(path, &cert, NULL);

	if (r != 0) {
		if (r != ERR_SYSTEM || errno != ENOENT)
			log_error("Failed to load certificate \"%s\": %s",
			    path, err_text(r));
	} else if (!key_is_cert(cert) ||
	    (r = key_private_cert(cert, k, &joined)) == ERR_ARGUMENT) {
		log_error("Certificate %s does not match private key %s",
		    path, name);
	} else if (r != 0) {
		log_error("Certificate %s: %s", path, err_text(r));
	} else {
		add_joined(d, joined, path, comment);
	}
	key_free(joined);
	key_free(cert);
	free(path);
}

/* ---- keys of authenticators --------------------------------------------- */

struct agent_constraints
add_constraints_for(const struct add_options *o, const struct key *k)
{
	struct agent_constraints c = o->constraints;

	c.sk_provider = key_sk(k) != NULL ? o->sk_provider : NULL;
	return c;
}

/* ---- files -------------------------------------------------------------- */

static bool
add_plain(const struct adding *d, const struct key *k, const char *name,
    const char *comment)
{
	struct agent_constraints c = add_constraints_for(d->o, k);
	int r = agent_add(d->agent, k, comment, &c);

	if (r == 0)
		tell_added(d->o, &c, "Identity", name, comment);
	else
		fprintf(stderr, "Could not add identity \"%s\": %s\n", name,
		    add_why(r));
	return r == 0;
}

/* Adds the key of a file and its certificate. True: the plain key was added. */
static bool
add_file(struct adding *d, const char *path)
{
	const char *name = strcmp(path, "-") == 0 ? "(stdin)" : path;
	char *comment = NULL;
	struct key *k = NULL;
	bool added = false;

	if (!load(d, path, name, &k, &comment))
		return false;
	log_debug("%s has a key of type %s", name, key_short_name(k));
	if (key_sk(k) != NULL && d->o->sk_provider == NULL) {
		fprintf(stderr, "Cannot load FIDO key %s without provider\n",
		    name);
		goto out;
	}
	if (comment == NULL || *comment == '\0') {
		free(comment);
		comment = xstrdup(name);
	}
	if (!d->o->certs_only)
		added = add_plain(d, k, name, comment);
	if (!d->o->plain_only && path == name)
		add_cert_beside(d, k, name, comment);
out:
	free(comment);
	key_free(k);
	return added;
}

int
add_files(struct agent *a, const struct add_options *o,
    const struct strlist *paths)
{
	struct adding d = { .agent = a, .o = o };
	size_t added = 0;

	for (size_t i = 0; i < paths->n; i++)
		added += add_file(&d, paths->v[i]);
	prompt_free(d.pass);
	return paths->n > 0 && added == paths->n ? OK : FAILED;
}
