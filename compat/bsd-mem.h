/* SPDX-License-Identifier: ISC */
/*
 * Memory: functions of the BSDs and of newer C libraries, under their own names
 * where this one lacks them.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_BSD_MEM_H
#define HPN_COMPAT_BSD_MEM_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "functions.h"

#ifndef HAVE_EXPLICIT_BZERO
/* Zeros that no compiler leaves out because nobody reads them. */
void explicit_bzero(void *p, size_t len);
#endif

#ifndef HAVE_FREEZERO
/* Zeros, and then free(). p may be NULL. */
void freezero(void *p, size_t len);
#endif

#ifndef HAVE_MEMRCHR
/* The last byte that is c; NULL: there is none. */
void *memrchr(const void *p, int c, size_t len);
#endif

#ifndef HAVE_REALLOCARRAY
/* realloc() of count times size bytes; NULL and ENOMEM if that is too much to
 * be a number. What was there stays then. */
void *reallocarray(void *p, size_t count, size_t size);
#endif

#ifndef HAVE_RECALLOCARRAY
/* The same, and the elements from old_count on are zeros; what is given back
 * is overwritten before. p may be NULL, whatever old_count is. NULL: what was
 * there stays; EINVAL: it cannot have had old_count elements. */
void *recallocarray(void *p, size_t old_count, size_t count, size_t size);
#endif

#endif
