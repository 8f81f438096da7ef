/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-master.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-anchor.h"
#include "client/mux/mux-master-internal.h"

enum {
	PAUSE_MS = 1000, /* without descriptors: until the next try */
	ACCEPT_MAX = 64, /* in a row */
};

/* ---- passengers --------------------------------------------------------- */

void
passenger_send(struct passenger *p, const struct buf *message)
{
	mux_link_send(p->link, message);
}

void
passenger_answer(struct passenger *p, enum mux_type type, uint32_t id)
{
	struct buf b = { 0 };

	mux_begin_request(&b, type, id);
	passenger_send(p, &b);
	buf_clear(&b);
}

void
passenger_refuse(struct passenger *p, enum mux_type type, uint32_t id,
    const char *why)
{
	struct buf b = { 0 };

	log_debug("a passenger is refused: %s", why);
	mux_begin_request(&b, type, id);
	buf_put_cstring(&b, why);
	passenger_send(p, &b);
	buf_clear(&b);
}

void
passenger_finish(struct passenger *p)
{
	p->state = PASSENGER_ENDING;
	mux_link_finish(p->link);
}

static void
free_passenger(struct passenger *p)
{
	passenger_leave_channels(p);
	passenger_leave_proxy(p);
	passenger_leave_forwards(p);
	passenger_leave_question(p);
	for (size_t i = 0; i < p->fd_count; i++)
		fd_close(&p->fds[i]);
	mux_session_clear(&p->wanted);
	mux_stdio_clear(&p->target);
	mux_forward_clear(&p->forward_wanted);
	mux_link_free(p->link);
	free(p);
}

static void
unlink_passenger(struct passenger *p)
{
	struct passenger **at = &p->m->passengers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->m->count--;
	if (p->m->count == 0)
		p->m->told_full = false;
}

static void
on_link_ended(void *arg, int err)
{
	struct passenger *p = arg;
	struct mux_master *m = p->m;
	bool ends_master = p->ends_master;

	if (err != 0 && err != ERR_CLOSED)
		log_debug("a passenger is dropped: %s", err_text(err));
	unlink_passenger(p);
	free_passenger(p);
	if (m->count == 0 && m->p.empty != NULL)
		m->p.empty(m->p.arg);
	if (ends_master)
		m->p.exit(m->p.arg);
	uses_end(m->p.uses, USE_PASSENGER);
}

static int
on_message(void *arg, struct rd message)
{
	struct passenger *p = arg;
	uint32_t type;
	int r;

	if (p->foreign != NULL)
		return passenger_relay(p, message);
	type = rd_u32(&message);
	if ((r = rd_err(&message)) != 0)
		return r;
	if ((type == MUX_HELLO) != (p->state == PASSENGER_NEW))
		return ERR_PROTOCOL;
	if (type != MUX_HELLO)
		return passenger_request(p, type, &message);
	p->state = PASSENGER_READY;
	return mux_read_hello(&message);
}

static int
on_descriptor(void *arg, int fd)
{
	return passenger_descriptor(arg, fd);
}

static void
say_hello(struct passenger *p)
{
	struct buf b = { 0 };

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, "info", "0");
	mux_put_extension(&b, MUX_ANCHOR_NAME, MUX_ANCHOR_VERSION);
	passenger_send(p, &b);
	buf_clear(&b);
}

size_t
mux_master_room(size_t fds)
{
	size_t reserved = MIN((size_t)MUX_RESERVED_FDS, fds / 2);

	return MAX((fds - reserved) / MUX_PASSENGER_FDS, (size_t)1);
}

/* A line for each of hundreds that come in vain would be of use to nobody. */
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
	struct passenger *p;
	struct mux_link_hooks hooks = {
		.message = on_message,
		.descriptor = on_descriptor,
		.ended = on_link_ended,
	};

	if (m->count >= mux_master_room(fd_limit())) {
		tell_full(m, "a passenger is turned away");
		fd_close(&fd);
		return;
	}
	p = xcalloc(1, sizeof *p);
	p->m = m;
	hooks.arg = p;
	if (mux_link_new(&p->link, m->p.session.loop, fd, &hooks) != 0) {
		free(p);
		return;
	}
	p->next = m->passengers;
	m->passengers = p;
	m->count++;
	uses_begin(m->p.uses, USE_PASSENGER);
	say_hello(p);
}

void
mux_master_resized(struct mux_master *m)
{
	for (struct passenger *p = m->passengers; p != NULL; p = p->next)
		if (p->state == PASSENGER_OPEN && p->session != NULL)
			session_resized(p->session);
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

/* Descriptors are out, or memory: who waits at the socket goes on waiting. */
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
	int passenger, r;

	(void)fd;
	(void)events;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		if ((r = mux_socket_accept(&m->socket, &passenger)) != 0)
			break;
		mux_master_take(m, passenger);
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
	end_listening(m);
	mux_socket_stop(&m->socket);
	/* The one that is asked about last: else the next would be. */
	for (struct passenger *p = m->passengers; p != NULL; p = p->next)
		if (p != m->asked)
			passenger_leave_question(p);
	if (m->asked != NULL)
		passenger_leave_question(m->asked);
	for (struct passenger *p = m->passengers; p != NULL; p = p->next)
		if (p->session == NULL && p->forward == NULL)
			passenger_finish(p);
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
	struct passenger *p;

	if (m == NULL)
		return;
	loop = m->p.session.loop;
	end_listening(m);
	mux_socket_stop(&m->socket);
	loop_off_turn(loop, on_turn, m);
	loop_cancel(loop, m->pause_timer);
	loop_cancel(loop, m->idle_timer);
	while ((p = m->passengers) != NULL) {
		unlink_passenger(p);
		free_passenger(p);
	}
	mux_master_drop_pending(m);
	free(m);
}

void
mux_master_forget(struct mux_master *m)
{
	mux_socket_forget(&m->socket);
}
