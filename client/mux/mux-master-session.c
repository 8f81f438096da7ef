/* SPDX-License-Identifier: ISC */
/*
 * What a passenger has on the connection: a session, or a connection from the
 * server to somewhere, tied to the descriptors that it has sent.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-master-internal.h"
#include "client/session/sent-env.h"
#include "client/session/standard-streams.h"
#include "forward/stdio-forward.h"

enum { STATUS_UNKNOWN = 255, PORT_MAX = 65535, LINE_MAX_BYTES = 512 };

/* What it asked for was not possible, and it has nothing else. */
static void
fail(struct passenger *p, const char *why)
{
	passenger_refuse(p, MUX_FAILURE, p->request, why);
	passenger_finish(p);
}

/* ---- descriptors -------------------------------------------------------- */

/* Nothing that is done with it shall wait. The passenger's own flag stays as it
 * is where that is possible; where not, it sets it back when it ends. */
static void
set_nonblock(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1 ||
	    (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !isatty(fd)))
		return; /* files do not block */
	if (!stdio_reopen_nonblock(fd) && fd_set_nonblock(fd, true) != 0)
		log_debug("a passenger's descriptor: %s", err_text(ERR_SYSTEM));
}

/* Is it the terminal on which this process runs in the background? It would
 * be stopped when it reads from there. */
static bool
would_stop_us(int fd)
{
	pid_t group = tcgetpgrp(fd); /* fails for all other terminals */

	return group != -1 && group != getpgrp();
}

static void
on_answered(struct passenger *p, bool allowed)
{
	if (allowed) {
		p->start(p);
		return;
	}
	passenger_deny(p);
	passenger_finish(p);
}

static void
ask(struct passenger *p)
{
	const struct mux_stdio *to = &p->target;

	if (to->host == NULL)
		passenger_ask(p, on_answered,
		    "Allow shared connection to %s? ",
		    p->m->p.session.conf->host.hostname);
	else if (to->port == MUX_PORT_PATH)
		passenger_ask(p, on_answered, "Allow forward to path %s",
		    to->host);
	else
		passenger_ask(p, on_answered, "Allow forward to [%s]:%u? ",
		    to->host, to->port);
}

int
passenger_descriptor(struct passenger *p, int fd)
{
	if (p->state != PASSENGER_SENDING) { /* of a request that is refused */
		fd_close(&fd);
		return 0;
	}
	p->fds[p->fd_count++] = fd;
	set_nonblock(fd);
	if (p->fd_count < p->fds_wanted)
		return 0;
	p->state = PASSENGER_OPENING;
	if (would_stop_us(p->fds[0]))
		fail(p, "the master runs in the background of this terminal");
	else
		ask(p);
	return 0;
}

static void
await_descriptors(struct passenger *p, uint32_t id, size_t n,
    void (*start)(struct passenger *p))
{
	p->request = id;
	p->start = start;
	p->fds_wanted = n;
	p->state = PASSENGER_SENDING;
	mux_link_await_fds(p->link, n);
}

/* ---- sessions ----------------------------------------------------------- */

static void
on_opened(void *arg)
{
	struct passenger *p = arg;
	struct buf b = { 0 };

	p->state = PASSENGER_OPEN;
	p->channel = channel_id(session_channel(p->session));
	mux_begin_request(&b, MUX_OPENED, p->request);
	buf_put_u32(&b, p->channel);
	passenger_send(p, &b);
	buf_clear(&b);
}

static void
on_no_tty(void *arg)
{
	struct passenger *p = arg;

	passenger_answer(p, MUX_NO_TTY, p->channel);
}

static void
on_say(void *arg, const char *text)
{
	struct passenger *p = arg;
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof line, "%s\r\n", text);
	(void)!fd_write(p->fds[2], line, strlen(line));
}

static const struct session_guest guest = {
	.opened = on_opened,
	.no_tty = on_no_tty,
	.say = on_say,
};

static void
on_session_ended(void *arg)
{
	struct passenger *p = arg;
	struct buf b = { 0 };

	if (p->state == PASSENGER_OPENING) {
		passenger_refuse(p, MUX_FAILURE, p->request,
		    "Session open refused by peer");
	} else if (p->state == PASSENGER_OPEN) {
		mux_begin_request(&b, MUX_STATUS, p->channel);
		buf_put_u32(&b, (uint32_t)session_status(p->session));
		passenger_send(p, &b);
		buf_clear(&b);
	}
	passenger_finish(p);
}

