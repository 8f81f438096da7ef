/* SPDX-License-Identifier: ISC */
/*
 * Algorithm lists of the configuration: "a,b" is a whole list; "+a,b" appends
 * to the default list, "-pattern" removes from it, "^a,b" moves to its front.
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
	ALGS_HOST_KEY, /* the client's list of host key algorithms */
	ALGS_HOST_KEY_SERVER,
	ALGS_PUBKEY, /* user keys */
	ALGS_CA, /* signatures of certificate authorities */
	ALGS_KEX_GSS, /* prefixes of GSSAPI methods */
};

/* The default list; it has only names that the tables of algorithms have.
 * Caller frees; NULL when out of memory. */
char *algs_default(enum algs_kind kind);

/* A parsed list. Texts are owned; NULL: not set. */
struct algs_result {
	char *list; /* each name once */
	char *bad;  /* ERR_UNSUPPORTED: the name that is not known */
};

/* Parses a list. ERR_UNSUPPORTED: a name is not known, see res->bad;
 * ERR_SYNTAX: no name is left in the list. After an error res->list is NULL. A
 * name in a list of key algorithms may be a pattern, which must match a known
 * name. Clear the result in any case. */
int algs_parse(enum algs_kind kind, const char *text,
    struct algs_result *res) must_check;
void algs_result_clear(struct algs_result *res);

#endif
