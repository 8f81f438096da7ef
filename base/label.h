/* SPDX-License-Identifier: ISC */
/*
 * The attribute of this process by which SELinux labels the programs that it
 * executes: modules of PAM set it for a user's programs. It is read and written
 * as a file, so no library is needed.
 *
 * Threads: the calling one's attribute.
 */
#ifndef HPN_BASE_LABEL_H
#define HPN_BASE_LABEL_H

#include "base/err.h"

/* The attribute; NULL: none is set, or the system has no such thing. Caller
 * frees. */
char *label_of_programs(void);
/* Sets the attribute; label "": none. ERR_SYSTEM with errno. */
int label_set_of_programs(const char *label) must_check;

/* For tests: as the functions above, but the attribute is the file at path. */
char *label_read(const char *path);
int label_write(const char *path, const char *label) must_check;

#endif
