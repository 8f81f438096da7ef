/* SPDX-License-Identifier: ISC */
/* Removes keys from the agent. */
#include "keytools/add/add.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/keyfile.h"

enum { INPUT_MAX = 16 * 1024 * 1024 }; /* bytes of public keys */

static bool
remove_key(struct agent *a, const struct add_options *o, const struct key *k,
    const char *name, const char *comment)
{
	char *shown = xstr_escape(comment);
	int r = agent_remove(a, k);

	if (r != 0)
		fprintf(stderr, "Could not remove identity \"%s\": %s\n",
		    name, add_why(r));
	else if (!o->quiet)
		fprintf(stderr, "Identity removed: %s %s (%s)\n", name,
		    key_short_name(k), shown);
	free(shown);
	return r == 0;
}

/* ---- by files ----------------------------------------------------------- */

static bool
remove_cert_beside(struct agent *a, const struct add_options *o,
    const struct key *k, const char *path, const char *comment)
{
	char *cert_path = add_cert_path(path);
	struct key *cert = NULL;
	bool ok = true;

	if (keyfile_load_public(cert_path, &cert, NULL) == 0) {
		if (key_is_cert(cert) && key_same_identity(cert, k)) {
			ok = remove_key(a, o, cert, cert_path, comment);
		} else {
			log_error("Certificate %s does not match private key "
				  "%s", cert_path, path);
			ok = false;
		}
	}
	key_free(cert);
	free(cert_path);
	return ok;
}

static bool
remove_file(struct agent *a, const struct add_options *o, const char *path)
{
	struct key *k = NULL;
	char *comment = NULL;
	bool ok = true;
	int r = keyfile_load_public(path, &k, &comment);

	if (r != 0) {
		printf("Bad key file %s: %s\n", path, err_text(r));
		return false;
	}
	if (comment == NULL || *comment == '\0') {
		free(comment);
		comment = xstrdup(path);
	}
	if (!o->certs_only)
		ok = remove_key(a, o, k, path, comment);
	if (!o->plain_only && !key_is_cert(k))
		ok &= remove_cert_beside(a, o, k, path, comment);
	free(comment);
	key_free(k);
	return ok;
}

/* ---- by lines of standard input ----------------------------------------- */

static bool
remove_line(struct agent *a, const struct add_options *o, const char *line,
    unsigned number)
{
	static const char name[] = "(stdin)";
	struct key *k = NULL;
	bool ok;
	int r = key_parse_line(&line, &k);

	if (r != 0) {
		log_error("%s:%u: invalid key: %s", name, number, err_text(r));
		return false;
	}
	line += strspn(line, " \t");
	ok = remove_key(a, o, k, name, *line != '\0' ? line : name);
	key_free(k);
	return ok;
}

/* Removes the keys that standard input lists. False: there was none, or an
 * error. */
static bool
remove_of_input(struct agent *a, const struct add_options *o)
{
	struct buf input = { 0 };
	char *text, *rest, *line;
	unsigned number = 0, keys = 0;
	bool ok = true;
	int r = fd_read_file(STDIN_FILENO, &input, INPUT_MAX);

	if (r != 0)
		fatal("Cannot read the standard input: %s", err_text(r));
	text = rest = buf_dup_string(&input);
	if (text == NULL)
		fatal("out of memory");
	while ((line = strsep(&rest, "\n")) != NULL) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		line += strspn(line, " \t");
		if (*line == '\0' || *line == '#')
			continue;
		keys++;
		ok &= remove_line(a, o, line, number);
	}
	free(text);
	buf_clear(&input);
	return ok && keys > 0;
}

/* ---- actions ------------------------------------------------------------ */

int
add_remove_files(struct agent *a, const struct add_options *o,
    const struct strlist *paths)
{
	size_t removed = 0;

	for (size_t i = 0; i < paths->n; i++)
		removed += strcmp(paths->v[i], "-") == 0 ?
		    remove_of_input(a, o) :
		    remove_file(a, o, paths->v[i]);
	return paths->n > 0 && removed == paths->n ? OK : FAILED;
}

int
add_remove_all(struct agent *a, const struct add_options *o)
{
	if (agent_remove_all(a) != 0) {
		fprintf(stderr, "Failed to remove all identities.\n");
		return FAILED;
	}
	if (!o->quiet)
		fprintf(stderr, "All identities removed.\n");
	return OK;
}
