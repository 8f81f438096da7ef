/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-master.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/connection-identity.h"
#include "client/mux/mux-master-internal.h"

enum {
	/* How long nobody is accepted when descriptors ran out. */
	PAUSE_MS = 1000,
	ACCEPT_MAX = 64, /* clients accepted in one turn of the loop */
};

/* ---- clients --------------------------------------------------------- */

void
mux_client_send(struct mux_client *c, const struct buf *message)
{
	mux_transport_send(c->transport, message);
}

void
mux_client_answer(struct mux_client *c, enum mux_type type, uint32_t id)
{
	struct buf b = { 0 };

	mux_begin_request(&b, type, id);
	mux_client_send(c, &b);
	buf_clear(&b);
}

void
mux_client_refuse(struct mux_client *c, enum mux_type type, uint32_t id,
    const char *why)
{
	struct buf b = { 0 };

	log_debug("a passenger is refused: %s", why);
	mux_begin_request(&b, type, id);
	buf_put_cstring(&b, why);
	mux_client_send(c, &b);
	buf_clear(&b);
}

void
mux_client_finish(struct mux_client *c)
{
	c->state = MUX_CLIENT_ENDING;
	mux_transport_finish(c->transport);
}

static void
free_client(struct mux_client *c)
{
	mux_client_leave_channels(c);
	mux_client_leave_proxy(c);
	mux_client_leave_forwards(c);
	mux_client_leave_question(c);
	for (size_t i = 0; i < c->fd_count; i++)
		fd_close(&c->fds[i]);
	mux_session_clear(&c->wanted);
	mux_stdio_clear(&c->target);
	mux_forward_clear(&c->forward_wanted);
	mux_transport_free(c->transport);
	free(c);
}

static void
unlink_client(struct mux_client *c)
{
	TAILQ_REMOVE(&c->m->clients, c, entry);
	c->m->count--;
	if (c->m->count == 0)
		c->m->told_full = false;
}

static void
on_transport_ended(void *arg, int err)
{
	struct mux_client *c = arg;
	struct mux_master *m = c->m;
	bool ends_master = c->ends_master;

	if (err != 0 && err != ERR_CLOSED)
		log_debug("a passenger is dropped: %s", err_text(err));
	unlink_client(c);
	free_client(c);
	if (m->count == 0 && m->p.empty != NULL)
		m->p.empty(m->p.arg);
	if (ends_master)
		m->p.exit(m->p.arg);
	uses_end(m->p.uses, USE_MUX_CLIENT);
}

static int
on_message(void *arg, struct rd message)
{
	struct mux_client *c = arg;
	uint32_t type;
	int r;

	if (c->foreign != NULL)
		return mux_client_relay(c, message);
	type = rd_u32(&message);
	if ((r = rd_err(&message)) != 0)
		return r;
	if ((type == MUX_HELLO) != (c->state == MUX_CLIENT_NEW))
		return ERR_PROTOCOL;
	if (type != MUX_HELLO)
		return mux_client_request(c, type, &message);
	c->state = MUX_CLIENT_READY;
	return mux_read_hello(&message);
}

static int
on_descriptor(void *arg, int fd)
{
	return mux_client_descriptor(arg, fd);
}

static void
say_hello(struct mux_client *c)
{
	struct buf b = { 0 };

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, "info", "0");
	mux_put_extension(&b, CONNECTION_IDENTITY_NAME,
	    CONNECTION_IDENTITY_VERSION);
	mux_client_send(c, &b);
	buf_clear(&b);
}

size_t
mux_master_room(size_t fds)
{
	size_t reserved = MIN((size_t)MUX_RESERVED_FDS, fds / 2);

	return MAX((fds - reserved) / MUX_CLIENT_FDS, (size_t)1);
}

/* Tells the user that there is no room for more clients. Until all clients have
 * gone only the first time is shown, since hundreds may come in vain. */
static void
tell_full(struct mux_master *m, const char *what)
{
	log_msg(m->told_full ? LOG_LVL_DEBUG1 : LOG_LVL_ERROR,
	    "%s: there are %zu passengers, and no descriptors for more", what,
	    m->count);
	m->told_full = true;
}

void
mux_master_take(struct mux_master *m, int fd)
{
	struct mux_client *c;
	struct mux_transport_hooks hooks = {
		.message = on_message,
		.descriptor = on_descriptor,
		.ended = on_transport_ended,
	};

	if (m->count >= mux_master_room(fd_limit())) {
		tell_full(m, "a passenger is turned away");
		fd_close(&fd);
		return;
	}
	c = xcalloc(1, sizeof *c);
	c->m = m;
	hooks.arg = c;
	if (mux_transport_new(&c->transport, m->p.session.loop, fd,
	    &hooks) != 0) {
		free(c);
		return;
	}
	TAILQ_INSERT_HEAD(&m->clients, c, entry);
	m->count++;
	uses_begin(m->p.uses, USE_MUX_CLIENT);
	say_hello(c);
}

void
mux_master_resized(struct mux_master *m)
{
	struct mux_client *c;

	TAILQ_FOREACH(c, &m->clients, entry)
		if (c->state == MUX_CLIENT_OPEN && c->session != NULL)
			session_resized(c->session);
}

void
mux_master_waits(struct mux_master *m, bool waits)
{
	struct mux_client *c;

	TAILQ_FOREACH(c, &m->clients, entry)
		if (c->state == MUX_CLIENT_OPEN && c->session != NULL)
			session_waits(c->session, waits);
}

