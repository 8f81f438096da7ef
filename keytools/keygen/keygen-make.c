/* SPDX-License-Identifier: ISC */
/* Makes new keys, and changes the passphrase or comment of a key file. */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keytools/keygen/keygen-sk.h"

/* The names of key types that -t takes. */
static const struct {
	const char *name, *type;
	unsigned bits;
} type_names[] = {
	{ "ed25519", "ed25519", 0 },
	{ "ssh-ed25519", "ed25519", 0 },
	{ "ecdsa", "ecdsa", 0 },
	{ "ecdsa-sha2-nistp256", "ecdsa", 256 },
	{ "ecdsa-sha2-nistp384", "ecdsa", 384 },
	{ "ecdsa-sha2-nistp521", "ecdsa", 521 },
	{ "rsa", "rsa", 0 },
	{ "ssh-rsa", "rsa", 0 },
	{ "rsa-sha2-256", "rsa", 0 },
	{ "rsa-sha2-512", "rsa", 0 },
	{ "ed25519-sk", "ed25519-sk", 0 },
	{ "sk-ssh-ed25519@openssh.com", "ed25519-sk", 0 },
	{ "ecdsa-sk", "ecdsa-sk", 0 },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", "ecdsa-sk", 0 },
	{ "mldsa44-ed25519", "mldsa44-ed25519", 0 },
	{ "ssh-mldsa44-ed25519@openssh.com", "mldsa44-ed25519", 0 },
};

static const char *const later_types[] = { "dsa", "dss" };

static void
resolve_type(struct keygen_options *o)
{
	if (o->type == NULL) {
		o->type = "ed25519";
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
		if (strcasecmp(o->type, type_names[i].name) != 0)
			continue;
		o->type = type_names[i].type;
		if (type_names[i].bits != 0)
			o->bits = type_names[i].bits;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(later_types); i++) {
		if (strcasecmp(o->type, later_types[i]) == 0)
			fatal("key type %s is not available in this version",
			    o->type);
	}
	fatal("unknown key type %s", o->type);
}

static void
check_bits(const struct keygen_options *o)
{
	if (strcmp(o->type, "rsa") == 0 && o->bits != 0) {
		if (o->bits < 1024)
			fatal("Invalid RSA key length: minimum is 1024 bits");
		if (o->bits > 16384)
			fatal("Invalid RSA key length: maximum is 16384 bits");
	}
	if (strcmp(o->type, "ecdsa") == 0 && o->bits != 0 &&
	    o->bits != 256 && o->bits != 384 && o->bits != 521)
		fatal("Invalid ECDSA key length: valid lengths are 256, 384 "
		      "or 521 bits");
}

bool
keygen_save_pair(const struct keygen_options *o, const char *path,
    const struct key *k, enum keyfile_format format, const char *pass,
    const char *comment)
{
	char *pub;
	int r;

	r = keyfile_save_private(path, k, format, pass, comment, o->cipher,
	    o->rounds);
	if (r != 0) {
		log_error("Saving key \"%s\" failed: %s", path, err_text(r));
		return false;
	}
	xasprintf(&pub, "%s.pub", path);
	r = keyfile_save_public(pub, k, comment);
	if (r != 0) {
		log_error("Saving public key \"%s\" failed: %s", pub,
		    err_text(r));
		unlink(path);
	}
	free(pub);
	return r == 0;
}

static void
make_ssh_directory(const struct keygen_options *o, const char *path)
{
	char *dir = keygen_home_file("");
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) == 0) {
		dir[len - 1] = '\0';
		if (mkdir(dir, 0700) == 0 && !o->quiet)
			printf("Created directory '%s'.\n", dir);
	}
	free(dir);
}

static void
report_new_key(const struct keygen_options *o, const struct key *k,
    const char *path, const char *comment)
{
	char *fp = key_fingerprint(k, o->hash);
	char *shown = xstr_escape(comment);

	if (fp == NULL)
		fatal("out of memory");
	printf("Your identification has been saved in %s\n", path);
	printf("Your public key has been saved in %s.pub\n", path);
	printf("The key fingerprint is:\n%s %s\n", fp, shown);
	printf("The key's randomart image is:\n");
	keygen_print_art(o, k);
	free(shown);
	free(fp);
}

