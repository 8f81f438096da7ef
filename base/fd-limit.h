/* SPDX-License-Identifier: ISC */
/*
 * How many descriptors this process may have (RLIMIT_NOFILE): a process that
 * works for many takes what it may, and gives it back to those it starts,
 * because old programs trust that numbers are small.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_FD_LIMIT_H
#define HPN_BASE_FD_LIMIT_H

/* As many as the system lets us have. */
void fd_limit_raise(void);
/* In a child, before it becomes another program: as it was. */
void fd_limit_restore(void);

#endif
