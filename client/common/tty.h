/* SPDX-License-Identifier: ISC */
/*
 * The user's terminal: raw mode while a remote one is in use, its size.
 * However the process ends, the terminal gets its modes back: tty_leave_raw()
 * is registered with atexit(3), and called before the process stops itself.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_TTY_H
#define HPN_CLIENT_COMMON_TTY_H

#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"

/* Raw mode on fd's terminal. Nothing happens when it is raw already, or fd
 * is no terminal. */
void tty_enter_raw(int fd);
void tty_leave_raw(void);
bool tty_is_raw(void);

/* Appends the body of a pty-req behind its name and reply flag: terminal
 * type, size, encoded modes (RFC 4254 section 6.2). fd may be no terminal:
 * then size is 0 and the list of modes empty. */
void tty_put_pty_request(struct buf *out, int fd, const char *term);
/* Columns, rows, pixels: the body of a window-change. */
void tty_put_window_size(struct buf *out, int fd);

#endif
