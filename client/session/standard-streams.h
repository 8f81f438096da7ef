/* SPDX-License-Identifier: ISC */
/*
 * Makes standard input and output non-blocking without other processes being
 * affected: O_NONBLOCK belongs to the open file, which a shell, a make or a
 * pager may share. Pipes and terminals are opened anew where the system can
 * (/proc/self/fd), so that the flag is ours only; sockets get the flag, and it
 * is removed at exit.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_STANDARD_STREAMS_H
#define HPN_CLIENT_SESSION_STANDARD_STREAMS_H

#include <stdbool.h>

#include "client/session/client-session.h"

/* 0, 1 and 2, as far as they can block. Undone at exit. */
void stdio_set_nonblock(void);
/* Before a master of a shared connection gets 0, 1 and 2: it may set the flag
 * for good. stdio_restore_blocking() takes it away where it was not set; also
 * at exit. */
void stdio_note_blocking(void);
void stdio_restore_blocking(void);
/* fd becomes an open file of our own for the same pipe or terminal, one that
 * does not block. False: it stays as it is. */
bool stdio_reopen_nonblock(int fd);
/* Replaces fd by /dev/null. */
void stdio_to_null(int fd);
/* For a process in the background that has no session on 0, 1 and 2: who reads
 * a pipe of theirs would wait for its end. Debug lines are still told. */
void stdio_leave(void);

/* 0, 1 and 2 of this process, and the terminal on 0, as a session has them. */
struct session_stdio session_stdio_own(void);

#endif
