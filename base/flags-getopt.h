/* SPDX-License-Identifier: ISC */
/*
 * getopt(3) that says what was wrong in the words of OpenSSH's programs, which
 * are without the program's name: scripts that try for a flag look for them.
 */
#ifndef HPN_BASE_FLAGS_GETOPT_H
#define HPN_BASE_FLAGS_GETOPT_H

#include <getopt.h>

int flags_getopt(int argc, char *const argv[], const char *letters);
int flags_getopt_long(int argc, char *const argv[], const char *letters,
    const struct option *names);

#endif
