/* SPDX-License-Identifier: ISC */
/* Paths of a sync: a top, and what is below it. Threads: any. */
#ifndef HPN_XFER_SYNC_SYNC_PATH_H
#define HPN_XFER_SYNC_SYNC_PATH_H

/* "top/path", or top alone if path is "", or path if top is "". The caller
 * frees it. Ends the program when out of memory. */
char *sync_path_below(const char *top, const char *path);

#endif
