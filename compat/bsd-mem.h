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
/* Overwrites with zeros, which no compiler omits because nobody reads them. */
void explicit_bzero(void *p, size_t len);
#endif

#ifndef HAVE_FREEZERO
/* Overwrites with zeros, and frees. p may be NULL. */
void freezero(void *p, size_t len);
#endif

#ifndef HAVE_MEMRCHR
/* The last of len bytes at p that equals c; NULL: none does. */
void *memrchr(const void *p, int c, size_t len);
#endif

#ifndef HAVE_REALLOCARRAY
/* realloc() to count times size bytes. NULL with ENOMEM if the product is too
 * large for a size_t; the old memory stays then. */
void *reallocarray(void *p, size_t count, size_t size);
#endif

#ifndef HAVE_RECALLOCARRAY
/* As reallocarray(). Elements from old_count on are zeros, and memory is
 * overwritten before it is freed. p may be NULL, whatever old_count is. NULL:
 * the old memory stays. EINVAL: no memory can have old_count elements. */
void *recallocarray(void *p, size_t old_count, size_t count, size_t size);
#endif

#endif
