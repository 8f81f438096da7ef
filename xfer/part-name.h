/* SPDX-License-Identifier: ISC */
/*
 * The name that the data of a file has until it is whole: that of "dir/name"
 * is "dir/.name.hpnpart"; of a name so long that this would have more than
 * 255 bytes, its beginning and a digest. Both ends of a transfer use it.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PART_NAME_H
#define HPN_XFER_PART_NAME_H

/* The caller frees; NULL when out of memory. */
char *xfer_part_name(const char *target);

#endif
