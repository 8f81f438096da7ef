/* SPDX-License-Identifier: ISC */
/* Verifies signatures of files, and finds the principals that may sign (-Y). */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/allowed-signers.h"
#include "keys/revoked-keys.h"
#include "keys/timestamp.h"
#include "keytools/keygen/keygen-sig.h"

enum {
	SIGNATURE_MAX = 1024 * 1024, /* bytes of a signature file */
	SIGNERS_MAX = 64 * 1024 * 1024,
	REVOKED_MAX = 128 * 1024 * 1024,
	READ_SIZE = 64 * 1024,
};

/* Exit statuses, as of ssh-keygen, which scripts use. */
enum { EXIT_ERROR = 255, EXIT_BAD_LINE = 252, EXIT_NO_MATCH = 210 };

int
keygen_digest_fd(int fd, enum digest_alg alg, uint8_t *digest)
{
	uint8_t *chunk = xmalloc(READ_SIZE);
	struct digest *d = NULL;
	int r = digest_new(&d, alg);
	ssize_t n = 1;

	while (r == 0 && n > 0) {
		n = fd_read(fd, chunk, READ_SIZE);
		if (n < 0)
			r = ERR_SYSTEM;
		else
			r = digest_update(d, chunk, (size_t)n);
	}
	if (r == 0)
		r = digest_final(d, digest);
	digest_free(d);
	free(chunk);
	return r;
}

/* ---- options ------------------------------------------------------------ */

struct verify_options {
	uint64_t when; /* -O verify-time= */
	bool print_key;
};

static bool
take_options(const struct keygen_options *o, struct verify_options *w,
    bool may_print)
{
	static const char time_is[] = "verify-time=";

	w->when = (uint64_t)time(NULL);
	for (size_t i = 0; i < o->options.n; i++) {
		const char *text = o->options.v[i];

		if (may_print && strcmp(text, "print-pubkey") == 0) {
			w->print_key = true;
		} else if (!str_has_prefix(text, time_is)) {
			log_error("Invalid option \"%s\"", text);
			return false;
		} else if (timestamp_parse(text + strlen(time_is),
			       &w->when) != 0) {
			log_error("Invalid \"verify-time\" option");
			return false;
		}
	}
	return true;
}

/* ---- signatures --------------------------------------------------------- */

static bool
load_signature(const struct keygen_options *o, struct sshsig *s)
{
	struct buf text = { 0 };
	int r = file_read(o->ca, &text, SIGNATURE_MAX);

	if (r != 0) {
		log_error("Couldn't read signature file %s: %s", o->ca,
		    err_text(r));
		return false;
	}
	r = sshsig_parse(buf_span(&text), s);
	if (r != 0)
		log_error("Couldn't parse signature: %s", err_text(r));
	buf_clear(&text);
	return r == 0;
}

/* True if the signature is valid for the data of standard input, and for the
 * namespace of -n. */
static bool
is_right(const struct keygen_options *o, const struct sshsig *s)
{
	uint8_t digest[DIGEST_MAX_LEN];
	int r;

	if (strcmp(s->namespace, o->names) != 0) {
		log_error("Couldn't verify signature: namespace does not "
			  "match");
		return false;
	}
	r = keygen_digest_fd(STDIN_FILENO, s->hash, digest);
	if (r != 0) {
		log_error("Cannot read standard input: %s", err_text(r));
		return false;
	}
	r = sshsig_verify(s, o->names, digest);
	if (r != 0)
		log_error("Signature verification failed: %s", err_text(r));
	return r == 0;
}

/* True if the list of -r revokes the key, or cannot be read. */
static bool
is_revoked(const struct keygen_options *o, const struct key *k)
{
	struct buf list = { 0 };
	bool revoked = true;
	int r;

	if (o->revoked == NULL)
		return false;
	r = file_read(o->revoked, &list, REVOKED_MAX);
	if (r == 0)
		r = revoked_keys_find(&list, k, &revoked);
	if (r != 0)
		log_error("%s: %s: all keys are refused", o->revoked,
		    err_text(r));
	else if (revoked)
		log_error("the key that signed is revoked by file %s",
		    o->revoked);
	buf_clear(&list);
	return revoked;
}

static void
report(const struct keygen_options *o, const struct sshsig *s, const char *who)
{
	char *fp, *ns, *name;

	if (o->quiet)
		return;
	fp = key_fingerprint(s->key, o->hash);
	if (fp == NULL)
		fatal("out of memory");
	ns = xstr_escape(s->namespace);
	name = xstr_escape(who != NULL ? who : "");
	printf("Good \"%s\" signature%s%s with %s key %s\n", ns,
	    who != NULL ? " for " : "", name, key_short_name(s->key), fp);
	free(name);
	free(ns);
	free(fp);
}

static void
print_key(const struct key *k)
{
	struct buf line = { 0 };
	char *text;

	if (key_format_line(k, NULL, &line) != 0 ||
	    (text = buf_dup_string(&line)) == NULL)
		fatal("out of memory");
	printf("%s\n", text);
	free(text);
	buf_clear(&line);
}

/* ---- signers ------------------------------------------------------------ */

/* The allowed signers file (-f): its text, what is left to read of it, and the
 * number of the line that was read last. */
struct signers {
	char *text, *rest;
	unsigned line;
};

