/* SPDX-License-Identifier: ISC */
#include "regress/unit/channels-host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/mem.h"
#include "channels-internal.h"

static void
on_opened(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->opened++;
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct end *e = arg;

	(void)c;
	snprintf(e->refused_text, sizeof e->refused_text, "%s", text);
	e->refused = (int)reason;
}

static void
on_eof(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->eofs++;
}

static void
on_closed(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	e->closed++;
	e->ch = NULL;
}

static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	struct end *e = arg;

	(void)c;
	(void)ext;
	e->sink_errors = error;
}

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	struct end *e = arg;

	(void)c;
	e->requests++;
	if (span_equals(name, "fine"))
		return rd_u32(data) == 42 && rd_end(data) == 0 ?
		    CHANNEL_SUCCESS : CHANNEL_FAILURE;
	return CHANNEL_FAILURE;
}

const struct channel_ops world_ops = { .request = on_request,
	.opened = on_opened, .refused = on_refused, .eof = on_eof,
	.closed = on_closed, .sink_failed = on_sink_failed };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	struct end *e = arg;

	(void)chs;
	if (rd_end(data) != 0)
		return CHANNEL_FAILURE;
	e->ch = c;
	if (e->defers) {
		channel_defer(c, &world_ops, e);
		return CHANNEL_LATER;
	}
	return world_accept(e);
}

int
world_accept(struct end *e)
{
	int err = channel_accept(e->ch, &world_ops, e, e->window,
	    e->max_packet);

	channel_set_fds(e->ch, e->fds[0], e->fds[1], e->fds[2], e->fds[3]);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

static void
end_init(struct world *w, struct end *e, int fd, bool server)
{
	memset(e, 0, sizeof *e);
	e->packet = packet_new(fd, fd, server);
	assert_non_null(e->packet);
	assert_int_equal(channels_new(&e->chs, e->packet, w->loop), 0);
	assert_int_equal(packet_authenticated(e->packet), 0);
	e->window = CHANNEL_WINDOW_DEFAULT;
	e->max_packet = CHANNEL_PACKET_DEFAULT;
	for (int i = 0; i < 4; i++)
		e->fds[i] = -1;
}

size_t
channels_alive(const struct channels *chs)
{
	size_t count = 0;

	for (size_t i = 0; i < chs->n; i++)
		count += chs->v[i] != NULL && chs->v[i]->state != CHANNEL_DEAD;
	return count;
}

void
world_open(struct world *w)
{
	w->loop = loop_new();
	assert_non_null(w->loop);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, w->sock), 0);
	end_init(w, &w->a, w->sock[0], false);
	end_init(w, &w->b, w->sock[1], true);
	assert_int_equal(channels_on_open(w->b.chs, "session", on_open, &w->b),
	    0);
}

void
world_close(struct world *w)
{
	channels_free(w->a.chs);
	channels_free(w->b.chs);
	packet_free(w->a.packet);
	packet_free(w->b.packet);
	loop_free(w->loop);
	fd_close(&w->sock[0]);
	fd_close(&w->sock[1]);
}

static int
step(struct end *e)
{
	struct rd payload;
	bool more;
	int err;

	if ((err = packet_fill(e->packet)) < 0 && err != ERR_AGAIN)
		return err;
	while ((err = packet_next(e->packet, &payload)) == 1)
		if ((err = channels_input(e->chs, payload)) != 0)
			return err;
	if (err != 0 || (err = channels_turn(e->chs, &more)) != 0)
		return err;
	err = packet_flush(e->packet);
	return err == ERR_AGAIN ? 0 : err;
}

int
world_run(struct world *w, int turns)
{
	int err = 0;

	for (int i = 0; i < turns && err == 0; i++) {
		assert_int_equal(loop_turn(w->loop, 0), 0);
		if ((err = step(&w->a)) == 0)
			err = step(&w->b);
	}
	return err;
}

void
world_open_session(struct world *w)
{
	assert_int_equal(channel_open(&w->a.ch, w->a.chs, "session", NULL,
			     &world_ops, &w->a, w->a.window, w->a.max_packet),
	    0);
}
