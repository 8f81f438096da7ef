/* SPDX-License-Identifier: ISC */
#include "client/survive.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/netwatch.h"
#include "base/tcp.h"
#include "client/auth/userauth.h"
#include "client/sshclient.h"
#include "client/survive-pace.h"
#include "connection-survive-wire.h"
#include "connection-survive.h"
#include "packet-keep.h"

enum {
	KEPT_MAX = 32 * 1024 * 1024, /* bytes */
	/* A server that cannot grant it now is asked again, so often and after
	 * that time. */
	ASK_AGAIN_MS = 2000,
	ASKS_MAX = 3,
	/* Alive checks, if the configuration sets none. */
	ALIVE_S = 5,
	ALIVE_MISSED = 2,
	/* How often to look for signs of a loss; for how long a machine must
	 * have slept to count; and the time for an answer, beside two round
	 * trips. */
	LOOK_MS = 2000,
	SLEPT_MS = 2000,
	ANSWER_MS = 1000,
};

enum survive_state {
	SURVIVE_OFF,
	SURVIVE_ASKED, /* messages are kept; the server's answer is awaited */
	SURVIVE_ARMED,
	SURVIVE_WAITING,    /* the connection is lost; a timer is set for the
			     * next try */
	SURVIVE_CONNECTING, /* the further connection `fresh` is being made */
	SURVIVE_AGREED,     /* the server has agreed to go on over `fresh` */
	SURVIVE_ENDED,
};

struct survive {
	struct survive_params p;
	enum survive_state state;
	unsigned asks;
	struct survive_terms terms; /* wished for, then granted */
	uint8_t handle[SURVIVE_HANDLE_LEN];
	struct survive_keys keys;
	struct userauth_resume resume;
	struct sshclient *fresh;
	int refused;		 /* why fresh has ended */
	struct loop_timer *timer;
	struct loop_timer *look_timer; /* calls look(); NULL: not armed */
	struct netwatch *net;
	uint64_t slept_ms; /* time that the machine had slept, at the last
			    * look */
	/* Messages at the last look: those that the server has acknowledged,
	 * and those that it has not. */
	uint64_t acked, unacked;
	uint64_t lost_ms; /* clock_boot_ms() */
	struct survive_pace pace;
	struct survive_limits limits; /* of the try that runs */
	struct loop_timer *spare_timer; /* armed by an event: if the running try
					 * has not reached the host when it
					 * fires, the try is ended */
};

struct survive *
survive_new(const struct survive_params *params)
{
	struct survive *s = xcalloc(1, sizeof *s);

	s->p = *params;
	s->pace.tty = params->tty;
	return s;
}

