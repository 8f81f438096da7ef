/* SPDX-License-Identifier: ISC */
/*
 * Files without a name, for data that is too much for memory or has to be in a
 * file.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_UNNAMED_H
#define HPN_BASE_UNNAMED_H

/* Makes and opens a file below $TMPDIR or /tmp; -1 with errno. program:
 * beginning of the name that the file has for a moment where the system needs
 * one. */
int unnamed_file(const char *program);

#endif