bool
mux_master_is_used(const struct mux_master *m)
{
	return m->count > 0;
}

/* ---- the socket --------------------------------------------------------- */

static void
on_pause_end(void *arg)
{
	struct mux_master *m = arg;

	m->pause_timer = NULL;
	if (m->watch != NULL)
		loop_fd_want(m->watch, LOOP_READ);
}

/* Accepts nobody for a moment, because descriptors or memory ran out. Clients
 * that have connected meanwhile wait in the socket's queue. */
static void
pause_accepting(struct mux_master *m)
{
	tell_full(m, err_text(ERR_SYSTEM));
	m->pause_timer =
	    loop_after(m->p.session.loop, PAUSE_MS, on_pause_end, m);
	if (m->pause_timer != NULL)
		loop_fd_want(m->watch, 0);
}

static void
on_listener(void *arg, int fd, int events)
{
	struct mux_master *m = arg;
	int client, r;

	(void)fd;
	(void)events;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		if ((r = mux_socket_accept(&m->socket, &client)) != 0)
			break;
		mux_master_take(m, client);
	}
	if (r == ERR_SYSTEM)
		pause_accepting(m);
	else if (r == ERR_AGAIN && errno == 0)
		log_error("another user tried to use the shared connection");
}

static void
end_listening(struct mux_master *m)
{
	loop_unwatch(m->p.session.loop, m->watch);
	m->watch = NULL;
}

static void
end_keeping(struct mux_master *m)
{
	if (!m->keeps)
		return;
	m->keeps = false;
	uses_end(m->p.uses, USE_SHARING);
}

void
mux_master_stop(struct mux_master *m)
{
	end_listening(m);
	mux_socket_stop(&m->socket);
	m->p.stop(m->p.arg);
	end_keeping(m);
}

void
mux_master_lost(struct mux_master *m)
{
	struct mux_client *c;

	end_listening(m);
	mux_socket_stop(&m->socket);
	/* The question that is shown is dropped last: otherwise the next
	 * question would be shown in its place. */
	TAILQ_FOREACH(c, &m->clients, entry)
		if (c != m->asked)
			mux_client_leave_question(c);
	if (m->asked != NULL)
		mux_client_leave_question(m->asked);
	TAILQ_FOREACH(c, &m->clients, entry)
		if (c->session == NULL && c->forward == NULL)
			mux_client_finish(c);
}

/* ---- idling ------------------------------------------------------------- */

static void
on_idle_time(void *arg)
{
	struct mux_master *m = arg;

	m->idle_timer = NULL;
	log_debug("nobody has used the connection for %d s", m->p.persist_s);
	end_listening(m);
	mux_socket_stop(&m->socket);
	end_keeping(m);
}

static bool
on_turn(void *arg)
{
	struct mux_master *m = arg;
	struct loop *loop = m->p.session.loop;
	bool idle = m->keeps && m->count == 0 &&
	    channels_count(m->p.session.channels) == 0;

	if (idle && m->idle_timer == NULL)
		m->idle_timer = loop_after(loop,
		    (uint64_t)m->p.persist_s * 1000, on_idle_time, m);
	if (!idle) {
		loop_cancel(loop, m->idle_timer);
		m->idle_timer = NULL;
	}
	return false;
}

/* ---- life --------------------------------------------------------------- */

static int
listen_at(struct mux_master *m, const char *path)
{
	int r = mux_socket_listen(&m->socket, path);

	if (r == ERR_DENIED)
		log_error("ControlSocket %s already exists, disabling "
			  "multiplexing", path);
	else if (r == ERR_LIMIT)
		log_error("ControlPath too long ('%s' >= %d bytes)", path,
		    MUX_PATH_MAX);
	else if (r != 0)
		log_error("ControlPath %s: %s", path, err_text(r));
	return r;
}

int
mux_master_new(struct mux_master **out,
    const struct mux_master_params *params, const char *path)
{
	struct mux_master *m = xcalloc(1, sizeof *m);
	struct loop *loop = params->session.loop;
	int r;

	m->p = *params;
	m->socket.fd = -1;
	if (path != NULL && (r = listen_at(m, path)) != 0)
		goto fail;
	r = ERR_NOMEM;
	if (path != NULL && (m->watch = loop_watch(loop, m->socket.fd,
	    LOOP_READ, on_listener, m)) == NULL)
		goto fail;
	if (params->persist_s > 0 && loop_on_turn(loop, on_turn, m) != 0)
		goto fail;
	if (params->persist_s >= 0) {
		m->keeps = true;
		uses_begin(params->uses, USE_SHARING);
	}
	*out = m;
	return 0;
fail:
	mux_master_free(m);
	return r;
}

void
mux_master_free(struct mux_master *m)
{
	struct loop *loop;
	struct mux_client *c;

	if (m == NULL)
		return;
	loop = m->p.session.loop;
	end_listening(m);
	mux_socket_stop(&m->socket);
	loop_off_turn(loop, on_turn, m);
	loop_cancel(loop, m->pause_timer);
	loop_cancel(loop, m->idle_timer);
	while ((c = TAILQ_FIRST(&m->clients)) != NULL) {
		unlink_client(c);
		free_client(c);
	}
	mux_master_drop_pending(m);
	free(m);
}

void
mux_master_forget(struct mux_master *m)
{
	mux_socket_forget(&m->socket);
}
