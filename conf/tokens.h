/* SPDX-License-Identifier: ISC */
/*
 * Expansion of %x, ${VAR} and ~ in configured texts. What they expand to is
 * not expanded again.
 *
 * Threads: any, but the environment and passwd are read.
 */
#ifndef HPN_CONF_TOKENS_H
#define HPN_CONF_TOKENS_H

#include <stddef.h>

#include "base/err.h"

enum { TOKENS_MAX = 65536 }; /* bytes of an expanded text */

struct token {
	char letter;	   /* behind the % */
	const char *value; /* borrowed; NULL = empty */
};

/* %% and the given tokens; n rows. Caller frees *out. ERR_SYNTAX: a token
 * that is not in the table (*bad is its letter, 0 at the end of text). */
int tokens_expand(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad) must_check;
/* The same and ${NAME}; ERR_NOT_FOUND: not in the environment. *bad is then
 * '$', also for a ${ without }. */
int tokens_expand_env(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad) must_check;
/* Only ${NAME}; a % stays as it is. */
int tokens_expand_variables(const char *text, char **out,
    char *bad) must_check;
/* Leading ~ (home, or our own if NULL) or ~user; alone, with a / behind it.
 * ERR_NOT_FOUND: no such user. */
int tokens_expand_tilde(const char *path, const char *home,
    char **out) must_check;

#endif
