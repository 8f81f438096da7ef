/* SPDX-License-Identifier: ISC */
/*
 * The lists that "hpnssh -Q" prints: the algorithms of this program, taken from
 * the tables that the program itself uses.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_QUERY_H
#define HPN_CLIENT_QUERY_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the list that is called `what` (in any case), one name on a line.
 * ERR_NOT_FOUND: there is no list of that name. */
int query_list(const char *what, struct buf *out) must_check;

#endif
