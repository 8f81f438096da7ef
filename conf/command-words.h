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

/* Copies the word at *s to out, which must have room for the whole text, and
 * moves *s behind the word. Lines of configuration files are split by this,
 * too. */
int command_word(const char **s, char *out) must_check;

/* Appends the words of text. Blanks separate words, unless they are in quotes
 * of either kind or behind a backslash. A backslash also makes quotes and
 * backslashes ordinary characters. A # has no meaning. ERR_SYNTAX: a quote is
 * not closed; ERR_LIMIT. */
int command_words(const char *text, struct strlist *words) must_check;

#endif
