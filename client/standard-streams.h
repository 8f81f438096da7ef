/* SPDX-License-Identifier: ISC */
/*
 * Standard input and output without blocking, and without other processes
 * noticing: O_NONBLOCK belongs to the open file, which a shell, a make or a
 * pager may share. Pipes and terminals are opened anew where the system can
 * (/proc/self/fd); sockets get the flag, and lose it again at exit.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_STANDARD_STREAMS_H
#define HPN_CLIENT_STANDARD_STREAMS_H

#include "client/client-session.h"

/* Makes 0, 1 and 2 non-blocking where that is of use. */
void stdio_set_nonblock(void);
/* Undoes it; also registered with atexit(3). */
void stdio_restore(void);
/* Replaces fd by /dev/null. */
void stdio_to_null(int fd);

/* 0, 1 and 2 of this process, and the terminal on 0, as a session has them. */
struct session_streams session_streams_standard(void);

#endif
