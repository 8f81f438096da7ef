/* SPDX-License-Identifier: ISC */
/* Locks and unlocks an agent, and adds and removes the keys of tokens by their
 * PKCS#11 library. */
#include "keytools/add/add.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "keys/keyfile.h"

/* ---- the lock ----------------------------------------------------------- */

/* Returns the user's answer to a question. Ends the program if none can be
 * read. Free it with prompt_free(). */
static char *
ask(const char *text)
{
	char *answer = prompt_ask_or_read(text);

	if (answer == NULL)
		fatal("Cannot read an answer.");
	return answer;
}

static int
tell_lock(int r, const char *what)
{
	if (r == 0)
		fprintf(stderr, "Agent %sed.\n", what);
	else
		fprintf(stderr, "Failed to %s agent: %s\n", what, add_why(r));
	return r == 0 ? OK : FAILED;
}

int
add_lock(struct agent *a)
{
	char *once = ask("Enter lock password: "), *again = ask("Again: ");
	bool same = strcmp(once, again) == 0;
	int r = 0;

	if (same)
		r = agent_lock(a, once);
	prompt_free(again);
	prompt_free(once);
	if (!same) {
		fprintf(stderr, "Passwords do not match.\n");
		return FAILED;
	}
	return tell_lock(r, "lock");
}

int
add_unlock(struct agent *a)
{
	char *pass = ask("Enter lock password: ");
	int r = agent_unlock(a, pass);

	prompt_free(pass);
	return tell_lock(r, "unlock");
}

/* ---- libraries ---------------------------------------------------------- */

/* Loads the certificates of these files. Plain keys among them (from a pattern
 * such as `*.pub`) are ignored. */
static struct key **
load_certs(const struct strlist *paths, size_t *n)
{
	struct key **certs = xcalloc(paths->n + 1, sizeof *certs);

	*n = 0;
	for (size_t i = 0; i < paths->n; i++) {
		int r = keyfile_load_public(paths->v[i], &certs[*n], NULL);

		if (r != 0)
			fatal("Cannot load certificate %s: %s", paths->v[i],
			    err_text(r));
		if (key_is_cert(certs[*n])) {
			(*n)++;
			continue;
		}
		key_free(certs[*n]);
		certs[*n] = NULL;
	}
	return certs;
}

int
add_library(struct agent *a, const struct add_options *o, const char *library,
    const struct strlist *cert_paths)
{
	struct agent_constraints c = o->constraints;
	size_t n;
	struct key **certs = load_certs(cert_paths, &n);
	char *pin = ask("Enter passphrase for PKCS#11: ");
	int r;

	c.certs = certs;
	c.n_certs = n;
	c.certs_only = o->certs_only;
	r = agent_add_provider(a, library, pin, &c);
	prompt_free(pin);
	if (r != 0)
		fprintf(stderr, "Could not add card \"%s\": %s\n", library,
		    add_why(r));
	else if (!o->quiet)
		fprintf(stderr, "Card added: %s\n", library);
	for (size_t i = 0; i < n; i++)
		key_free(certs[i]);
	free(certs);
	return r == 0 ? OK : FAILED;
}

int
add_remove_library(struct agent *a, const struct add_options *o,
    const char *library)
{
	int r = agent_remove_provider(a, library, "");

	if (r != 0)
		fprintf(stderr, "Could not remove card \"%s\": %s\n", library,
		    add_why(r));
	else if (!o->quiet)
		fprintf(stderr, "Card removed: %s\n", library);
	return r == 0 ? OK : FAILED;
}