/* The passenger does to its terminal what is to be done. */
static bool
set_raw(void *arg, bool on)
{
	(void)arg;
	return on;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static void
nothing_for(void *arg, bool on)
{
	(void)arg;
	(void)on;
}

static const struct session_stdio_ops stdio_ops = {
	.set_raw = set_raw,
	.set_nonblock = nothing_for,
	.end_input = nothing,
	.end_output = nothing,
};

static void
fill_session(struct passenger *p, struct session_params *s)
{
	*s = p->m->p.session;
	p->conf = *s->conf;
	p->conf.session.escape_char = p->wanted.escape > UINT8_MAX ?
	    CLIENT_ESCAPE_NONE : (int)p->wanted.escape;
	s->conf = &p->conf;
	s->command = *p->wanted.command != '\0' ? p->wanted.command : NULL;
	s->subsystem = p->wanted.subsystem && s->command != NULL;
	s->tty = p->wanted.tty;
	s->no_agent = !p->wanted.agent;
	s->no_display = !p->wanted.x11;
	s->env = &p->wanted.env;
	s->guest = &guest;
	s->stdio = (struct session_stdio){
		.in = p->fds[0],
		.out = p->fds[1],
		.err = p->fds[2],
		.terminal = p->fds[0],
		.term = p->wanted.term,
		.ops = &stdio_ops,
		.arg = p,
	};
	s->ended = on_session_ended;
	s->arg = p;
}

static void
start_session(struct passenger *p)
{
	struct mux_master *m = p->m;
	struct session_params params;
	const char *why = NULL;

	if (p->wanted.tty && m->p.leave_none != NULL &&
	    !m->p.leave_none(m->p.arg))
		why = "a terminal is not possible just now";
	else if (sent_env_complete(m->p.session.conf, &p->wanted.env) != 0)
		why = "Failed to prepare a session";
	fill_session(p, &params);
	if (why == NULL && session_new(&p->session, &params) != 0)
		why = "Session open refused";
	if (why != NULL)
		fail(p, why);
}

int
passenger_wants_session(struct passenger *p, uint32_t id, struct rd *r)
{
	int err = mux_read_session(r, &p->wanted);

	if (err == 0)
		await_descriptors(p, id, MUX_SESSION_FDS, start_session);
	return err;
}

/* ---- standard input and output ------------------------------------------ */

static void
on_forward_opened(void *arg)
{
	struct passenger *p = arg;
	struct buf b = { 0 };

	p->state = PASSENGER_OPEN;
	mux_begin_request(&b, MUX_OPENED, p->request);
	buf_put_u32(&b, 0);
	passenger_send(p, &b);
	buf_clear(&b);
}

static void
on_forward_eof(void *arg)
{
	struct passenger *p = arg;

	(void)shutdown(p->fds[1], SHUT_WR);
}

static void
on_forward_ended(void *arg, bool failed)
{
	struct passenger *p = arg;

	if (failed && p->state == PASSENGER_OPENING)
		passenger_refuse(p, MUX_FAILURE, p->request,
		    "Session open refused by peer");
	passenger_finish(p);
}

static void
start_stdio(struct passenger *p)
{
	bool path = p->target.port == MUX_PORT_PATH;
	struct stdio_forward_params params = {
		.loop = p->m->p.session.loop,
		.channels = p->m->p.session.channels,
		.target = {
			.host = p->target.host,
			.port = (uint16_t)p->target.port,
			.path = path ? p->target.host : NULL,
		},
		.quiet = true,
		.arg = p,
		.opened = on_forward_opened,
		.eof = on_forward_eof,
		.ended = on_forward_ended,
	};

	if (p->target.port == 0 || *p->target.host == '\0' ||
	    (!path && p->target.port > PORT_MAX)) {
		fail(p, "Invalid forwarding request");
		return;
	}
	if (stdio_forward_new(&p->forward, &params) == 0)
		stdio_forward_attach(p->forward, p->fds[0], p->fds[1]);
	else
		fail(p, "Session open refused");
}

int
passenger_wants_stdio(struct passenger *p, uint32_t id, struct rd *r)
{
	int err = mux_read_stdio(r, &p->target);

	if (err != 0)
		return err;
	await_descriptors(p, id, MUX_STDIO_FDS, start_stdio);
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

void
passenger_leave_channels(struct passenger *p)
{
	session_free(p->session);
	stdio_forward_free(p->forward);
	p->session = NULL;
	p->forward = NULL;
}
