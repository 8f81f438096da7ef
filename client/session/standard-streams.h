/* SPDX-License-Identifier: ISC */
/*
 * Makes standard input and output non-blocking without affecting other
 * processes: O_NONBLOCK belongs to the open file, which a shell, a make or a
 * pager may share. Pipes and terminals are opened again, where the system can
 * do that (/proc/self/fd), so that only we have the flag. Sockets get the flag,
 * and it is removed at exit.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_STANDARD_STREAMS_H
#define HPN_CLIENT_SESSION_STANDARD_STREAMS_H

#include <stdbool.h>

#include "client/session/client-session.h"

/* Makes those of descriptors 0, 1 and 2 non-blocking that can block. This is
 * undone at exit. */
void stdio_set_nonblock(void);
/* To be called before a master gets our descriptors 0, 1 and 2, because it may
 * set O_NONBLOCK and leave it. stdio_restore_blocking() removes the flag from
 * those that did not have it; it is also called at exit. */
void stdio_note_blocking(void);
void stdio_restore_blocking(void);
/* Opens the pipe or terminal of fd again, non-blocking, in place of fd. False:
 * that is not possible, and fd stays as it is. */
bool stdio_reopen_nonblock(int fd);
/* Replaces fd by /dev/null. */
void stdio_to_null(int fd);
/* Replaces descriptors 0, 1 and 2 by /dev/null, for a process in the background
 * that has no session on them: whoever reads from them would wait for their
 * end. With debug messages, 2 stays, because they are written there. */
void stdio_leave(void);

/* Descriptors 0, 1 and 2 of this process, and the terminal on 0, for the
 * parameters of a session. Borrowed, also $TERM. */
struct session_stdio session_stdio_own(void);

#endif
