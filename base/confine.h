/* SPDX-License-Identifier: ISC */
/*
 * For processes that run a library of somebody else, which must be let do its
 * work, but no more than that.
 *
 * Threads: before any is started.
 */
#ifndef HPN_BASE_CONFINE_H
#define HPN_BASE_CONFINE_H

/* From here on: no terminal to ask the user on, no agent, no more privileges by
 * programs that are run, few descriptors, no large files. What a system cannot
 * do is left as it is. */
void confine_process(void);

#endif
