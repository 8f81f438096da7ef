/* SPDX-License-Identifier: ISC */
/*
 * The user's terminal: its raw mode, while a remote terminal is in use, and its
 * size. The terminal gets its modes back however the process ends:
 * tty_leave_raw() is registered with atexit(3), and the caller calls it before
 * the process stops itself.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_TTY_H
#define HPN_CLIENT_COMMON_TTY_H

#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"

/* Puts the terminal fd into raw mode. Does nothing if a terminal is in raw mode
 * already, or fd is no terminal. */
void tty_enter_raw(int fd);
void tty_leave_raw(void);
bool tty_is_raw(void);

/* Appends what follows the name and the reply flag of a pty-req: terminal type,
 * size and encoded modes (RFC 4254 section 6.2). If fd is no terminal, the size
 * is 0 and the list of modes is empty. */
void tty_put_pty_request(struct buf *out, int fd, const char *term);
/* Appends columns, rows, and both in pixels, as a window-change has them; all 0
 * if fd is no terminal. */
void tty_put_window_size(struct buf *out, int fd);

#endif
