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
	ALGS_CA, /* signatures of certificate authorities */
	ALGS_KEX_GSS, /* by their prefixes */
};

/* Default proposal, only of names that the tables have. Caller frees; NULL
 * when memory is out. */
char *algs_default(enum algs_kind kind);

/* A parsed list. Texts are owned; NULL: there is none. */
struct algs_result {
	char *list; /* each name once */
	char *bad;  /* ERR_UNSUPPORTED: the name that is not known */
};

/* ERR_UNSUPPORTED: see res->bad; ERR_SYNTAX: nothing is left. Then there is no
 * list. In lists of keys a name may be a pattern, which must match some known
 * name. Clear the result in any case. */
int algs_parse(enum algs_kind kind, const char *text,
    struct algs_result *res) must_check;
void algs_result_clear(struct algs_result *res);

#endif
