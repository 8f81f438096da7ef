/* SPDX-License-Identifier: ISC */
/*
 * Sealed files: written once, then read by other processes that have the
 * descriptor, and changed by nobody. They exist only in memory; on a system
 * that has no such files they are files of the disk without a name.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_SEALED_H
#define HPN_BASE_SEALED_H

#include <stdbool.h>

#include "base/err.h"

/* A new empty file to be written; close-on-exec. name: what the system calls it
 * where it lists open files. -1 with errno. */
int sealed_new(const char *name);
/* Nobody can change the file any more. *fd may be another descriptor then,
 * whose offset is anywhere. ERR_SYSTEM. */
int sealed_close(int *fd) must_check;
/* Is fd what sealed_close() leaves? */
bool sealed_is(int fd);

#endif
