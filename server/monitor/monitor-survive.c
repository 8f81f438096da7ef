/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-survive.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "connection-survive-wire.h"
#include "connection-survive.h"
#include "crypto/rand.h"
#include "keys/key.h"
#include "server/monitor/login-before.h"
#include "server/monitor/login-bounds.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor-tickets.h"
#include "server/monitor/monitor.h"
#include "server/monitor/rendezvous.h"
#include "server/monitor/resume-wire.h"
#include "server/monitor/survive-slot.h"
#include "server/monitor/ticket-rules.h"
#include "server/survive-talk.h"

_Static_assert((int)SURVIVE_HANDLE_LEN == (int)RENDEZVOUS_HANDLE_LEN,
    "the handle is a name of the rendezvous");

/* The state of another connection's monitor that has asked to take over the
 * session. */
enum asking {
	ASKING_NONE,
	ASKING_FREEZE, /* waits until the process has let go of the old
		        * connection */
	ASKING_RULES,  /* the other monitor checks today's rules, and then hands
		        * over */
	ASKING_ATTACH, /* waits until the process has taken the new
		        * connection */
};

struct asker {
	enum asking state;
	int fd; /* -1: none */
	struct loop_fd *watch;
	struct buf question; /* the bytes that q refers to */
	struct resume_question q;
};

struct monitor_survive {
	struct monitor *m;
	struct loop *loop;
	int dir, listening; /* listening: socket for other monitors; -1: the
			     * session may not survive */
	struct loop_fd *watch;
	uint8_t handle[RENDEZVOUS_HANDLE_LEN];
	struct buf hostkey;
	struct survive_keys keys;
	struct survive_terms terms;
	int talk; /* socket to the session process; -1: none */
	struct loop_fd *talk_watch;
	struct asker asker;
	bool detached;
	uint64_t since_ms; /* when it is detached */
	int slots;	   /* survive-slot.h */
	bool counted;	   /* has a slot */
	char address[64];  /* where the client was last */
	struct loop_timer *timer, *kill_timer;
};

/* Time within which a process that was told to end has to do so. */
enum { END_MS = 10 * 1000 };

/* Milliseconds for which the session is detached. */
static uint64_t
away_ms(const struct monitor_survive *s)
{
	return s->detached ? clock_boot_ms() - s->since_ms : 0;
}

/* ---- the process of the session ----------------------------------------- */

/* Kills a process that was told to end and has not: its user may have stopped
 * it, or taken it over. */
static void
on_kill_time(void *arg)
{
	struct monitor_survive *s = arg;

	s->kill_timer = NULL;
	kill(s->m->child, SIGKILL);
}

/* Ends the session, whose client is not waited for any more. event: the reason
 * in the log of events. */
static void
end_session(struct monitor_survive *s, const char *event, const char *why)
{
	log_info("Session of %s from %s is ended: %s", s->m->login->shown_name,
	    s->m->peer_text, why);
	monitor_events_given_up(s->m->events, away_ms(s), event);
	kill(s->m->child, SIGTERM);
	if (s->kill_timer == NULL)
		s->kill_timer = loop_after(s->loop, END_MS, on_kill_time, s);
	if (s->kill_timer == NULL)
		fatal("out of memory");
}

static int
say(struct monitor_survive *s, enum survive_word word, uint64_t n, int fd)
{
	const struct survive_message m = { .word = word, .n = n, .fd = fd };

	return survive_say(s->talk, &m);
}

/* ---- time without a client ---------------------------------------------- */

static void
on_time(void *arg)
{
	struct monitor_survive *s = arg;
	char why[64];

	s->timer = NULL;
	snprintf(why, sizeof why, "%u s without a client",
	    (unsigned)s->terms.seconds);
	end_session(s, "time", why);
}

