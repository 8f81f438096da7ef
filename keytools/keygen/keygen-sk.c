/* SPDX-License-Identifier: ISC */
/* Makes keys on FIDO authenticators, and signs with them. */
#include "keytools/keygen/keygen-sk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/rand.h"
#include "keytools/keygen/keygen.h"

enum {
	/* Calls of the helper: one without a PIN, two with one. */
	CALLS_MAX = 3,
	CHALLENGE_LEN = 32,
	CHALLENGE_MAX = 128 * 1024,
	ATTESTATION_MODE = 0600,
};

/* ---- what is asked for --------------------------------------------------- */

struct enroll_options {
	struct sk_enroll enroll;
	struct sk_params params;
	struct buf challenge;
	/* File for the attestation; NULL: it is not saved. */
	const char *attestation;
};

bool
keygen_sk_is_type(const char *type)
{
	return strcmp(type, "ed25519-sk") == 0 ||
	    strcmp(type, "ecdsa-sk") == 0;
}

const char *
keygen_sk_provider(const struct keygen_options *o)
{
	const char *path = o->provider != NULL ?
	    o->provider :
	    sk_provider("$SSH_SK_PROVIDER");

	return path != NULL ? path : "internal";
}

static void
read_challenge(struct enroll_options *w, const char *path)
{
	int r = file_read(path, &w->challenge, CHALLENGE_MAX);

	if (r != 0)
		fatal("Unable to load FIDO enrollment challenge \"%s\": %s",
		    path, err_text(r));
}

static void
take_option(struct enroll_options *w, const char *text)
{
	const char *value = strchr(text, '=');
	size_t len = 0;

	/* Length of the option's name with the equals sign. */
	if (value != NULL)
		len = (size_t)(++value - text);
	if (strcasecmp(text, "no-touch-required") == 0) {
		w->enroll.flags &= (uint8_t)~KEY_SK_TOUCH;
	} else if (strcasecmp(text, "verify-required") == 0) {
		w->enroll.flags |= KEY_SK_VERIFY;
	} else if (strcasecmp(text, "resident") == 0) {
		w->enroll.flags |= KEY_SK_RESIDENT;
	} else if (str_is_span_nocase("device=", text, len)) {
		w->params.device = value;
	} else if (str_is_span_nocase("user=", text, len)) {
		w->enroll.user = value;
	} else if (str_is_span_nocase("challenge=", text, len)) {
		read_challenge(w, value);
	} else if (str_is_span_nocase("write-attestation=", text, len)) {
		w->attestation = value;
	} else if (str_is_span_nocase("application=", text, len)) {
		w->enroll.application = value;
		if (!str_has_prefix(value, "ssh:"))
			fatal("FIDO application string must begin with "
			      "\"ssh:\"");
	} else {
		fatal("Option \"%s\" is unsupported for FIDO authenticator "
		      "enrollment",
		    text);
	}
}

static void
take_options(const struct keygen_options *o, struct enroll_options *w)
{
	uint8_t random[CHALLENGE_LEN];

	*w = (struct enroll_options){ .params.provider = keygen_sk_provider(o),
		.enroll = { .type = o->type,
		    .application = "ssh:",
		    .flags = KEY_SK_TOUCH } };
	for (size_t i = 0; i < o->options.n; i++)
		take_option(w, o->options.v[i]);
	if (buf_len(&w->challenge) == 0) {
		rand_bytes(random, sizeof random);
		buf_put(&w->challenge, random, sizeof random);
	}
	if (buf_err(&w->challenge) != 0)
		fatal("out of memory");
	w->enroll.challenge =
	    buf_span(&w->challenge);
}

/* ---- making -------------------------------------------------------------- */

/* Asks the user whether a resident key with the same name, which would be lost,
 * may be replaced. */
static bool
may_replace(const struct enroll_options *w)
{
	char *line;
	bool yes;

	printf("A resident key scoped to '%s' with user id '%s' already "
	       "exists.\n",
	    w->enroll.application,
	    w->enroll.user != NULL ? w->enroll.user : "null");
	line = keygen_ask_line("Overwrite key in token (y/n)? ");
	yes = *line == 'y' || *line == 'Y';
	free(line);
	return yes;
}

/* Makes a key: calls the helper again with the user's PIN, or with the
 * permission to replace a key, until there is a key. Ends the program on any
 * other error, or when the user gives up. */
static void
enroll(const struct keygen_options *o, struct enroll_options *w,
    struct sk_enrolled *made)
{
	char *pin = NULL;
	int calls = 0, r;

	for (;;) {
		if (!o->quiet)
			printf("You may need to touch your authenticator%s to "
			       "authorize key generation.\n",
			    calls > 0 ? " again" : "");
		fflush(stdout);
		r = sk_client_enroll(&w->params, &w->enroll, made);
		if (r == ERR_SK_EXISTS &&
		    (w->enroll.flags & KEY_SK_RESIDENT) != 0 &&
		    (w->enroll.flags & KEY_SK_FORCE) == 0) {
			if (!may_replace(w))
				exit(FAILED);
			w->enroll.flags |= KEY_SK_FORCE;
			continue;
		}
		if (r != ERR_SK_PIN)
			break;
		if (pin != NULL)
			printf("PIN incorrect\n");
		if (++calls == CALLS_MAX)
			fatal("Too many incorrect PINs");
		keygen_pass_free(pin);
		w->params.pin = pin =
		    keygen_ask_pass("Enter PIN for authenticator: ");
	}
	keygen_pass_free(pin);
	if (r != 0)
		fatal("Key enrollment failed: %s", err_text(r));
}

