/* SPDX-License-Identifier: ISC */
/* Shows public keys and fingerprints (-y, -l, -B), and converts keys from and
 * to the formats of other programs (-i, -e). */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum { INPUT_MAX = 16 * 1024 * 1024 };

static void
print_line(const struct key *k, const char *comment)
{
	struct buf text = { 0 };
	char *line;

	if (key_format_line(k, comment, &text) != 0 ||
	    (line = buf_dup_string(&text)) == NULL)
		fatal("out of memory");
	keygen_print_text(line);
	free(line);
	buf_clear(&text);
}

int
keygen_public(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	char *pass = NULL, *comment = NULL;
	struct key *k;

	keygen_require_file(path);
	k = keygen_load_private(o, path, &pass, &comment);
	keygen_find_comment(path, &comment);
	print_line(k, comment);
	keygen_pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return OK;
}

void
keygen_print_art(const struct keygen_options *o, const struct key *k)
{
	char *art = key_randomart(k, o->hash);

	if (art == NULL)
		fatal("out of memory");
	printf("%s\n", art);
	free(art);
}

/* print_fingerprint() shows a key by syllables (-B), not by its fingerprint
 * (-l). */
static bool bubblebabble;

static void
print_fingerprint(const struct keygen_options *o, const struct key *k,
    const char *comment)
{
	char *fp = bubblebabble ? key_bubblebabble(k) :
				  key_fingerprint(k, o->hash);
	char *shown =
	    xstr_escape(*comment != '\0' ? comment : "no comment");

	if (fp == NULL)
		fatal("out of memory");
	printf("%u %s %s (%s)\n", key_bits(k), fp, shown, key_short_name(k));
	if (o->verbose)
		keygen_print_art(o, k);
	free(shown);
	free(fp);
}

/* Length of the first field of s; a blank in quotes does not end it. */
static size_t
field_len(const char *s)
{
	bool quoted = false;
	size_t i;

	for (i = 0; s[i] != '\0'; i++) {
		if (s[i] == '\\' && s[i + 1] == '"')
			i++;
		else if (s[i] == '"')
			quoted = !quoted;
		else if (!quoted && (s[i] == ' ' || s[i] == '\t'))
			break;
	}
	return i;
}

/* Shows the fingerprint of the key in a line of a public key, authorized_keys
 * or known_hosts file. False: the line has no key. */
static bool
fingerprint_line(const struct keygen_options *o, const char *line)
{
	const char *s = line + strspn(line, " \t");
	char *lead = NULL;
	struct key *k = NULL;

	if (*s == '\0' || *s == '#')
		return false;
	if (*s == '@') { /* a marker of known_hosts */
		s += strcspn(s, " \t");
		s += strspn(s, " \t");
	}
	if (key_parse_line(&s, &k) != 0) {
		lead = xstrndup(s, field_len(s));
		s += strlen(lead);
		if (key_parse_line(&s, &k) != 0) {
			free(lead);
			return false;
		}
	}
	s += strspn(s, " \t");
	print_fingerprint(o, k, *s != '\0' || lead == NULL ? s : lead);
	free(lead);
	key_free(k);
	return true;
}

static void
find_own_comment(const char *path, char **comment)
{
	struct key *k = NULL;

	if (keyfile_load_private(path, "", false, &k, comment) == 0)
		key_free(k);
}

static bool
fingerprint_private(const struct keygen_options *o, const char *path)
{
	struct key *k = NULL;
	char *comment = NULL;

	if (keyfile_load_public(path, &k, &comment) != 0)
		return false;
	/* There is no .pub file: the private key may have a comment. */
	if (comment == NULL)
		find_own_comment(path, &comment);
	print_fingerprint(o, k, comment != NULL ? comment : "");
	free(comment);
	key_free(k);
	return true;
}

static void
read_input(const char *path, struct buf *out)
{
	int r;

	buf_init_secret(out);
	if (strcmp(path, "-") == 0)
		r = fd_read_file(STDIN_FILENO, out, INPUT_MAX);
	else
		r = file_read(path, out, INPUT_MAX);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
}