/* Counts the session among those of its user that wait for their client. */
static void
take_slot(struct monitor_survive *s)
{
	int r;

	if (s->counted)
		return;
	r = survive_slot_take(s->slots, s->m->login->conf.login.survive.max);
	s->counted = r == 0;
	if (r != 0)
		end_session(s, "max", r == ERR_LIMIT ?
			"too many sessions of this user are detached" :
			"it cannot be counted among those that are detached");
}

/* Has the terminals' login records name the host where the client was last, and
 * a note behind it. */
static void
show_host(const struct monitor_survive *s, const char *note)
{
	struct monitor *m = s->m;
	char *text;

	xasprintf(&text, "%s%s",
	    strcmp(s->address, m->peer.address) == 0 ? m->peer.host :
						       s->address,
	    note);
	monitor_move_ttys(m, text);
	free(text);
}

enum why_detached { DETACHED_LOST, DETACHED_SILENT, DETACHED_MOVED };

/* The reasons in the log of events, and in the log for people. */
static const struct {
	const char *event, *text;
} reasons[] = {
	[DETACHED_LOST] = { "lost", "connection lost" },
	[DETACHED_SILENT] = { "silent", "no answer" },
	[DETACHED_MOVED] = { "moved",
	    "its client comes by another connection" },
};

/* Notes that the session has no connection: its time to wait begins. It is not
 * counted yet if its client is about to take it over. */
static void
detach(struct monitor_survive *s, enum why_detached why)
{
	const struct login *l = s->m->login;

	if (s->detached)
		return;
	s->detached = true;
	s->since_ms = clock_boot_ms();
	log_info("Session of %s from %s is detached: %s", l->shown_name,
	    s->m->peer_text, reasons[why].text);
	monitor_events_detached(s->m->events, reasons[why].event);
	proc_title("%s [detached]", l->user->name);
	show_host(s, " [detached]");
	s->timer = loop_after(s->loop, (uint64_t)s->terms.seconds * 1000,
	    on_time, s);
	if (s->timer == NULL)
		fatal("out of memory");
	if (s->asker.state == ASKING_NONE)
		take_slot(s);
}

static void
attach(struct monitor_survive *s, const struct resume_question *q)
{
	const struct login *l = s->m->login;

	snprintf(s->address, sizeof s->address, "%.*s", (int)q->address.len,
	    (const char *)q->address.p);
	log_info("Session of %s from %s goes on from %s port %u after %llu s",
	    l->shown_name, s->m->peer_text, s->address, (unsigned)q->port,
	    (unsigned long long)away_ms(s) / 1000);
	monitor_events_resumed(s->m->events, away_ms(s), s->address, q->port);
	proc_title("%s [priv]", l->user->name);
	show_host(s, "");
	s->detached = s->counted = false;
	survive_slot_give(s->slots);
	loop_cancel(s->loop, s->timer);
	s->timer = NULL;
}

/* ---- a monitor that asks ------------------------------------------------- */

static void
clear_asker(struct monitor_survive *s)
{
	struct asker *a = &s->asker;

	loop_unwatch(s->loop, a->watch);
	a->watch = NULL;
	fd_close(&a->fd);
	buf_clear(&a->question);
	a->state = ASKING_NONE;
	/* on_asker() may have kept the next one waiting. */
	if (s->watch != NULL)
		loop_fd_want(s->watch, LOOP_READ);
}

/* Gives up the asker: its client does not take over the session. */
static void
drop_asker(struct monitor_survive *s)
{
	clear_asker(s);
	if (s->detached)
		take_slot(s);
}

static int
answer(int fd, const struct resume_answer *a)
{
	struct buf out;
	int r;

	buf_init_secret(&out);
	resume_put_answer(&out, a);
	r = rendezvous_answer(fd, &out);
	buf_clear(&out);
	return r;
}

static struct survive_request
request_of(const struct resume_question *q)
{
	return (struct survive_request){ .session_id = q->session_id,
		.bytes = q->data,
		.generation = q->generation };
}

