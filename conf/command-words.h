/* SPDX-License-Identifier: ISC */
/*
 * The words of a configured command that is run without a shell.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_COMMAND_WORDS_H
#define HPN_CONF_COMMAND_WORDS_H

#include "base/str.h"

enum { COMMAND_WORDS_MAX = 256 };

/* Copies the word at *s to out, which has room for all of the text, and leaves
 * *s behind it. The words of configurations are made so, too. */
int command_word(const char **s, char *out) must_check;

/* Appends the words of text. Blanks part words, unless they stand in quotes of
 * either kind or behind a backslash, which makes quotes and itself ordinary,
 * too; a # is nothing special. ERR_SYNTAX: a quote is not closed; ERR_LIMIT. */
int command_words(const char *text, struct strlist *words) must_check;

#endif