static void
set_timer(struct survive *s, uint64_t ms, loop_fn fn)
{
	loop_cancel(s->p.loop, s->timer);
	if ((s->timer = loop_after(s->p.loop, ms, fn, s)) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
}

void
survive_free(struct survive *s)
{
	if (s == NULL)
		return;
	loop_cancel(s->p.loop, s->timer);
	loop_cancel(s->p.loop, s->look_timer);
	loop_cancel(s->p.loop, s->spare_timer);
	netwatch_free(s->net);
	sshclient_free(s->fresh);
	survive_keys_clear(&s->keys);
	mem_free_secret(s, sizeof *s);
}

/* ---- the grant ----------------------------------------------------------- */

static void on_ask_time(void *arg);
static void try_again(void *arg);

static void
free_fresh(struct survive *s)
{
	sshclient_free(s->fresh);
	s->fresh = NULL;
}

static int
take_grant(struct survive *s, struct rd data)
{
	const struct sshlogin_binding binding = sshlogin_binding(s->p.login);
	const struct survive_binding b = {
		.session_id = kex_session_id(sshlogin_kex(s->p.login)),
		.hostkey = binding.hostkey,
		.user = s->p.conf->host.user };
	struct survive_grant g;
	int r = survive_get_grant(data, &s->terms, &g);

	if (r != 0)
		return r;
	s->terms = (struct survive_terms){ .seconds = g.seconds,
		.bytes = g.bytes };
	memcpy(s->handle, g.handle.p, sizeof s->handle);
	return survive_keys_begin(&s->keys, &b, g.secret.p);
}

/* Has alive checks made if the configuration sets none, so that the loss of a
 * silent connection is noticed. */
static void
check_alive(const struct survive *s)
{
	if (s->p.conf->tcp.server_alive_interval <= 0)
		connection_set_alive(sshlogin_connection(s->p.login), ALIVE_S,
		    ALIVE_MISSED);
}

/* ---- finding out --------------------------------------------------------- */

static void
ask_for_answer(const struct survive *s)
{
	connection_probe(sshlogin_connection(s->p.login),
	    ANSWER_MS + (uint32_t)MIN(2 * s->pace.rtt_us / 1000, 60000));
}

/* True if the other connection has got further than TCP's first packets, or
 * through another program to the host's answer. A path through which nothing
 * gets is no reason to wait longer the next time: when it works again, a new
 * try is the fastest way back. */
static bool
is_reached(const struct survive *s)
{
	return s->pace.proxied ? sshclient_is_answered(s->fresh) :
				 tcp_is_connected(sshclient_fd(s->fresh));
}

/* Ends the try that runs for another one, because of an event. */
static void
spare(struct survive *s)
{
	log_debug("an event: another connection at once");
	free_fresh(s);
	survive_pace_ended(&s->pace);
	s->state = SURVIVE_WAITING;
	set_timer(s, 0, try_again);
}

static void
on_spare_time(void *arg)
{
	struct survive *s = arg;

	s->spare_timer = NULL;
	if (s->state == SURVIVE_CONNECTING && s->refused == 0 &&
	    !is_reached(s))
		spare(s);
}

/* Has a try begin at once, if none is running that may end well. */
static void
hasten(struct survive *s, enum survive_event event)
{
	uint64_t now_ms = clock_ms(), ms;

	if (s->state == SURVIVE_WAITING) {
		set_timer(s, survive_pace_event_ms(&s->pace, event, now_ms),
		    try_again);
		return;
	}
	if (s->state != SURVIVE_CONNECTING || s->refused != 0)
		return;
	ms = survive_pace_spare_ms(&s->pace, now_ms);
	if (!netwatch_has_address(sshclient_fd(s->fresh)))
		spare(s);
	else if (!is_reached(s) && s->spare_timer == NULL)
		s->spare_timer =
		    loop_after(s->p.loop, ms, on_spare_time, s);
}

void
survive_typed(struct survive *s)
{
	if (s != NULL)
		hasten(s, SURVIVE_EVENT_KEY);
}

/* Called when this host's addresses or routes have changed. If the connection's
 * own address is gone, the connection is lost. */
static void
on_net(void *arg)
{
	struct survive *s = arg;
	int fd = packet_fd_in(sshlogin_packet(s->p.login));

	hasten(s, SURVIVE_EVENT_NET);
	if (s->state == SURVIVE_ARMED && !netwatch_has_address(fd))
		connection_probe(sshlogin_connection(s->p.login), 0);
	else if (s->state == SURVIVE_ARMED)
		ask_for_answer(s);
}

/* Looks for signs of a loss: the machine has slept, or the server has
 * acknowledged nothing since the last look. */
static void
look(void *arg)
{
	struct survive *s = arg;
	uint64_t slept_ms = clock_boot_ms() - clock_ms(), acked, unacked;
	bool ask;

	s->look_timer = NULL;
	if (s->state != SURVIVE_ARMED)
		return;
	unacked = packet_unacked(sshlogin_packet(s->p.login), &acked);
	ask = slept_ms > s->slept_ms + SLEPT_MS ||
	    (unacked > 0 && s->unacked > 0 && acked == s->acked);
	s->slept_ms = slept_ms;
	s->acked = acked;
	s->unacked = unacked;
	s->look_timer = loop_after(s->p.loop, LOOK_MS, look, s);
	if (ask)
		ask_for_answer(s);
}

/* Begins to look for signs of a loss of the connection, which works now. */
static void
watch(struct survive *s)
{
	loop_cancel(s->p.loop, s->look_timer);
	s->pace.rtt_us = tcp_rtt_us(packet_fd_in(sshlogin_packet(s->p.login)));
	s->pace.proxied = sshclient_is_proxied(s->p.client);
	s->pace.answer_ms = sshlogin_answer_ms(s->p.login);
	s->slept_ms = clock_boot_ms() - clock_ms();
	s->state = SURVIVE_ARMED;
	s->unacked = 0;
	if (s->net == NULL)
		s->net = netwatch_new(s->p.loop, on_net, s);
	look(s);
}

/* ---- the answer ---------------------------------------------------------- */

static void
on_grant(void *arg, bool ok, struct rd data)
{
	struct survive *s = arg;
	struct packet *p = sshlogin_packet(s->p.login);
	int r = ok ? take_grant(s, data) : ERR_DENIED;

	if (r == 0) {
		packet_keep_limit(p, s->terms.bytes);
		packet_keep_count(p);
		check_alive(s);
		watch(s);
		log_verbose("This session survives its connection for %u s.",
		    (unsigned)s->terms.seconds);
		return;
	}
	packet_keep_end(p);
	s->state = SURVIVE_OFF;
	if (r == ERR_DENIED && s->asks < ASKS_MAX)
		set_timer(s, ASK_AGAIN_MS, on_ask_time);
	else
		log_verbose("The host does not let this session survive its "
			    "connection.");
}

static bool
may_ask(const struct survive *s)
{
	const struct kex *k = sshlogin_kex(s->p.login);

	return kex_peer_survives(k) && !kex_running(k) &&
	    !s->p.conf->algs.none_switch &&
	    !sshlogin_is_distrusted(s->p.login) &&
	    packet_can_keep(sshlogin_packet(s->p.login));
}

void
survive_ask(struct survive *s)
{
	struct buf b = { 0 };
	int r;

	if (s == NULL || s->state != SURVIVE_OFF || !may_ask(s))
		return;
	s->asks++;
	s->terms = (struct survive_terms){
		.seconds = (uint32_t)MAX(1, MIN(s->p.conf->tcp.survive_time,
		    (int)SURVIVE_SECONDS_MAX)),
		.bytes = KEPT_MAX };
	survive_put_request(&b, &s->terms);
	if ((r = buf_err(&b)) == 0)
		r = channels_global_request(sshclient_channels(s->p.client),
		    SURVIVE_REQUEST, &b, on_grant, s);
	/* Messages behind this request are counted. */
	if (r == 0)
		r = packet_keep_begin(sshlogin_packet(s->p.login),
		    s->terms.bytes);
	buf_clear(&b);
	if (r != 0)
		log_debug("survive: %s", err_text(r));
	else
		s->state = SURVIVE_ASKED;
}

static void
on_ask_time(void *arg)
{
	struct survive *s = arg;

	s->timer = NULL;
	survive_ask(s);
}

/* ---- another connection -------------------------------------------------- */

static void
end(struct survive *s, int err)
{
	s->state = SURVIVE_ENDED;
	if (s->p.waits != NULL)
		s->p.waits(s->p.arg, false);
	sshclient_give_up(s->p.client, err);
}

static void
try_later(struct survive *s)
{
	s->state = SURVIVE_WAITING;
	set_timer(s, survive_pace_wait_ms(&s->pace, clock_ms()), try_again);
}

/* Goes on over `fresh`, because the server has agreed. */
static void
on_agreed(void *arg)
{
	struct survive *s = arg;
	int r;

	s->timer = NULL;
	r = sshclient_take_over(s->p.client, s->fresh,
	    s->resume.peer_received);
	free_fresh(s);
	if (r != 0) {
		log_error("The session does not go on: %s", err_text(r));
		end(s, r);
		return;
	}
	watch(s);
	log_info("The session goes on, after %llu s.",
	    (unsigned long long)(clock_boot_ms() - s->lost_ms) / 1000);
	if (s->p.waits != NULL)
		s->p.waits(s->p.arg, false);
}

static int
on_ready(void *arg)
{
	struct survive *s = arg;

	s->state = SURVIVE_AGREED;
	set_timer(s, 0, on_agreed);
	return 0;
}

/* True if an error of a try ends the session: the server has refused. A server
 * with another host key has no say: anybody can answer in the server's place
 * when a client comes into another network. */
static bool
is_final(int err)
{
	return err == ERR_DENIED;
}

static void
on_try_over(void *arg)
{
	struct survive *s = arg;

	s->timer = NULL;
	if (s->refused == ERR_TIMEOUT)
		survive_pace_late(&s->pace, is_reached(s));
	else
		survive_pace_broken(&s->pace);
	free_fresh(s);
	if (!is_final(s->refused)) {
		try_later(s);
		return;
	}
	log_error("The host does not go on with this session.");
	end(s, s->refused);
}

static void
on_try_ended(void *arg, int err)
{
	struct survive *s = arg;

	if (s->state != SURVIVE_CONNECTING)
		return;
	log_debug("another connection: %s", err_text(err));
	s->refused = err;
	set_timer(s, 0, on_try_over);
}

/* Ends a try that takes too long as a whole, though each step of it was within
 * its limit. */
static void
on_whole_time(void *arg)
{
	struct survive *s = arg;

	log_debug("another connection takes too long");
	s->refused = ERR_TIMEOUT;
	on_try_over(s);
}

/* Ends a try that has reached nobody, after the time of the first step. The
 * kernel repeats its first packets more and more rarely. */
static void
on_connect_time(void *arg)
{
	struct survive *s = arg;

	if (is_reached(s))
		set_timer(s, s->limits.whole_ms - s->limits.first_ms,
		    on_whole_time);
	else
		on_whole_time(s);
}

/* Milliseconds that the session has left for coming back. */
static uint64_t
left_ms(const struct survive *s)
{
	uint64_t all = (uint64_t)s->terms.seconds * 1000;
	uint64_t gone = clock_boot_ms() - s->lost_ms;

	return gone < all ? all - gone : 0;
}

/* Limits the time of the try that begins. */
static void
limit_try(struct survive *s)
{
	struct survive_limits l = survive_pace_try(&s->pace, clock_ms());

	l.whole_ms = MIN(l.whole_ms, left_ms(s));
	l.first_ms = MIN(l.first_ms, l.whole_ms);
	s->limits = l;
	set_timer(s, l.first_ms, on_connect_time);
}

/* Makes the connection of a try. */
static int
connect_fresh(struct survive *s)
{
	const struct sshclient_params params = {
		.conf = (struct client_conf *)(uintptr_t)s->p.conf,
		.loop = s->p.loop,
		.first = s->p.client,
		.watched = true,
		.resume = &s->resume,
		.resume_wait_s = (int)s->limits.step_s,
		.arg = s,
		.ready = on_ready,
		.ended = on_try_ended,
	};

	s->resume = (struct userauth_resume){ .keys = &s->keys,
		.handle = { s->handle, sizeof s->handle },
		.received =
		    packet_received(sshlogin_packet(s->p.login)) };
	s->refused = 0;
	log_debug("another connection, try %u", s->pace.tries);
	return sshclient_new(&s->fresh, &params);
}

static void
try_again(void *arg)
{
	struct survive *s = arg;

	s->timer = NULL;
	loop_cancel(s->p.loop, s->spare_timer);
	s->spare_timer = NULL;
	if (s->pace.tries == 0)
		sshclient_close_lost(s->p.client);
	if (left_ms(s) == 0) {
		log_error("The session is given up after %u s.",
		    (unsigned)s->terms.seconds);
		end(s, ERR_TIMEOUT);
		return;
	}
	s->state = SURVIVE_CONNECTING;
	limit_try(s);
	if (connect_fresh(s) != 0) {
		s->fresh = NULL;
		try_later(s);
	}
}

bool
survive_begin(struct survive *s, int err)
{
	if (s == NULL || s->state != SURVIVE_ARMED)
		return false;
	s->lost_ms = clock_boot_ms();
	survive_pace_lost(&s->pace);
	try_later(s);
	log_info("The connection to %s was lost (%s); trying again for %u s.",
	    s->p.conf->host.hostname, err_text(err),
	    (unsigned)s->terms.seconds);
	if (s->p.waits != NULL)
		s->p.waits(s->p.arg, true);
	return true;
}
