/* SPDX-License-Identifier: ISC */
/*
 * For processes that run somebody else's library: it has to be able to do its
 * work, and nothing else.
 *
 * Threads: before any is started.
 */
#ifndef HPN_BASE_CONFINE_H
#define HPN_BASE_CONFINE_H

/* Takes away from this process the terminal on which it could ask the user, the
 * agent, the gaining of privileges by programs that it runs, many descriptors,
 * and large files. What a system cannot take away stays. */
void confine_process(void);

#endif
