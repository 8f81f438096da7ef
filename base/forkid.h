/* SPDX-License-Identifier: ISC */
/*
 * Tells whether the process has forked since, without a system call. For
 * modules that keep buffered randomness, which must not be used twice.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_FORKID_H
#define HPN_BASE_FORKID_H

/* A number that is different in a child from all those its parent has seen
 * before the fork. */
unsigned int fork_id(void);

#endif