char *
keygen_read_text(const char *path)
{
	struct buf content;
	char *text;

	read_input(path, &content);
	text = xmalloc(buf_len(&content) + 1);
	for (size_t i = 0; i < buf_len(&content); i++)
		text[i] = buf_data(&content)[i] != '\0' ?
		    (char)buf_data(&content)[i] :
		    ' ';
	text[buf_len(&content)] = '\0';
	buf_clear(&content);
	return text;
}

int
keygen_fingerprint(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	char *text, *rest, *line;
	struct buf content;
	bool found = false;

	read_input(path, &content);
	text = rest = buf_dup_string(&content);
	if (text == NULL)
		fatal("out of memory");
	if (str_has_prefix(text, "-----BEGIN ")) {
		if (strcmp(path, "-") != 0)
			found = fingerprint_private(o, path);
	} else {
		while ((line = strsep(&rest, "\r\n")) != NULL)
			found |= fingerprint_line(o, line);
	}
	if (!found)
		fatal("%s is not a public key file.",
		    strcmp(path, "-") == 0 ? "(stdin)" : path);
	mem_free_secret(text, buf_len(&content));
	buf_clear(&content);
	free(path);
	return OK;
}

int
keygen_bubblebabble(const struct keygen_options *o)
{
	bubblebabble = true;
	return keygen_fingerprint(o);
}

/* ---- converting --------------------------------------------------------- */

static enum keyfile_public_format
public_format(const struct keygen_options *o)
{
	if (o->format == NULL || strcasecmp(o->format, "RFC4716") == 0)
		return KEYFILE_PUBLIC_RFC4716;
	if (strcasecmp(o->format, "PKCS8") == 0)
		return KEYFILE_PUBLIC_PKCS8;
	return KEYFILE_PUBLIC_PEM;
}

static void
print_pem(const struct key *k)
{
	struct buf text;
	int r;

	buf_init_secret(&text);
	r = keyfile_format_private(k, KEYFILE_PEM, NULL, NULL, NULL, 0, &text);
	if (r != 0)
		fatal("%s", err_text(r));
	printf("%.*s", (int)buf_len(&text), (const char *)buf_data(&text));
	buf_clear(&text);
}

int
keygen_import(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	struct key *k = NULL;
	struct buf content;
	struct span all;
	int r = ERR_NOT_FOUND;

	read_input(path, &content);
	all = buf_span(&content);
	if (public_format(o) == KEYFILE_PUBLIC_RFC4716)
		r = keyfile_import_sshcom(all, &k);
	if (r == ERR_NOT_FOUND)
		r = keyfile_import_public(all, public_format(o), &k);
	if (r != 0)
		fatal("%s: cannot be read as a public key in %s format: %s",
		    path, o->format != NULL ? o->format : "RFC4716",
		    err_text(r));
	if (key_is_private(k))
		print_pem(k);
	else
		print_line(k, NULL);
	buf_clear(&content);
	free(path);
	key_free(k);
	return OK;
}

int
keygen_export(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	char *comment, *user = keygen_default_comment(), *pass = NULL;
	char *own_comment = NULL, *text;
	struct key *k = NULL;
	struct buf out = { 0 };
	int r;

	keygen_require_file(path);
	r = keyfile_load_public(path, &k, &own_comment);
	if (r == ERR_PASSPHRASE)
		k = keygen_load_private(o, path, &pass, &own_comment);
	else if (r != 0)
		fatal("Load key \"%s\": %s", path, err_text(r));
	xasprintf(&comment, "%u-bit %s, converted by %s", key_bits(k),
	    key_short_name(k), user);
	r = keyfile_export_public(k, public_format(o), comment, &out);
	if (r != 0)
		fatal("%s keys cannot be written in %s format: %s",
		    key_short_name(k), o->format != NULL ? o->format :
		    "RFC4716", err_text(r));
	text = buf_dup_string(&out);
	if (text == NULL)
		fatal("out of memory");
	printf("%s", text);
	free(text);
	buf_clear(&out);
	keygen_pass_free(pass);
	free(own_comment);
	free(comment);
	free(user);
	free(path);
	key_free(k);
	return OK;
}
