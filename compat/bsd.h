/* SPDX-License-Identifier: ISC */
/*
 * Functions of the BSDs, under their own names where this C library lacks them.
 *
 * Threads: any; readpassphrase(): one at a time.
 */
#ifndef HPN_COMPAT_BSD_H
#define HPN_COMPAT_BSD_H

#include <sys/types.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"

#ifndef HAVE_STRLCPY
/* Copies as much of from as fits into size bytes with a NUL; nothing if size is
 * 0. Returns the length of from: if that is size or more, the copy was cut. */
size_t strlcpy(char *to, const char *from, size_t size);
#endif

#ifndef HAVE_STRLCAT
/* Appends from to the text in `to`, as strlcpy() copies. Returns the length
 * that the whole text should have. */
size_t strlcat(char *to, const char *from, size_t size);
#endif

#ifndef HAVE_STRTONUM
/* The number that the whole text is, in decimal. If the text is no number or
 * out of the range: 0, and *why is "invalid", "too small" or "too large"
 * (errno: EINVAL, ERANGE). Otherwise *why is NULL. why may be NULL. */
long long strtonum(const char *text, long long min, long long max,
    const char **why);
#endif

#ifndef HAVE_STRMODE
/* Writes the mode as `ls -l` shows it, and a blank: 11 characters and a NUL. */
void strmode(mode_t mode, char *text);
#endif

#ifdef HAVE_READPASSPHRASE
#include <readpassphrase.h>
#else
enum {
	RPP_ECHO_OFF = 0,
	RPP_ECHO_ON = 1,
	RPP_REQUIRE_TTY = 2, /* without a terminal fail (ENOTTY), and do not
			      * read the standard input */
};

/* Asks on the terminal, and writes as much of the answer's line as fits to the
 * buffer. A signal that stops or ends programs takes effect only when the
 * terminal has its old settings again; after a stop the question is repeated.
 * NULL with errno: no answer could be read. */
char *readpassphrase(const char *prompt, char *answer, size_t size, int flags);
#endif

#endif
