/* SPDX-License-Identifier: ISC */
/*
 * For processes that hold other people's secrets: nobody else may look into
 * them, and what matters most is not written to a disk.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_HIDE_H
#define HPN_BASE_HIDE_H

#include <stddef.h>

/* Makes this process and those that it forks (until they run another program)
 * leave no core, and lets only the superuser trace them. If the system cannot
 * do that, the process goes on: it is no worse off than without the call. */
void hide_process(void);

/* Zeroed memory in pages of its own, which are neither swapped out nor
 * dumped as far as the system lets us have that. NULL: out of memory. */
void *hide_alloc(size_t len);
/* Wipes. p may be NULL. */
void hide_free(void *p, size_t len);

#endif
