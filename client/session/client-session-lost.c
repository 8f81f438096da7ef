/* SPDX-License-Identifier: ISC */
/*
 * A session whose connection is lost, and which may go on over another one
 * (client/survive.h). Its channel stands still, so the terminal is read here,
 * for escape sequences. Other typed keys are dropped, with a bell.
 */
#include "base/fd.h"
#include "client/common/tty.h"
#include "client/session/client-session-internal.h"

enum { LOOK_MS = 100, TYPED_MAX = 512 };

static void
look(void *arg)
{
	struct session *s = arg;
	uint8_t typed[TYPED_MAX + 1];
	ssize_t n = fd_read(s->p.stdio.in, typed, TYPED_MAX);

	s->lost_timer = loop_after(s->p.loop, LOOK_MS, look, s);
	if (n > 0 && escape_filter(&s->escape, typed, (size_t)n,
			 sizeof typed) > 0)
		session_show(s, "\a");
}

/* Has full-screen programs draw the screen anew, because this program has
 * written over it: they are told another window size for a moment. */
static void
redraw(struct session *s)
{
	struct buf size = { 0 }, other = { 0 };
	struct rd r;
	uint32_t rows;

	if (s->channel == NULL)
		return;
	tty_put_window_size(&size, s->p.stdio.terminal);
	r = rd_from_buf(&size);
	buf_put_u32(&other, rd_u32(&r)); /* columns */
	rows = rd_u32(&r);
	buf_put_u32(&other, rows > 1 ? rows - 1 : rows + 1);
	buf_put(&other, r.p, r.len);
	if (rd_err(&r) == 0 && buf_err(&other) == 0)
		(void)!channel_request(s->channel, "window-change", &other,
		    NULL, NULL);
	buf_clear(&size);
	buf_clear(&other);
	session_resized(s);
}

void
session_waits(struct session *s, bool waits)
{
	loop_cancel(s->p.loop, s->lost_timer);
	s->lost_timer = NULL;
	if (!s->raw || s->escape.rows == NULL)
		return;
	if (waits)
		s->lost_timer = loop_after(s->p.loop, LOOK_MS, look, s);
	else
		redraw(s);
}
