/* SPDX-License-Identifier: ISC */
/*
 * The names that the data of a file has until it is whole: that of "dir/name"
 * is "dir/.name.hpnpart". Where that name is taken, it is "dir/.name.hpnpart2"
 * and so on. From number XFER_PARTS_MAX + 1 on it is
 * "dir/.name.RANDOM.hpnpart", so that there is always another name. If a name
 * would have more than 255 bytes with that, its beginning and a digest take its
 * place. Both ends of a transfer use these names.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PART_NAME_H
#define HPN_XFER_PART_NAME_H

#include <stdbool.h>

enum { XFER_PARTS_MAX = 9 }; /* names with a number, not a random one */

/* The name of a part. number: from 1 on. The caller frees the name; NULL when
 * out of memory. */
char *xfer_part_name(const char *target, unsigned number);
/* The name of a part in the directory of parts. It is derived from the whole
 * path of the target, so that targets with the same last name get different
 * parts. */
char *xfer_temp_name(const char *dir, const char *target, unsigned number);
/* A random name for a probe file: nobody else uses it. */
char *xfer_probe_name(const char *target);
/* Does path look like that of a part? */
bool xfer_is_part(const char *path);
/*
 * Names of our own for a link or a small file that takes the target's place
 * within a moment: of "dir/name" these are "dir/.name.DIGEST.hpnlink" and
 * "dir/.name.DIGEST.hpnpart". The digest is of the name and of number, from 1
 * on: so a later run finds what a killed run has left, and nobody has the name
 * by chance. From number XFER_PARTS_MAX + 1 on the name is random.
 *
 * A link has a name that is not a part's, so that no run takes the link for a
 * part, and writes through it.
 */
char *xfer_link_name(const char *target, unsigned number);
/* The name of the part of a small file at a server (put-file). */
char *xfer_put_name(const char *target, unsigned number);
/* Does path look like a name of our own: that of such a link or part? */
bool xfer_is_own_name(const char *path);

#endif
