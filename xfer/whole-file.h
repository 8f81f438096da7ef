/* SPDX-License-Identifier: ISC */
/*
 * A file that appears when it is whole: it is written under a temporary name in
 * its directory, and renamed at the end. A file or link of its own name stays
 * until then, and is replaced.
 *
 * Threads: one at a time for a file.
 */
#ifndef HPN_XFER_WHOLE_FILE_H
#define HPN_XFER_WHOLE_FILE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct whole_file;

/* Begins a file. The path is opened as open_named() says. ERR_SYSTEM with
 * errno; EISDIR, EOPNOTSUPP: the name belongs to something else than a file or
 * a link to one, which is not replaced. */
int whole_file_create(struct whole_file **out, const char *path,
    mode_t mode) must_check;
/* Writes; an error shows in whole_file_end(). */
void whole_file_write(struct whole_file *f, const void *p, size_t len);
/* Renames the file to its own name if keep is true and all was written; else
 * removes it. Frees f in any case; f may be NULL. ERR_SYSTEM with errno. */
int whole_file_end(struct whole_file *f, bool keep) must_check;

#endif
