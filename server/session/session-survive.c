/* SPDX-License-Identifier: ISC */
#include "server/session/session-survive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels.h"
#include "compat/sock.h"
#include "connection-resume.h"
#include "connection-survive-wire.h"
#include "kex.h"
#include "packet-keep.h"
#include "packet.h"
#include "server/session/none-allowed.h"
#include "server/session/services.h"
#include "server/session/session-calls.h"
#include "server/survive-talk.h"

/* Seconds that the monitor of another connection may take to hand it over. */
enum { WAIT_S = 10 };

struct session_survive {
	struct session_survive_params p;
	int talk; /* socket of survive-talk.h to the monitor; -1: the session
		   * may not survive */
	struct loop_fd *watch;
	bool waits; /* for another connection */
	struct loop_timer *drop_timer;
	/* `before`: number of packets that had come when the last connection
	 * began; `unsettled`: the monitor is still to be told when the first
	 * packet comes over it. */
	uint64_t before;
	bool unsettled;
};

static bool on_turn(void *arg);

struct session_survive *
session_survive_new(const struct session_survive_params *params)
{
	struct session_survive *s = xcalloc(1, sizeof *s);

	s->p = *params;
	s->talk = -1;
	return s;
}

void
session_survive_free(struct session_survive *s)
{
	if (s == NULL)
		return;
	loop_cancel(s->p.loop, s->drop_timer);
	loop_off_turn(s->p.loop, on_turn, s);
	loop_unwatch(s->p.loop, s->watch);
	fd_close(&s->talk);
	free(s);
}

static int
say(const struct session_survive *s, enum survive_word word, uint64_t n)
{
	const struct survive_message m = { .word = word, .n = n, .fd = -1 };

	return survive_say(s->talk, &m);
}

/* ---- the old connection -------------------------------------------------- */

/* Closes the lost connection, but keeps the number of its descriptor for the
 * next connection, because other parts know it by that number. */
static void
drop_socket(struct session_survive *s)
{
	if (sock_drop(s->p.serve->socket_fd) == -1)
		fatal("the lost connection cannot be closed: %s",
		    strerror(errno));
}

static void
on_drop_time(void *arg)
{
	struct session_survive *s = arg;

	s->drop_timer = NULL;
	if (s->waits)
		drop_socket(s);
}

bool
session_survive_lost(struct session_survive *s, int err)
{
	if (s == NULL || s->talk == -1 || s->waits)
		return false;
	s->waits = true;
	s->p.waits(s->p.arg, true);
	/* The descriptor is still watched by the connection's own code, so it
	 * is closed in the next turn. */
	s->drop_timer = loop_after(s->p.loop, 0, on_drop_time, s);
	return s->drop_timer != NULL &&
	    say(s, SURVIVE_DETACHED, (uint64_t)-err) == 0;
}

static int
freeze(struct session_survive *s)
{
	if (!s->waits) {
		connection_suspend(s->p.connection);
		s->waits = true;
		s->p.waits(s->p.arg, true);
		drop_socket(s);
	}
	return say(s, SURVIVE_FROZEN, packet_received(s->p.packet));
}

/* ---- the next one -------------------------------------------------------- */

static bool
on_turn(void *arg)
{
	struct session_survive *s = arg;

	if (s->waits || packet_counters(s->p.packet, PACKET_RX).packets <=
	    s->before)
		return false;
	loop_off_turn(s->p.loop, on_turn, s);
	s->unsettled = false;
	(void)!say(s, SURVIVE_SETTLED, 0);
	return false;
}

/* Makes the new connection of what another monitor has handed over. */
static int
unpack(struct session_survive *s, const struct survive_connection *c,
    struct packet **fresh, struct kex **kex)
{
	struct rd packet_state = rd_from_buf(&c->packet_state);
	struct rd kex_state = rd_from_buf(&c->kex_state);
	const int fd = s->p.serve->socket_fd;
	int r;

	loop_cancel(s->p.loop, s->drop_timer);
	s->drop_timer = NULL;
	if (sock_copy_to(c->fd, fd) == -1)
		return ERR_SYSTEM;
	if ((*fresh = packet_new(fd, fd, true)) == NULL)
		return ERR_NOMEM;
	if ((r = s->p.new_kex(s->p.arg, *fresh, kex)) == 0 &&
	    (r = packet_import(*fresh, &packet_state)) == 0 &&
	    (r = kex_import(*kex, &kex_state)) == 0)
		r = packet_authenticated(*fresh);
	return r;
}