static enum rendezvous_verdict
judge(const struct monitor_survive *s, const struct resume_question *q)
{
	const struct login *l = s->m->login;
	const struct survive_request request = request_of(q);

	if (q->uid != (uint32_t)l->user->uid ||
	    !span_equals(q->user, l->name) ||
	    !key_blobs_same_identity(q->hostkey, buf_span(&s->hostkey)) ||
	    q->session_id.len > sizeof s->m->session_id ||
	    !survive_keys_check(&s->keys, &request, q->proof))
		return RENDEZVOUS_WRONG;
	return l->conf.login.survive.address == SERVER_SURVIVE_SAME_ADDRESS &&
			!span_equals(q->address, s->m->peer.address) ?
	    RENDEZVOUS_ADDRESS :
	    RENDEZVOUS_GOOD;
}

/* Reads and judges the question of another monitor. True: it is good, and is
 * answered when the process has let go of its connection. */
static bool
is_good(struct monitor_survive *s, int fd, const struct buf *question,
    struct resume_question *q)
{
	struct resume_answer a = { .login.verdict = RENDEZVOUS_OTHER_VERSION };
	int r = resume_get_question(rd_from_buf(question), q);

	if (r == 0)
		a.login.verdict = judge(s, q);
	else if (r != ERR_UNSUPPORTED) {
		log_verbose("rendezvous: %s", err_text(r));
		return false;
	}
	log_verbose("A client wants to go on with this session: %s",
	    rendezvous_verdict_text(a.login.verdict));
	if (a.login.verdict == RENDEZVOUS_GOOD)
		return true;
	(void)!answer(fd, &a);
	return false;
}

static void on_asker(void *arg, int fd, int events);

