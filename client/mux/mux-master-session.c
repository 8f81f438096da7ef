/* SPDX-License-Identifier: ISC */
/*
 * What a mux client has on the connection: a session, or (-W) a channel from
 * the server to a host or path. Either is tied to the descriptors that the
 * client has sent.
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

/* Tells the mux client that its request failed, and lets it go: it has nothing
 * else. */
static void
fail(struct mux_client *c, const char *why)
{
	mux_client_refuse(c, MUX_FAILURE, c->request, why);
	mux_client_finish(c);
}

/* ---- descriptors -------------------------------------------------------- */

/* Makes a client's descriptor non-blocking, because the master must never wait
 * for one. O_NONBLOCK belongs to the open file, so the mux client would see it,
 * too: the file is opened again where that is possible. Elsewhere the client
 * clears the flag when it ends. */
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

/* True if fd is the terminal on which this process runs in the background:
 * reading from it would stop the process. */
static bool
would_stop_us(int fd)
{
	pid_t group = tcgetpgrp(fd); /* fails for all other terminals */

	return group != -1 && group != getpgrp();
}

static void
on_answered(struct mux_client *c, bool allowed)
{
	if (allowed) {
		c->start(c);
		return;
	}
	mux_client_deny(c);
	mux_client_finish(c);
}

static void
ask(struct mux_client *c)
{
	const struct mux_stdio *to = &c->target;

	if (to->host == NULL)
		mux_client_ask(c, on_answered,
		    "Allow shared connection to %s? ",
		    c->m->p.session.conf->host.hostname);
	else if (to->port == MUX_PORT_PATH)
		mux_client_ask(c, on_answered, "Allow forward to path %s",
		    to->host);
	else
		mux_client_ask(c, on_answered, "Allow forward to [%s]:%u? ",
		    to->host, to->port);
}

int
mux_client_descriptor(struct mux_client *c, int fd)
{
	/* A descriptor that comes now belongs to a refused request. */
	if (c->state != MUX_CLIENT_SENDING) {
		fd_close(&fd);
		return 0;
	}
	c->fds[c->fd_count++] = fd;
	set_nonblock(fd);
	if (c->fd_count < c->fds_wanted)
		return 0;
	c->state = MUX_CLIENT_OPENING;
	if (would_stop_us(c->fds[0]))
		fail(c, "the master runs in the background of this terminal");
	else
		ask(c);
	return 0;
}

static void
await_descriptors(struct mux_client *c, uint32_t id, size_t n,
    void (*start)(struct mux_client *c))
{
	c->request = id;
	c->start = start;
	c->fds_wanted = n;
	c->state = MUX_CLIENT_SENDING;
	mux_transport_await_fds(c->transport, n);
}

/* ---- sessions ----------------------------------------------------------- */

static void
on_opened(void *arg)
{
	struct mux_client *c = arg;
	struct buf b = { 0 };

	c->state = MUX_CLIENT_OPEN;
	c->channel = channel_id(session_channel(c->session));
	mux_begin_request(&b, MUX_OPENED, c->request);
	buf_put_u32(&b, c->channel);
	mux_client_send(c, &b);
	buf_clear(&b);
}

static void
on_no_tty(void *arg)
{
	struct mux_client *c = arg;

	mux_client_answer(c, MUX_NO_TTY, c->channel);
}

static void
on_say(void *arg, const char *text)
{
	struct mux_client *c = arg;
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof line, "%s\r\n", text);
	(void)!fd_write(c->fds[2], line, strlen(line));
}

static const struct session_mux_client hooks_of_client = {
	.opened = on_opened,
	.no_tty = on_no_tty,
	.say = on_say,
};

static void
on_session_ended(void *arg)
{
	struct mux_client *c = arg;
	struct buf b = { 0 };

	if (c->state == MUX_CLIENT_OPENING) {
		mux_client_refuse(c, MUX_FAILURE, c->request,
		    "Session open refused by peer");
	} else if (c->state == MUX_CLIENT_OPEN) {
		mux_begin_request(&b, MUX_STATUS, c->channel);
		buf_put_u32(&b, (uint32_t)session_status(c->session));
		mux_client_send(c, &b);
		buf_clear(&b);
	}
	mux_client_finish(c);
}

