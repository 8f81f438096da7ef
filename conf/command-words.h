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

/* Appends them. Blanks part words, unless they stand in quotes of either kind
 * or behind a backslash, which makes quotes and itself ordinary, too; a # is
 * nothing special. ERR_SYNTAX: a quote is not closed; ERR_LIMIT. */
int command_words(const char *text, struct strlist *words) must_check;

#endif
