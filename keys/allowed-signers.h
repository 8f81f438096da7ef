/* SPDX-License-Identifier: ISC */
/*
 * Who may have signed: files of lines "principals [options] key". principals
 * is a pattern list, perhaps in quotes; options are cert-authority (the key is
 * a CA's, and signers have certificates by it), namespaces="patterns",
 * valid-after="time" and valid-before="time".
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_ALLOWED_SIGNERS_H
#define HPN_KEYS_ALLOWED_SIGNERS_H

#include "base/str.h"
#include "keys/key.h"

/* A line of such a file. Clear it with signer_clear(). */
struct signer {
	char *principals;
	bool is_ca;
	char *namespaces; /* NULL: any */
	uint64_t valid_after, valid_before; /* seconds since 1970; 0: any */
	struct key *key;
};

/* Parses a line. ERR_NOT_FOUND: it is blank or a comment. ERR_FORMAT: *why
 * (static) says what is wrong with it; out->principals, if it could be read,
 * says whose line it is, else it is NULL. The caller clears out in any case. */
int signer_parse(const char *line, struct signer *out,
    const char **why) must_check;
void signer_clear(struct signer *s);
bool signer_is_named(const struct signer *s, const char *principal);

/* The question about a signature that was verified: may its signer have made
 * it? */
struct signer_query {
	const struct key *key; /* perhaps a certificate */
	const char *principal; /* NULL: names is to get the principals */
	const char *namespace; /* NULL: any */
	uint64_t when;	       /* seconds since 1970 */
};

/*
 * Does the line s let query->key sign? 0: yes. ERR_NOT_FOUND: the line is about
 * another key or principal. ERR_DENIED: the line is about this key, and does
 * not let it sign; *why says so, caller frees. names (NULL or empty) gets the
 * principals that the signer has by this line, if query->principal is NULL.
 */
int signer_check(const struct signer *s, const struct signer_query *query,
    struct strlist *names, char **why) must_check;

#endif
