/* SPDX-License-Identifier: ISC */
#include "client/common/tty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/ttymodes.h"

static struct {
	struct termios saved;
	int fd;
	bool raw, at_exit;
} st = { .fd = -1 };

void
tty_enter_raw(int fd)
{
	struct termios t;

	if (st.raw || tcgetattr(fd, &t) == -1)
		return;
	st.saved = t;
	st.fd = fd;
	t.c_iflag |= IGNPAR;
	t.c_iflag &= ~(tcflag_t)(ISTRIP | INLCR | IGNCR | ICRNL | IXON |
	    IXANY | IXOFF);
#ifdef IUCLC
	t.c_iflag &= ~(tcflag_t)IUCLC;
#endif
	t.c_lflag &= ~(tcflag_t)(ISIG | ICANON | ECHO | ECHOE | ECHOK |
	    ECHONL | IEXTEN);
	t.c_oflag &= ~(tcflag_t)OPOST;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSADRAIN, &t) == -1)
		return;
	st.raw = true;
	if (!st.at_exit)
		st.at_exit = atexit(tty_leave_raw) == 0;
	log_set_crlf(true);
}

void
tty_leave_raw(void)
{
	if (!st.raw)
		return;
	st.raw = false;
	(void)tcsetattr(st.fd, TCSADRAIN, &st.saved);
	log_set_crlf(false);
}

bool
tty_is_raw(void)
{
	return st.raw;
}

void
tty_put_window_size(struct buf *out, int fd)
{
	struct winsize ws;

	if (ioctl(fd, TIOCGWINSZ, &ws) == -1)
		memset(&ws, 0, sizeof ws);
	buf_put_u32(out, ws.ws_col);
	buf_put_u32(out, ws.ws_row);
	buf_put_u32(out, ws.ws_xpixel);
	buf_put_u32(out, ws.ws_ypixel);
}

void
tty_put_pty_request(struct buf *out, int fd, const char *term)
{
	struct termios t;
	bool known = true;
	size_t mark;

	if (st.raw && fd == st.fd)
		t = st.saved;
	else
		known = tcgetattr(fd, &t) == 0;
	buf_put_cstring(out, term);
	tty_put_window_size(out, fd);
	mark = buf_open_string(out);
	if (known)
		ttymodes_encode(&t, out);
	else
		buf_put_u8(out, 0);
	buf_close_string(out, mark);
}
