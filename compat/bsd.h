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
/* Copies what fits into size bytes, with a NUL, if size is not 0. The length of
 * what was to be there: size or more means that it was cut. */
size_t strlcpy(char *to, const char *from, size_t size);
#endif

#ifndef HAVE_STRLCAT
/* The same behind the text that is in `to` already. */
size_t strlcat(char *to, const char *from, size_t size);
#endif

#ifndef HAVE_STRTONUM
/* A decimal number that is all of the text. If it is none or out of the range,
 * 0 and *why is "invalid", "too small" or "too large" (EINVAL, ERANGE); else
 * *why is NULL. why may be NULL. */
long long strtonum(const char *text, long long min, long long max,
    const char **why);
#endif

#ifndef HAVE_STRMODE
/* As `ls -l` begins a line, and a blank: 11 characters and a NUL. */
void strmode(mode_t mode, char *text);
#endif

#ifdef HAVE_READPASSPHRASE
#include <readpassphrase.h>
#else
enum {
	RPP_ECHO_OFF = 0,
	RPP_ECHO_ON = 1,
	RPP_REQUIRE_TTY = 2, /* or ENOTTY, in place of the standard input */
};

/* Asks on the terminal, and writes what fits of the answer's line to the
 * buffer. A signal of job control or one that ends programs arrives when the
 * terminal is as it was; after a stop the question is asked again. NULL: see
 * errno. */
char *readpassphrase(const char *prompt, char *answer, size_t size, int flags);
#endif

#endif
