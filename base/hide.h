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

/* This process and those it forks (until they run another program) leave no
 * core, and can be traced by the superuser only. That it fails is no reason
 * to refuse work: where tracing cannot be forbidden, it is as it was. */
void hide_process(void);

/* Zeroed memory in pages of its own, which are neither swapped out nor
 * dumped as far as the system lets us have that. NULL: out of memory. */
void *hide_alloc(size_t len);
/* Wipes. p may be NULL. */
void hide_free(void *p, size_t len);

#endif
