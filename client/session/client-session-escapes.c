/* SPDX-License-Identifier: ISC */
/*
 * What the escape sequences do. They are recognised while a packet is being
 * filled, when nothing else can be sent. So they are only noted then, and a
 * timer runs them right after.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/forwards/forwards.h"
#include "client/session/client-session-internal.h"
#include "client/session/conn-info.h"

enum { BREAK_MS = 1000, CTRL_D = 4 };

enum {
	SHOWN_MAX = 256 * 1024, /* bytes that may wait for the terminal; more is
				 * dropped */
	SHOW_AGAIN_MS = 20,
};

/* Writes as much of the waiting text as the terminal takes, and sets a timer
 * for the rest, so that a terminal that takes nothing does not stop the
 * connection. */
static void
show_more(void *arg)
{
	struct session *s = arg;
	ssize_t n;

	s->show_timer = NULL;
	while (buf_len(&s->shown) > 0) {
		n = fd_write(s->p.stdio.err, buf_data(&s->shown),
		    buf_len(&s->shown));
		if (n <= 0)
			break;
		buf_consume(&s->shown, (size_t)n);
	}
	if (buf_len(&s->shown) > 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		s->show_timer =
		    loop_after(s->p.loop, SHOW_AGAIN_MS, show_more, s);
	else
		buf_clear(&s->shown);
}

/* Shows a text on the terminal. In raw mode each LF gets a CR in front. */
static void
show(struct session *s, const struct buf *text)
{
	const char *p = (const char *)buf_data(text);

	if (buf_len(&s->shown) + buf_len(text) > SHOWN_MAX)
		return;
	for (size_t i = 0; i < buf_len(text); i++) {
		if (p[i] == '\n' && s->raw)
			buf_put_u8(&s->shown, '\r');
		buf_put_u8(&s->shown, (uint8_t)p[i]);
	}
	if (s->show_timer == NULL)
		show_more(s);
}

void
session_show(struct session *s, const char *text)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s", text);
	show(s, &b);
	buf_clear(&b);
}

static void
show_line(struct session *s, const char *line)
{
	session_show(s, line);
	session_show(s, "\n");
}

static void
run_quit(void *arg)
{
	struct session *s = arg;

	session_abort(s, 255);
}

static void
run_suspend(void *arg)
{
	struct session *s = arg;
	bool raw = s->raw;

	show_line(s, "[suspended]");
	session_set_raw(s, false);
	session_set_nonblock(s, false);
	(void)kill(getpid(), SIGTSTP);
	/* SIGCONT has continued the process. */
	session_set_nonblock(s, true);
	if (raw)
		session_set_raw(s, true);
	session_resized(s);
}

/* ~&: the connection goes on in a child without the terminal. The remote shell
 * gets ^D, because nothing more will be typed. */
static void
run_background(void *arg)
{
	struct session *s = arg;
	const struct session_stdio *t = &s->p.stdio;
	static const uint8_t eof = CTRL_D;
	pid_t pid;

	show_line(s, "[backgrounded]");
	if (s->p.forwards != NULL)
		forwards_stop_listening(s->p.forwards);
	session_set_raw(s, false);
	session_set_nonblock(s, false);
	if ((pid = fork()) == -1) {
		log_error("fork: %s", err_text(ERR_SYSTEM));
		return;
	}
	if (pid > 0)
		_exit(0);
	/* A session of its own, so that the end of the terminal does not end
	 * the process. */
	if (setsid() == -1)
		log_debug("setsid: %s", err_text(ERR_SYSTEM));
	if (t->ops != NULL)
		t->ops->end_input(t->arg);
	s->tty = false;
	if (s->channel != NULL) {
		(void)!channel_send_data(s->channel, 0, &eof, 1);
		channel_set_fds(s->channel, -1, t->out, -1, t->err);
	}
}

static void
run_list(void *arg)
{
	struct session *s = arg;
	struct buf b = { 0 };

	buf_printf(&b, "%c#\nThe following connections are open:\n",
	    s->p.conf->session.escape_char);
	channels_describe(s->p.channels, &b);
	show(s, &b);
	buf_clear(&b);
}

static void
run_help(void *arg)
{
	struct session *s = arg;
	struct buf b = { 0 };

	escape_describe(&s->escape, &b);
	show(s, &b);
	buf_clear(&b);
}