static void
keep_attestation(const struct sk_enrolled *made, struct buf *out)
{
	buf_put_cstring(out, "ssh-sk-attest-v01");
	buf_put_string_buf(out, &made->cert);
	buf_put_string_buf(out, &made->signature);
	buf_put_string_buf(out, &made->authdata);
	buf_put_u32(out, 0);
	buf_put_cstring(out, "");
}

void
keygen_sk_save_attestation(const struct keygen_options *o,
    struct attestation *a)
{
	int r = buf_err(&a->content);

	if (a->path != NULL) {
		if (r == 0)
			r = file_replace(a->path, buf_data(&a->content),
			    buf_len(&a->content), ATTESTATION_MODE);
		if (r != 0)
			fatal("Unable to write attestation data \"%s\": %s",
			    a->path, err_text(r));
		if (!o->quiet)
			printf("Your FIDO attestation certificate has been "
			       "saved in %s\n",
			    a->path);
	}
	buf_clear(&a->content);
}

struct key *
keygen_sk_make(const struct keygen_options *o, struct attestation *a)
{
	struct sk_enrolled made;
	struct key *k;
	struct enroll_options w;

	take_options(o, &w);
	enroll(o, &w, &made);
	*a = (struct attestation){ .path = w.attestation };
	keep_attestation(&made, &a->content);
	k = made.key;
	made.key = NULL;
	sk_enrolled_clear(&made);
	buf_clear(&w.challenge);
	return k;
}

/* ---- changing ------------------------------------------------------------ */

static const struct {
	const char *on, *off; /* words of -O */
	uint8_t flag;
} changes[] = {
	{ "touch-required", "no-touch-required", KEY_SK_TOUCH },
	{ "verify-required", "no-verify-required", KEY_SK_VERIFY },
};

static void
change(uint8_t *flags, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		if (strcasecmp(text, changes[i].on) == 0) {
			*flags |= changes[i].flag;
			return;
		}
		if (strcasecmp(text, changes[i].off) == 0) {
			*flags &= (uint8_t)~changes[i].flag;
			return;
		}
	}
	fatal("Option \"%s\" is unsupported for key passphrase change", text);
}

static void
tell_flags(const struct keygen_options *o, const char *path, const char *which,
    uint8_t flags)
{
	if (!o->verbose)
		return;
	log_info("%s: %s FIDO key flags: %s %s", path, which,
	    (flags & KEY_SK_TOUCH) != 0 ? changes[0].on : changes[0].off,
	    (flags & KEY_SK_VERIFY) != 0 ? changes[1].on : changes[1].off);
}

void
keygen_sk_change(const struct keygen_options *o, struct key *k,
    const char *path)
{
	const struct key_sk *sk = key_sk(k);
	uint8_t flags = sk != NULL ? sk->flags : 0;

	if (o->options.n == 0)
		return;
	for (size_t i = 0; i < o->options.n; i++)
		change(&flags, o->options.v[i]);
	if (sk == NULL)
		fatal("FIDO-specific option requested for non-FIDO key %s",
		    path);
	tell_flags(o, path, "original", sk->flags);
	tell_flags(o, path, "updated", flags);
	key_sk_set_flags(k, flags);
}

/* ---- signing ------------------------------------------------------------- */

static int
try_to_sign(const struct keygen_options *o, const struct key *k,
    const char *alg, struct span data, const char *pin, struct buf *signature)
{
	const struct sk_params p = { .provider = keygen_sk_provider(o),
		.pin = pin };
	bool tells = (key_sk(k)->flags & KEY_SK_TOUCH) != 0 && !o->quiet &&
	    isatty(STDERR_FILENO) == 1;
	char *fp;
	int r;

	if (tells) {
		fp = key_fingerprint(k, o->hash);
		fprintf(stderr, "Confirm user presence for key %s %s\n",
		    key_short_name(k), fp != NULL ? fp : "");
		free(fp);
	}
	r = sk_client_sign(&p, k, alg, data, signature);
	if (tells && r == 0)
		fprintf(stderr, "User presence confirmed\n");
	return r;
}

int
keygen_sk_sign(const struct keygen_options *o, const struct key *k,
    const char *alg, struct span data, const char *pin_prompt,
    struct buf *signature)
{
	char *pin = NULL;
	int r = ERR_SK_PIN;

	if ((key_sk(k)->flags & KEY_SK_VERIFY) == 0)
		r = try_to_sign(o, k, alg, data, NULL, signature);
	if (r == ERR_SK_PIN) {
		pin = keygen_ask_pass(pin_prompt);
		r = try_to_sign(o, k, alg, data, pin, signature);
		keygen_pass_free(pin);
	}
	return r;
}
