/* SPDX-License-Identifier: ISC */
/*
 * Takes secrets out of the command line that a report shows: values of ssh
 * options that are not known to be harmless, arguments of programs that are
 * given as text, and passwords in URIs. "..." stands in their place.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_COMMAND_H
#define HPN_CLIENT_REPORT_REPORT_COMMAND_H

#include <stddef.h>

#include "base/str.h"

enum {
	REPORT_NAMES = 100, /* names of files that are shown at most: the first
			     * ones, and the last */
};

/* Returns the text with "..." in place of the password of a URI in it,
 * "scheme://user:password@host". Caller frees. */
char *report_without_password(const char *text);
/* Appends an option as it was given, such as "-o" or "--rsh", and its value;
 * NULL: it has none. */
void report_command_option(struct strlist *command, const char *option,
    const char *value);
/* Appends the names of sources and target. Returns how many were left out. */
size_t report_command_names(struct strlist *command, char *const *names,
    size_t n);

#endif
