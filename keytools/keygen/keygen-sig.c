/* SPDX-License-Identifier: ISC */
/* The operations of -Y, and which arguments each requires. */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keytools/keygen/keygen-sig.h"

static const struct operation {
	const char *name;
	/* What the message about a missing argument calls it; NULL: the
	 * argument is not required. */
	const char *names, *signature, *file, *identity;
	bool takes_args;
	int (*run)(const struct keygen_options *o);
} operations[] = {
	{ "sign", "namespace", NULL, "key", NULL, true, keygen_sign },
	{ "verify", "namespace", "signature file", "allowed keys file",
	    "principal identity", false, keygen_verify },
	{ "check-novalidate", "namespace", "signature file", NULL, NULL, false,
	    keygen_check_novalidate },
	{ "find-principals", NULL, "signature file", "allowed keys file",
	    NULL, false, keygen_find_principals },
	{ "match-principals", NULL, NULL, "allowed keys file",
	    "principal ID", false, keygen_match_principals },
};

static bool
is_there(const struct operation *op, const char *what, const char *value)
{
	if (what == NULL || (value != NULL && *value != '\0'))
		return true;
	fprintf(stderr, "Too few arguments for %s: missing %s\n", op->name,
	    what);
	return false;
}

int
keygen_signature(const struct keygen_options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		const struct operation *op = &operations[i];

		if (strcmp(o->operation, op->name) != 0)
			continue;
		if (!is_there(op, op->names, o->names) ||
		    !is_there(op, op->signature, o->ca) ||
		    !is_there(op, op->file, o->file) ||
		    !is_there(op, op->identity, o->identity))
			return FAILED;
		if (o->n_args > 0 && !op->takes_args) {
			fprintf(stderr, "Too many arguments for %s.\n",
			    op->name);
			return FAILED;
		}
		return op->run(o);
	}
	fprintf(stderr, "Unsupported operation for -Y: \"%s\"\n",
	    o->operation);
	return FAILED;
}