static void
run_break(void *arg)
{
	struct session *s = arg;
	struct buf b = { 0 };

	buf_put_u32(&b, BREAK_MS);
	if (s->channel != NULL && buf_err(&b) == 0)
		(void)!channel_request(s->channel, "break", &b, NULL, NULL);
	buf_clear(&b);
}

static void
run_rekey(void *arg)
{
	struct session *s = arg;

	if (kex_start(s->p.kex) != 0)
		show_line(s, "[cannot rekey now]");
}

static void
change_level(struct session *s, int by)
{
	struct buf b = { 0 };
	int level = (int)log_get_level() + by;

	level = MAX(level, (int)LOG_LVL_QUIET);
	level = MIN(level, (int)LOG_LVL_DEBUG3);
	log_set_level((enum log_level)level);
	buf_printf(&b, "[LogLevel %s]\n",
	    log_level_name((enum log_level)level));
	show(s, &b);
	buf_clear(&b);
}

static void
run_quieter(void *arg)
{
	change_level(arg, -1);
}

static void
run_louder(void *arg)
{
	change_level(arg, 1);
}

static void
run_info(void *arg)
{
	struct session *s = arg;
	struct buf b = { 0 };

	conn_info_put(&b, &s->p);
	show(s, &b);
	buf_clear(&b);
}

static const struct escape_row rows[] = {
	{ '.', run_quit, "end the connection", false },
	{ 'Z' & 0x1f, run_suspend, "suspend", false },
	{ '&', run_background, "go on in the background", false },
	{ '#', run_list, "list the channels", false },
	{ 'C', session_line_begin, "add or cancel forwards", true },
	{ 'I', run_info, "tell about the connection", false },
	{ 'B', run_break, "send a break", false },
	{ 'R', run_rekey, "make new keys", false },
	{ 'V', run_quieter, "tell less (LogLevel)", false },
	{ 'v', run_louder, "tell more (LogLevel)", false },
	{ '?', run_help, "this list", false },
};

/* May the session use this escape sequence? That of a mux client may not use
 * those that concern this whole process. */
static bool
is_allowed(const struct session *s, const struct escape_row *row)
{
	return s->p.mux_client == NULL ||
	    (row->run != run_suspend && row->run != run_background &&
		row->run != session_line_begin && row->run != run_quieter &&
		row->run != run_louder);
}

static void
show_not_allowed(struct session *s, const struct escape_row *row)
{
	struct buf b = { 0 };

	if (row->ch < ' ')
		buf_printf(&b, "~^%c", row->ch + '@');
	else
		buf_printf(&b, "~%c", row->ch);
	buf_printf(&b, " escape not available to multiplexed sessions\n");
	if (buf_err(&b) == 0)
		show(s, &b);
	buf_clear(&b);
}

static void
run_found(void *arg)
{
	struct session *s = arg;
	const struct escape_row *todo[SESSION_ESCAPES_MAX];
	size_t n = s->found_count;

	memcpy(todo, s->found, sizeof todo);
	s->found_count = 0;
	s->escape_timer = NULL;
	for (size_t i = 0; i < n && s->state != SESSION_OVER; i++) {
		if (is_allowed(s, todo[i]))
			todo[i]->run(s);
		else
			show_not_allowed(s, todo[i]);
	}
	if (s->state != SESSION_OVER)
		session_line_take(s);
}

static void
run_soon(struct session *s)
{
	if (s->escape_timer == NULL)
		s->escape_timer = loop_after(s->p.loop, 0, run_found, s);
}

static void
on_found(void *arg, const struct escape_row *row)
{
	struct session *s = arg;

	if (s->found_count == ARRAY_LEN(s->found))
		return;
	s->found[s->found_count++] = row;
	run_soon(s);
}

static void
on_typed(void *arg, uint8_t ch)
{
	struct session *s = arg;

	session_line_typed(s, ch);
	run_soon(s);
}

void
session_escapes_init(struct session *s)
{
	escape_init(&s->escape, rows, ARRAY_LEN(rows),
	    (uint8_t)s->p.conf->session.escape_char);
	s->escape.found = on_found;
	s->escape.typed =
	    s->p.conf->forward.escape_commandline ? on_typed : NULL;
	s->escape.arg = s;
}

void
session_escapes_clear(struct session *s)
{
	loop_cancel(s->p.loop, s->escape_timer);
	loop_cancel(s->p.loop, s->show_timer);
	loop_unwatch(s->p.loop, s->lost_watch);
	buf_clear(&s->shown);
}
