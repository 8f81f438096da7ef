/* SPDX-License-Identifier: ISC */
/* Questions to the user, and finding and reading the key file to work on. */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "base/prompt.h"
#include "base/str.h"

enum {
	PASS_MIN_PEM = 5, /* minimum length for PEM files, as in ssh-keygen */
};

static const char *
known(const char *of_account)
{
	if (of_account == NULL)
		fatal("No user exists for uid %u", (unsigned)getuid());
	return of_account;
}

char *
keygen_home_file(const char *name)
{
	char *path;

	xasprintf(&path, "%s/.ssh/%s", known(own_account_home()), name);
	return path;
}

char *
keygen_default_comment(void)
{
	char host[256] = "localhost", *text;

	if (gethostname(host, sizeof host) == 0)
		host[sizeof host - 1] = '\0';
	xasprintf(&text, "%s@%s", known(own_account_name()), host);
	return text;
}

void
keygen_print_text(const char *line)
{
	char *shown = isatty(STDOUT_FILENO) == 1 ? xstr_escape(line) :
						   xstrdup(line);

	printf("%s\n", shown);
	free(shown);
}

char *
keygen_ask_line(const char *prompt)
{
	char *line = NULL;
	size_t size = 0;

	printf("%s", prompt);
	fflush(stdout);
	if (getline(&line, &size, stdin) == -1) {
		free(line);
		exit(FAILED);
	}
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

static const char *
default_key_name(const struct keygen_options *o)
{
	const char *type = o->type != NULL ? o->type : "ed25519";

	if (strcmp(type, "rsa") == 0)
		return "id_rsa";
	if (strcmp(type, "ecdsa-sk") == 0)
		return "id_ecdsa_sk";
	if (strcmp(type, "ed25519-sk") == 0)
		return "id_ed25519_sk";
	if (strcmp(type, "mldsa44-ed25519") == 0)
		return "id_mldsa44_ed25519";
	return strcmp(type, "ecdsa") == 0 ? "id_ecdsa" : "id_ed25519";
}

char *
keygen_key_path(const struct keygen_options *o, const char *question)
{
	char *standard, *prompt, *line;

	if (o->file != NULL)
		return xstrdup(o->file);
	standard = keygen_home_file(default_key_name(o));
	xasprintf(&prompt, "%s (%s): ", question, standard);
	line = keygen_ask_line(prompt);
	free(prompt);
	if (*line == '\0') {
		free(line);
		return standard;
	}
	free(standard);
	return line;
}

bool
keygen_confirm_overwrite(const char *path)
{
	struct stat st;
	char *line;
	bool yes;

	if (stat(path, &st) == -1)
		return true;
	printf("%s already exists.\n", path);
	line = keygen_ask_line("Overwrite (y/n)? ");
	yes = *line == 'y' || *line == 'Y';
	free(line);
	return yes;
}

/* ---- passphrases -------------------------------------------------------- */

void
keygen_pass_free(char *pass)
{
	mem_free_secret(pass, pass != NULL ? strlen(pass) : 0);
}

char *
keygen_ask_pass(const char *prompt)
{
	char *answer = prompt_ask_or_read(prompt), *copy;

	if (answer == NULL)
		fatal("Cannot read the passphrase");
	copy = xstrdup(answer);
	prompt_free(answer);
	return copy;
}

/* Asks until the same passphrase is typed twice. */
static char *
ask_new_pass(const char *prompt)
{
	char *first, *second;

	for (;;) {
		first = keygen_ask_pass(prompt);
		second = keygen_ask_pass("Enter same passphrase again: ");
		if (strcmp(first, second) == 0)
			break;
		keygen_pass_free(first);
		keygen_pass_free(second);
		printf("Passphrases do not match.  Try again.\n");
	}
	keygen_pass_free(second);
	return first;
}

char *
keygen_new_pass_for(const struct keygen_options *o, const char *prompt,
    enum keyfile_format format)
{
	char *pass = o->new_pass != NULL ? xstrdup(o->new_pass) :
					   ask_new_pass(prompt);

	if (format != KEYFILE_OPENSSH && *pass != '\0' &&
	    strlen(pass) < PASS_MIN_PEM)
		fatal("Passphrase is too short (minimum five characters)");
	return pass;
}

/* ---- reading keys ------------------------------------------------------- */

static void
warn_permissions(const char *path)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
				  "@@@@@@@@@@@@@@@@";
	struct stat st = { 0 };

	(void)!stat(path, &st);
	log_error("%s", bar);
	log_error(
	    "@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @");
	log_error("%s", bar);
	log_error("Permissions %04o for '%s' are too open.",
	    (unsigned)(st.st_mode & 0777), path);
	log_error("A private key must be readable by its owner only, so this "
		  "one is not used.");
}

struct key *
keygen_load_private(const struct keygen_options *o, const char *path,
    char **pass, char **comment)
{
	struct key *k = NULL;
	char *prompt;
	int r;

	*pass = xstrdup(o->pass != NULL ? o->pass : "");
	r = keyfile_load_private(path, *pass, true, &k, comment);
	if (r == ERR_PASSPHRASE && o->pass == NULL) {
		xasprintf(&prompt, "Enter passphrase for \"%s\": ", path);
		keygen_pass_free(*pass);
		*pass = keygen_ask_pass(prompt);
		free(prompt);
		r = keyfile_load_private(path, *pass, true, &k, comment);
	}
	if (r == ERR_PERMISSION)
		warn_permissions(path);
	if (r != 0)
		fatal("Load key \"%s\": %s", path, err_text(r));
	return k;
}

void
keygen_require_file(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == -1)
		fatal("%s: %s", path, strerror(errno));
}

enum keyfile_format
keygen_private_format(const struct keygen_options *o)
{
	if (o->format == NULL || strcasecmp(o->format, "RFC4716") == 0)
		return KEYFILE_OPENSSH;
	if (strcasecmp(o->format, "PKCS8") == 0)
		return KEYFILE_PKCS8;
	return KEYFILE_PEM;
}

bool
keygen_number(const char *text, uint64_t *out)
{
	char *end;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

void
keygen_find_comment(const char *path, char **comment)
{
	struct key *k = NULL;

	if (*comment != NULL)
		return;
	if (keyfile_load_public(path, &k, comment) != 0 || *comment == NULL)
		*comment = xstrdup("");
	key_free(k);
}