int
keygen_generate(const struct keygen_options *given)
{
	struct keygen_options resolved = *given;
	const struct keygen_options *o = &resolved;
	enum keyfile_format format = keygen_private_format(o);
	char *path, *pass, *comment;
	struct key *k = NULL;
	bool saved;
	char *prompt;
	struct attestation attestation = { .path = NULL };
	bool sk;
	int r;

	resolve_type(&resolved);
	check_bits(o);
	sk = keygen_sk_is_type(o->type);
	if (!sk && o->options.n > 0)
		fatal("option -O is not available for keys of type %s",
		    o->type);
	if (!o->quiet)
		printf("Generating public/private %s key pair.\n", o->type);
	if (sk)
		k = keygen_sk_make(o, &attestation);
	path = keygen_key_path(o, "Enter file in which to save the key");
	make_ssh_directory(o, path);
	if (!keygen_confirm_overwrite(path))
		return FAILED;
	xasprintf(&prompt,
	    "Enter passphrase for \"%s\" (empty for no passphrase): ", path);
	pass = keygen_new_pass_for(o, prompt, format);
	free(prompt);
	r = sk ? 0 : key_generate(o->type, o->bits, &k);
	if (r != 0)
		fatal("Cannot generate a %s key: %s", o->type, err_text(r));
	comment = o->comment != NULL ? xstrdup(o->comment) :
				       keygen_default_comment();
	saved = keygen_save_pair(o, path, k, format, pass, comment);
	if (saved && !o->quiet)
		report_new_key(o, k, path, comment);
	if (saved && sk)
		keygen_sk_save_attestation(o, &attestation);
	keygen_pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return saved ? OK : FAILED;
}

/* ---- changing ----------------------------------------------------------- */

int
keygen_passphrase(const struct keygen_options *o)
{
	enum keyfile_format format = keygen_private_format(o);
	char *path = keygen_key_path(o, "Enter file in which the key is");
	char *old = NULL, *new, *comment = NULL, *shown;
	struct key *k;
	int r;

	keygen_require_file(path);
	k = keygen_load_private(o, path, &old, &comment);
	keygen_find_comment(path, &comment);
	keygen_sk_change(o, k, path);
	if (*comment != '\0' && !o->quiet) {
		shown = xstr_escape(comment);
		printf("Key has comment '%s'\n", shown);
		free(shown);
	}
	new = keygen_new_pass_for(o,
	    "Enter new passphrase (empty for no passphrase): ", format);
	r = keyfile_save_private(path, k, format, new, comment, o->cipher,
	    o->rounds);
	if (r != 0)
		log_error("Saving key \"%s\" failed: %s", path, err_text(r));
	else if (!o->quiet)
		printf("Your identification has been saved with the new "
		       "passphrase.\n");
	keygen_pass_free(new);
	keygen_pass_free(old);
	free(comment);
	free(path);
	key_free(k);
	return r == 0 ? OK : FAILED;
}

static void
print_old_comment(const struct keygen_options *o, const char *comment)
{
	char *shown;

	if (o->quiet)
		return;
	if (comment == NULL || *comment == '\0') {
		printf("No existing comment\n");
		return;
	}
	shown = xstr_escape(comment);
	printf("Old comment: %s\n", shown);
	free(shown);
}

/* Rewrites the key file in OpenSSH's format with a new comment, because PEM
 * files cannot have one. */
int
keygen_comment(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	char *pass = NULL, *comment = NULL, *new, *shown;
	struct key *k;
	bool saved;

	keygen_require_file(path);
	k = keygen_load_private(o, path, &pass, &comment);
	print_old_comment(o, comment);
	new = o->comment != NULL ? xstrdup(o->comment) :
				   keygen_ask_line("New comment: ");
	saved = keygen_save_pair(o, path, k, KEYFILE_OPENSSH, pass, new);
	if (saved && !o->quiet) {
		shown = xstr_escape(new);
		printf("Comment '%s' applied\n", shown);
		free(shown);
	}
	free(new);
	keygen_pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return saved ? OK : FAILED;
}
