/* SPDX-License-Identifier: ISC */
/* getopt(3) with the messages of OpenSSH's programs, which do not begin with
 * the program's name: scripts that find out whether a flag exists look for
 * these messages. */
#ifndef HPN_BASE_FLAGS_GETOPT_H
#define HPN_BASE_FLAGS_GETOPT_H

#include <getopt.h>

int flags_getopt(int argc, char *const argv[], const char *letters);
int flags_getopt_long(int argc, char *const argv[], const char *letters,
    const struct option *names);

#endif
