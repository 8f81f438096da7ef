/* SPDX-License-Identifier: ISC */
/*
 * A file that nobody sees before it is whole: it is written under a part's name
 * in the directory of its own, and gets its own name at the end. What had that
 * name, a file or a link, is replaced then; until then it stays.
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

/* ERR_SYSTEM with errno. The path is opened as open_named() says. What is no
 * file, and no link to one, is not replaced: EISDIR, EOPNOTSUPP. */
int whole_file_create(struct whole_file **out, const char *path,
    mode_t mode) must_check;
/* An error shows at the end. */
void whole_file_write(struct whole_file *f, const void *p, size_t len);
/* Gives it its name, if keep and all was written; else removes it. Frees f in
 * any case. ERR_SYSTEM with errno. f may be NULL. */
int whole_file_end(struct whole_file *f, bool keep) must_check;

#endif
