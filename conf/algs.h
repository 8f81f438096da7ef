/* SPDX-License-Identifier: ISC */
/*
 * Algorithm lists of the configuration: "a,b", and changes of the default:
 * "+a,b" (append), "-pattern" (remove), "^a,b" (move to the front).
 *
 * Threads: any.
 */
#ifndef HPN_CONF_ALGS_H
#define HPN_CONF_ALGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum algs_kind {
	ALGS_KEX_CLIENT,
	ALGS_KEX_SERVER,
	ALGS_CIPHER,
	ALGS_MAC,
	ALGS_HOST_KEY, /* client */
	ALGS_HOST_KEY_SERVER,
	ALGS_PUBKEY, /* user keys */
};

/* Default proposal, only of names that the tables have. Caller frees; NULL
 * when memory is out. */
char *algs_default(enum algs_kind kind);

/* The list that text means, each name once. ERR_UNSUPPORTED: *bad (caller
 * frees) is a name that is not in the table; ERR_SYNTAX: nothing is left. */
int algs_parse(enum algs_kind kind, const char *text, char **out,
    char **bad) must_check;

#endif