static void
on_typed(void *arg)
{
	const struct mux_client *c = arg;

	if (c->m->p.typed != NULL)
		c->m->p.typed(c->m->p.arg);
}

/* Does nothing: the mux client sets the modes of its terminal itself. */
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
fill_session(struct mux_client *c, struct session_params *s)
{
	*s = c->m->p.session;
	c->conf = *s->conf;
	c->conf.session.escape_char = c->wanted.escape > UINT8_MAX ?
	    CLIENT_ESCAPE_NONE : (int)c->wanted.escape;
	s->conf = &c->conf;
	s->command = *c->wanted.command != '\0' ? c->wanted.command : NULL;
	s->subsystem = c->wanted.subsystem && s->command != NULL;
	s->tty = c->wanted.tty;
	s->no_agent = !c->wanted.agent;
	s->no_display = !c->wanted.x11;
	s->env = &c->wanted.env;
	s->mux_client = &hooks_of_client;
	s->stdio = (struct session_stdio){
		.in = c->fds[0],
		.out = c->fds[1],
		.err = c->fds[2],
		.terminal = c->fds[0],
		.term = c->wanted.term,
		.ops = &stdio_ops,
		.arg = c,
	};
	s->ended = on_session_ended;
	s->typed = on_typed;
	s->arg = c;
}

static void
start_session(struct mux_client *c)
{
	struct mux_master *m = c->m;
	struct session_params params;
	const char *why = NULL;

	if (c->wanted.tty && m->p.leave_none != NULL &&
	    !m->p.leave_none(m->p.arg))
		why = "a terminal is not possible just now";
	else if (sent_env_complete(m->p.session.conf, &c->wanted.env) != 0)
		why = "Failed to prepare a session";
	fill_session(c, &params);
	if (why == NULL && session_new(&c->session, &params) != 0)
		why = "Session open refused";
	if (why != NULL)
		fail(c, why);
}

int
mux_client_wants_session(struct mux_client *c, uint32_t id, struct rd *r)
{
	int err = mux_read_session(r, &c->wanted);

	if (err == 0)
		await_descriptors(c, id, MUX_SESSION_FDS, start_session);
	return err;
}

/* ---- standard input and output ------------------------------------------ */

static void
on_forward_opened(void *arg)
{
	struct mux_client *c = arg;
	struct buf b = { 0 };

	c->state = MUX_CLIENT_OPEN;
	mux_begin_request(&b, MUX_OPENED, c->request);
	buf_put_u32(&b, 0);
	mux_client_send(c, &b);
	buf_clear(&b);
}

static void
on_forward_eof(void *arg)
{
	struct mux_client *c = arg;

	(void)shutdown(c->fds[1], SHUT_WR);
}

static void
on_forward_ended(void *arg, bool failed)
{
	struct mux_client *c = arg;

	if (failed && c->state == MUX_CLIENT_OPENING)
		mux_client_refuse(c, MUX_FAILURE, c->request,
		    "Session open refused by peer");
	mux_client_finish(c);
}

static void
start_stdio(struct mux_client *c)
{
	bool path = c->target.port == MUX_PORT_PATH;
	struct stdio_forward_params params = {
		.loop = c->m->p.session.loop,
		.channels = c->m->p.session.channels,
		.target = {
			.host = c->target.host,
			.port = (uint16_t)c->target.port,
			.path = path ? c->target.host : NULL,
		},
		.quiet = true,
		.arg = c,
		.opened = on_forward_opened,
		.eof = on_forward_eof,
		.ended = on_forward_ended,
	};

	if (c->target.port == 0 || *c->target.host == '\0' ||
	    (!path && c->target.port > PORT_MAX)) {
		fail(c, "Invalid forwarding request");
		return;
	}
	if (stdio_forward_new(&c->forward, &params) == 0)
		stdio_forward_attach(c->forward, c->fds[0], c->fds[1]);
	else
		fail(c, "Session open refused");
}

int
mux_client_wants_stdio(struct mux_client *c, uint32_t id, struct rd *r)
{
	int err = mux_read_stdio(r, &c->target);

	if (err != 0)
		return err;
	await_descriptors(c, id, MUX_STDIO_FDS, start_stdio);
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

void
mux_client_leave_channels(struct mux_client *c)
{
	session_free(c->session);
	stdio_forward_free(c->forward);
	c->session = NULL;
	c->forward = NULL;
}
