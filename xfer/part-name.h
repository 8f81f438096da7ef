/* SPDX-License-Identifier: ISC */
/*
 * The names that the data of a file has until it is whole: that of
 * "dir/name" is "dir/.name.hpnpart"; where there is something else, it is
 * "dir/.name.hpnpart2" and so on, and from number XFER_PARTS_MAX + 1 on
 * "dir/.name.RANDOM.hpnpart", so that there is always another one. Of a name
 * so long that this would have more than 255 bytes, its beginning and a digest
 * are taken. Both ends of a transfer use them.
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
/* A name for a probe file, which nobody else uses, and no copied file can
 * have. */
char *xfer_probe_name(const char *target);
/* Does path look like that of a part? */
bool xfer_is_part(const char *path);
/*
 * Names of our own for what takes the target's place within a moment: of
 * "dir/name" it is "dir/.name.DIGEST.hpnlink" and "dir/.name.DIGEST.hpnpart".
 * The digest is of the name and of number, from 1 on: so a later run finds what
 * a killed one has left, and nobody has the name by chance. From number
 * XFER_PARTS_MAX + 1 on it is a random one.
 *
 * A link, which is to be renamed over the target, is no part, for nobody shall
 * take it for one, and write through it.
 */
char *xfer_link_name(const char *target, unsigned number);
/* The name of the part of a small file at a server (put-file). */
char *xfer_put_name(const char *target, unsigned number);
/* Does path look like a name of our own: that of such a link or part? */
bool xfer_is_own_name(const char *path);

#endif