/* Has who asked gone, because its client has, or the answer took too long? */
static bool
has_left(int asker)
{
	uint8_t byte;

	return recv(asker, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void
on_asked(void *arg, int fd, int events)
{
	struct monitor_survive *s = arg;
	struct resume_question q;
	struct buf question;
	int asker;

	(void)events;
	buf_init_secret(&question);
	if (rendezvous_accept(fd, &asker, &question) != 0) {
		buf_clear(&question);
		return;
	}
	if (has_left(asker) || !is_good(s, asker, &question, &q)) {
		fd_close(&asker);
		buf_clear(&question);
		return;
	}
	clear_asker(s);
	s->asker = (struct asker){ .state = ASKING_FREEZE, .fd = asker,
		.question = question, .q = q };
	s->asker.watch = loop_watch(s->loop, asker, LOOP_READ, on_asker, s);
	if (s->asker.watch == NULL)
		fatal("out of memory");
	if (say(s, SURVIVE_FREEZE, 0, -1) != 0)
		drop_asker(s);
}

/* Answers the asker, once the process has let go of its connection; received:
 * messages that the session has received. */
static int
answer_asker(struct monitor_survive *s, uint64_t received)
{
	const struct login *l = s->m->login;
	struct asker *ask = &s->asker;
	const struct survive_request request = request_of(&ask->q);
	uint8_t proof[SURVIVE_PROOF_LEN], bounds[LOGIN_BOUNDS_LEN];
	struct resume_answer a = { .login.verdict = RENDEZVOUS_GOOD,
		.received = received,
		.proof = { proof, sizeof proof },
		.bounds = { bounds, sizeof bounds } };
	int r = login_before_tell(l, &a.login);

	if (r == 0)
		r = login_bounds(l, &l->permits, bounds);
	if (r == 0)
		r = survive_keys_accept(&s->keys, &request, ask->q.proof,
		    received, proof);
	if (r == 0)
		r = answer(ask->fd, &a);
	ask->state = ASKING_RULES;
	return r;
}

/* Takes the decision of the asking monitor. */
static void
on_asker(void *arg, int fd, int events)
{
	struct monitor_survive *s = arg;
	struct asker *a = &s->asker;
	uint8_t byte = 0;
	int sock;

	(void)events;
	if (a->state == ASKING_ATTACH) {
		/* The asking monitor has gone; the process goes on all the
		 * same. */
		loop_unwatch(s->loop, a->watch);
		a->watch = NULL;
		return;
	}
	if (fd_receive_with(fd, &byte, sizeof byte, &sock) <= 0 ||
	    a->state != ASKING_RULES) {
		fd_close(&sock);
		drop_asker(s);
		return;
	}
	if (byte == RESUME_END)
		end_session(s, "refused", "its client may not come back");
	if (byte == RESUME_ATTACH && sock != -1 &&
	    say(s, SURVIVE_ATTACH, a->q.received, sock) == 0) {
		a->state = ASKING_ATTACH;
		/* While the process takes a connection, the next one waits:
		 * its client is there again already. */
		loop_fd_want(s->watch, 0);
	} else {
		drop_asker(s);
	}
	fd_close(&sock);
}

/* Notes that the session goes on over the asker's connection. */
static void
on_attached(struct monitor_survive *s)
{
	static const uint8_t done = 1;
	struct asker *a = &s->asker;
	struct monitor *m = s->m;

	memcpy(m->session_id, a->q.session_id.p, a->q.session_id.len);
	m->session_id_len = a->q.session_id.len;
	m->login->session_id.len = m->session_id_len;
	attach(s, &a->q);
	(void)!send(a->fd, &done, sizeof done, MSG_NOSIGNAL | MSG_DONTWAIT);
	drop_asker(s);
}

static void
stop_talk(struct monitor_survive *s)
{
	loop_unwatch(s->loop, s->talk_watch);
	s->talk_watch = NULL;
	drop_asker(s);
}

static void
on_talk(void *arg, int fd, int events)
{
	struct monitor_survive *s = arg;
	struct survive_message msg;

	(void)events;
	if (survive_hear(fd, &msg) != 0) {
		stop_talk(s);
		return;
	}
	switch (msg.word) {
	case SURVIVE_DETACHED:
		detach(s, msg.n == (uint64_t)-ERR_TIMEOUT ?
			DETACHED_SILENT : DETACHED_LOST);
		/* The process has not got the whole connection. */
		if (s->asker.state == ASKING_ATTACH)
			drop_asker(s);
		break;
	case SURVIVE_FROZEN:
		detach(s, DETACHED_MOVED);
		if (s->asker.state == ASKING_FREEZE &&
		    answer_asker(s, msg.n) != 0)
			drop_asker(s);
		break;
	case SURVIVE_ATTACHED:
		if (s->asker.state == ASKING_ATTACH)
			on_attached(s);
		break;
	case SURVIVE_SETTLED:
		survive_keys_settle(&s->keys);
		break;
	default:
		fd_close(&msg.fd);
		stop_talk(s);
	}
}

/* ---- the grant ----------------------------------------------------------- */

void
monitor_survive_prepare(struct monitor *m)
{
	const struct login *l = m->login;
	struct monitor_survive *s;
	int dir;

	if (!l->conf.login.survive.enabled ||
	    l->shown.n > RENDEZVOUS_PROOFS_MAX || l->hostkey.len == 0 ||
	    m->state.once ||
	    !ticket_rules_may(monitor_ticket_traits(m), TICKET_SURVIVE) ||
	    rendezvous_open(&dir) != 0)
		return;
	s = xcalloc(1, sizeof *s);
	s->m = m;
	s->dir = dir;
	s->listening = s->talk = s->slots = s->asker.fd = -1;
	snprintf(s->address, sizeof s->address, "%s", m->peer.address);
	buf_put(&s->hostkey, l->hostkey.p, l->hostkey.len);
	if (buf_err(&s->hostkey) != 0)
		fatal("out of memory");
	m->survive = s;
}

void
monitor_survive_begin(struct monitor *m, struct loop *loop)
{
	if (m->survive != NULL)
		m->survive->loop = loop;
}

/* Begins to listen for other monitors, and makes the sockets between monitor
 * and session process; *theirs is for the process. */
static int
prepare(struct monitor_survive *s, int *theirs)
{
	int pair[2], r;

	if ((r = survive_slots_open(s->dir, (uint32_t)s->m->login->user->uid,
		 &s->slots)) != 0)
		return r;
	if ((r = rendezvous_listen(s->dir, s->handle, &s->listening)) == 0) {
		if (sock_pair(SOCK_DGRAM, pair) == 0) {
			s->talk = pair[0];
			*theirs = pair[1];
			return 0;
		}
		rendezvous_forget(s->dir, s->handle);
		fd_close(&s->listening);
	}
	fd_close(&s->slots);
	return r != 0 ? r : ERR_SYSTEM;
}

/* Makes the secret by which the client proves that the session is its own, and
 * the keys from it. */
static int
begin(struct monitor_survive *s, uint8_t secret[SURVIVE_SECRET_LEN])
{
	const struct login *l = s->m->login;
	const struct survive_binding b = { .session_id = l->session_id,
		.hostkey = buf_span(&s->hostkey),
		.user = l->name };

	s->watch = loop_watch(s->loop, s->listening, LOOP_READ, on_asked, s);
	if (s->watch == NULL)
		fatal("out of memory");
	rand_bytes(secret, SURVIVE_SECRET_LEN);
	return survive_keys_begin(&s->keys, &b, secret);
}

static int
grant(struct monitor_survive *s, int theirs, struct buf *out)
{
	uint8_t secret[SURVIVE_SECRET_LEN];
	const struct survive_grant g = { .handle = { s->handle,
		sizeof s->handle },
		.secret = { secret, sizeof secret },
		.seconds = s->terms.seconds,
		.bytes = s->terms.bytes };
	int r;

	if ((r = fd_set_nonblock(s->talk, true)) == 0 &&
	    (r = begin(s, secret)) == 0) {
		buf_put_bool(out, true);
		survive_put_grant(out, &g);
		s->talk_watch = loop_watch(s->loop, s->talk, LOOP_READ,
		    on_talk, s);
		r = s->talk_watch == NULL ? ERR_NOMEM :
					    monitor_answer(s->m, out);
	}
	if (r == 0)
		r = fd_send_fds(s->m->fd, &theirs, 1);
	fd_close(&theirs);
	explicit_bzero(secret, sizeof secret);
	return r;
}

int
monitor_on_survive(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_survive *s = m->survive;
	struct survive_terms asked = { .seconds = rd_u32(in),
		.bytes = rd_u32(in) };
	int theirs, r = rd_end(in);

	if (r != 0)
		return r;
	/* If a directory or a table is full, the session goes on, but does not
	 * survive its connection. */
	if (s == NULL || s->listening != -1 || asked.seconds == 0 ||
	    asked.bytes == 0 || prepare(s, &theirs) != 0) {
		buf_put_bool(out, false);
		return 0;
	}
	s->terms = (struct survive_terms){
		.seconds = MIN(asked.seconds,
		    (uint32_t)m->login->conf.login.survive.time_s),
		.bytes = MIN(asked.bytes,
		    (uint32_t)m->login->conf.login.survive.memory),
	};
	return grant(s, theirs, out);
}

void
monitor_survive_end(struct monitor *m)
{
	struct monitor_survive *s = m->survive;

	if (s == NULL)
		return;
	clear_asker(s);
	loop_cancel(s->loop, s->timer);
	loop_cancel(s->loop, s->kill_timer);
	loop_unwatch(s->loop, s->talk_watch);
	loop_unwatch(s->loop, s->watch);
	s->watch = NULL;
	if (s->listening != -1)
		rendezvous_forget(s->dir, s->handle);
	fd_close(&s->talk);
	fd_close(&s->listening);
	fd_close(&s->slots);
	fd_close(&s->dir);
	survive_keys_clear(&s->keys);
	buf_clear(&s->hostkey);
	mem_free_secret(s, sizeof *s);
	m->survive = NULL;
}