static bool
open_signers(const struct keygen_options *o, struct signers *l)
{
	struct buf content = { 0 };
	int r = file_read(o->file, &content, SIGNERS_MAX);

	if (r == 0 && memchr(buf_len(&content) > 0 ?
		    (const char *)buf_data(&content) : "",
		    '\0', buf_len(&content)) != NULL)
		r = ERR_FORMAT;
	if (r != 0) {
		log_error("Unable to open allowed keys file \"%s\": %s",
		    o->file, err_text(r));
		buf_clear(&content);
		return false;
	}
	*l = (struct signers){ .line = 0 };
	l->text = l->rest = buf_len(&content) > 0 ? buf_dup_string(&content) :
						    xstrdup("");
	if (l->text == NULL)
		fatal("out of memory");
	buf_clear(&content);
	return true;
}

/* True if an invalid line may be about this principal (NULL: any). */
static bool
is_about(const struct signer *s, const char *principal)
{
	return principal == NULL || s->principals == NULL ||
	    signer_is_named(s, principal);
}

/* Reads the next line into *s. ERR_EOF: there is no line left. ERR_FORMAT: the
 * line is invalid, which was logged. An invalid line for other principals is
 * skipped. */
static int
next_signer(const struct keygen_options *o, struct signers *l, struct signer *s,
    const char *principal)
{
	const char *why;
	char *line;
	int r;

	while ((line = strsep(&l->rest, "\n")) != NULL) {
		line[strcspn(line, "\r")] = '\0';
		l->line++;
		r = signer_parse(line, s, &why);
		if (r == 0)
			return 0;
		if (r != ERR_NOT_FOUND && is_about(s, principal)) {
			log_error("%s:%u: %s", o->file, l->line, why);
			signer_clear(s);
			return ERR_FORMAT;
		}
		signer_clear(s);
	}
	return ERR_EOF;
}

/* True if some line allows the key to sign; names gets the principals of the
 * first such line. Invalid lines are logged and skipped. */
static bool
is_allowed(const struct keygen_options *o, const struct signer_query *q,
    struct strlist *names)
{
	struct signers l;
	struct signer s;
	bool allowed = false;
	char *why;
	int r;

	if (!open_signers(o, &l))
		return false;
	while (!allowed &&
	    (r = next_signer(o, &l, &s, q->principal)) != ERR_EOF) {
		if (r != 0)
			continue;
		r = signer_check(&s, q, names, &why);
		if (r == ERR_DENIED)
			log_error("%s:%u: %s", o->file, l.line, why);
		else if (r != 0 && r != ERR_NOT_FOUND)
			fatal("%s", err_text(r));
		allowed = r == 0;
		free(why);
		signer_clear(&s);
	}
	free(l.text);
	return allowed;
}

/* ---- operations --------------------------------------------------------- */

static bool
verify(const struct keygen_options *o, struct sshsig *s)
{
	struct verify_options w = { .print_key = false };
	struct signer_query q = { .principal = o->identity,
		.namespace = o->names };

	if (!take_options(o, &w, true) || !load_signature(o, s) ||
	    !is_right(o, s))
		return false;
	q.key = s->key;
	q.when = w.when;
	if (is_revoked(o, s->key) || !is_allowed(o, &q, NULL))
		return false;
	report(o, s, o->identity);
	if (w.print_key)
		print_key(s->key);
	return true;
}

static int
verdict(const struct keygen_options *o, bool good)
{
	if (!good && !o->quiet)
		printf("Could not verify signature.\n");
	return good ? OK : EXIT_ERROR;
}

int
keygen_verify(const struct keygen_options *o)
{
	struct sshsig s = { .key = NULL };
	bool good = verify(o, &s);

	sshsig_clear(&s);
	return verdict(o, good);
}

int
keygen_check_novalidate(const struct keygen_options *o)
{
	struct sshsig s = { .key = NULL };
	struct verify_options w = { .print_key = false };
	bool good = take_options(o, &w, true) && load_signature(o, &s) &&
	    is_right(o, &s);

	if (good) {
		report(o, &s, NULL);
		if (w.print_key)
			print_key(s.key);
	}
	sshsig_clear(&s);
	return verdict(o, good);
}

static int
no_principal(int status)
{
	fprintf(stderr, "No principal matched.\n");
	return status;
}

static void
print_name(const char *name)
{
	char *shown = xstr_escape(name);

	printf("%s\n", shown);
	free(shown);
}

int
keygen_find_principals(const struct keygen_options *o)
{
	struct sshsig s = { .key = NULL };
	struct verify_options w = { .print_key = false };
	struct strlist names = { 0 };
	bool found = take_options(o, &w, false) && load_signature(o, &s);

	if (found)
		found = is_allowed(o, &(struct signer_query){ .key = s.key,
				       .when = w.when }, &names);
	for (size_t i = 0; i < names.n; i++)
		print_name(names.v[i]);
	strlist_clear(&names);
	sshsig_clear(&s);
	return found ? OK : no_principal(EXIT_ERROR);
}

int
keygen_match_principals(const struct keygen_options *o)
{
	struct signers l;
	struct signer s;
	bool found = false;
	int r;

	if (!open_signers(o, &l))
		return no_principal(EXIT_ERROR);
	while ((r = next_signer(o, &l, &s, o->identity)) == 0) {
		if (signer_is_named(&s, o->identity)) {
			print_name(s.principals);
			found = true;
		}
		signer_clear(&s);
	}
	free(l.text);
	if (r == ERR_FORMAT)
		return no_principal(EXIT_BAD_LINE);
	return found ? OK : no_principal(EXIT_NO_MATCH);
}
