/* SPDX-License-Identifier: ISC */
/*
 * Expansion of %x, ${VAR} and ~ in configured texts. The texts that are put in
 * for them are not expanded again.
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

/* Expands %% and the n given tokens. Caller frees *out. ERR_SYNTAX: a token is
 * not in the table; *bad is its letter, or 0 for a % at the end of the text. */
int tokens_expand(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad) must_check;
/* Like tokens_expand(), and expands ${NAME}. ERR_NOT_FOUND: NAME is not in the
 * environment. *bad is then '$', as for a ${ without }. */
int tokens_expand_env(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad) must_check;
/* Expands only ${NAME}; a % stays as it is. */
int tokens_expand_variables(const char *text, char **out,
    char *bad) must_check;
/* Expands a leading ~ (to home, or if that is NULL to this user's home) or
 * ~user; the end or a / must follow. ERR_NOT_FOUND: there is no such user. */
int tokens_expand_tilde(const char *path, const char *home,
    char **out) must_check;

#endif