static int
settle_later(struct session_survive *s)
{
	s->before = packet_counters(s->p.packet, PACKET_RX).packets;
	if (s->unsettled)
		return 0;
	s->unsettled = true;
	return loop_on_turn(s->p.loop, on_turn, s);
}

/* Goes on over the new connection. received: number of messages of this session
 * that the client has received. */
static int
go_on(struct session_survive *s, struct packet *fresh, struct kex *kex,
    uint64_t received)
{
	int r = connection_resume(s->p.connection, fresh, kex, received);

	if (r != 0)
		return r;
	s->waits = false;
	if ((r = settle_later(s)) == 0)
		r = say(s, SURVIVE_ATTACHED, 0);
	s->p.waits(s->p.arg, false);
	return r;
}

/* The monitor of the next connection may end, or be stopped, before it has
 * handed all of it over, and what it hands over is the work of an hpnsshd-auth
 * that its client may have taken over. Then the session waits for another
 * one. */
static int
attach(struct session_survive *s, int sock, uint64_t received)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	struct survive_connection c;
	struct packet *fresh = NULL;
	struct kex *kex = NULL;
	int r;

	if (!s->waits)
		return ERR_PROTOCOL;
	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	r = survive_receive_connection(sock, &c);
	if (r == 0 && (r = unpack(s, &c, &fresh, &kex)) != 0)
		drop_socket(s);
	if (r == 0) {
		r = go_on(s, fresh, kex, received);
	} else {
		log_verbose("another connection is not handed over: %s",
		    err_text(r));
		r = say(s, SURVIVE_DETACHED, 0);
	}
	kex_free(kex);
	packet_free(fresh);
	survive_connection_clear(&c);
	return r;
}

static void
on_talk(void *arg, int fd, int events)
{
	struct session_survive *s = arg;
	struct survive_message m;
	int r;

	(void)events;
	if ((r = survive_hear(fd, &m)) == 0) {
		if (m.word == SURVIVE_FREEZE)
			r = freeze(s);
		else if (m.word == SURVIVE_ATTACH)
			r = attach(s, m.fd, m.n);
		fd_close(&m.fd);
	}
	if (r == 0)
		return;
	log_error("the session does not go on: %s", err_text(r));
	loop_unwatch(s->p.loop, s->watch);
	s->watch = NULL;
	fd_close(&s->talk);
	connection_give_up(s->p.connection, r);
}

/* ---- the grant ----------------------------------------------------------- */

bool
session_survive_allowed(const struct serve_params *p)
{
	return p->conf->login.survive.enabled != 0;
}

/* True if the answer to survive@hpnssh.org can be sent at once, so that both
 * sides begin to count messages at the same place. */
static bool
is_time(const struct service_owners *o)
{
	return o->survive->talk == -1 && !kex_running(o->kex) &&
	    channels_reply_wanted(o->channels) &&
	    !channels_are_owing(o->channels) && packet_can_keep(o->packet);
}

/* Sends the answer with the grant, and keeps copies of all messages behind
 * it. */
static int
begin(const struct service_owners *o, const struct survive_terms *granted,
    const struct buf *reply)
{
	struct session_survive *s = o->survive;
	struct channels_owed *owed;
	int r;

	s->watch = loop_watch(s->p.loop, s->talk, LOOP_READ, on_talk, s);
	if (s->watch == NULL)
		return ERR_NOMEM;
	if ((r = channels_owe(o->channels, &owed)) != 0 ||
	    (r = channels_give_owed(o->channels, owed, true, reply)) != 0 ||
	    (r = packet_keep_begin(o->packet, granted->bytes)) != 0)
		return r;
	packet_keep_count(o->packet);
	log_verbose("This session survives its connection for %u s",
	    (unsigned)granted->seconds);
	return CHANNEL_LATER;
}

int
session_survive_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	struct survive_terms terms;
	int r = survive_get_request(*data, &terms);

	if (r != 0)
		return r == ERR_UNSUPPORTED || r == ERR_LIMIT ?
		    CHANNEL_FAILURE : r;
	/* The state of a connection is kept for the next one only where it is
	 * encrypted, so the cipher none is excluded from now on. */
	if (!is_time(o) || !none_exclude(o->kex, o->packet, SURVIVE_REQUEST))
		return CHANNEL_FAILURE;
	r = monitor_survive(o->params->monitor_fd, &terms, reply,
	    &o->survive->talk);
	if (r != 0)
		return r == ERR_DENIED ? CHANNEL_FAILURE : r;
	return begin(o, &terms, reply);
}
