/* SPDX-License-Identifier: ISC */
/*
 * The command line in a report, without what may be a secret: values of options
 * of ssh that are not known to be harmless, arguments of programs that are
 * given as text, and the password of a URI. What is left out shows as "...".
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_COMMAND_H
#define HPN_CLIENT_REPORT_REPORT_COMMAND_H

#include <stddef.h>

#include "base/str.h"

enum {
	REPORT_NAMES = 100, /* names of files that are shown, the first ones and
			     * the last */
};

/* The text with "..." in place of the password of a URI in it,
 * "scheme://user:password@host". Caller frees. */
char *report_without_password(const char *text);
/* An option as it was given, "-o" or "--rsh", and its value; NULL: none. */
void report_command_option(struct strlist *command, const char *option,
    const char *value);
/* The names of sources and target. Returns how many are left out. */
size_t report_command_names(struct strlist *command, char *const *names,
    size_t n);

#endif
