/* SPDX-License-Identifier: ISC */
/*
 * The names that the data of a file has until it is whole: that of
 * "dir/name" is "dir/.name.hpnpart", and while somebody else's data may be
 * there "dir/.name.hpnpart2" and so on; of a name so long that this would
 * have more than 255 bytes, its beginning and a digest. Both ends of a
 * transfer use them.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PART_NAME_H
#define HPN_XFER_PART_NAME_H

#include <stdbool.h>

enum { XFER_PARTS_MAX = 9 }; /* of one file */

/* number: from 1 on. The caller frees; NULL when out of memory. */
char *xfer_part_name(const char *target, unsigned number);
/* One that nobody else uses. */
char *xfer_probe_name(const char *target);
/* Does this path look like one? */
bool xfer_is_part(const char *path);
/* Where a link is made that is to be renamed over the target. It is no part,
 * for nobody shall take it for one, and write through it. */
char *xfer_link_name(const char *target);

#endif
