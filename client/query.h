/* SPDX-License-Identifier: ISC */
/*
 * The lists of -Q: algorithms that this program has, from the tables.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_QUERY_H
#define HPN_CLIENT_QUERY_H

#include "base/buf.h"
#include "base/err.h"

/* Appends one name a line. ERR_NOT_FOUND: no such list. */
int query_list(const char *what, struct buf *out) must_check;

#endif
