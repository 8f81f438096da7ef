/* SPDX-License-Identifier: ISC */
/*
 * A session whose connection is lost, and which may go on over another one
 * (client/survive.h). Its channel stands still, so the terminal is read here,
 * for escape sequences. Other typed keys are dropped, with a bell; any of them
 * has another connection tried at once.
 */
#include <errno.h>

#include "base/fd.h"
#include "client/common/tty.h"
#include "client/session/client-session-internal.h"

enum { TYPED_MAX = 512 };

static void
stop_reading(struct session *s)
{
	loop_unwatch(s->p.loop, s->lost_watch);
	s->lost_watch = NULL;
}

static void
on_typed(void *arg, int fd, int events)
{
	struct session *s = arg;
	uint8_t typed[TYPED_MAX + 1];
	ssize_t n = fd_read(fd, typed, TYPED_MAX);

	(void)events;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
		stop_reading(s); /* the terminal is gone */
	if (n <= 0)
		return;
	if (escape_filter(&s->escape, typed, (size_t)n, sizeof typed) > 0)
		session_show(s, "\a");
	if (s->p.typed != NULL)
		s->p.typed(s->p.arg);
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

/* A mux client does not see this process's messages. */
static void
tell_mux_client(const struct session *s, bool waits)
{
	if (s->p.mux_client != NULL)
		s->p.mux_client->say(s->p.arg, waits ?
			"The connection is lost; another one is tried." :
			"The session goes on.");
}

void
session_waits(struct session *s, bool waits)
{
	stop_reading(s);
	if (!s->raw || s->escape.rows == NULL)
		return;
	tell_mux_client(s, waits);
	if (waits)
		s->lost_watch = loop_watch(s->p.loop, s->p.stdio.in, LOOP_READ,
		    on_typed, s);
	else
		redraw(s);
}
