/* SPDX-License-Identifier: ISC */
/*
 * Files without a name, for what is too much for memory or has to be a file.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_UNNAMED_H
#define HPN_BASE_UNNAMED_H

/* An open file, below $TMPDIR or /tmp; -1 with errno. program: how its name
 * begins, for as long as it has one. */
int unnamed_file(const char *program);

#endif
