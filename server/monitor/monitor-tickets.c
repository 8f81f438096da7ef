/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-tickets.h"

#include <signal.h>
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
#include "keys/key.h"
#include "server/monitor/login-before.h"
#include "server/monitor/monitor-grants.h"
#include "server/monitor/monitor.h"
#include "server/monitor/rendezvous-wire.h"
#include "server/monitor/rendezvous.h"
#include "server/monitor/ticket-rules.h"
#include "server/monitor/ticket-table.h"

/* The monitor of another connection. It keeps this socket open for as long as
 * its connection lives. */
struct child {
	struct monitor_tickets *t;
	struct loop_fd *watch;
	int fd; /* -1: none */
};

/* The state of the connection for which these tickets were made. */
enum root {
	ROOT_LIVE,
	ROOT_LOST,    /* the connection is lost, and its client may come back;
		       * the user's process still runs */
	ROOT_LINGERS, /* as ROOT_LOST, but the user's process has ended: only
		       * this monitor waits for the client */
	ROOT_GONE,    /* the client came back elsewhere, or all has ended: no
		       * ticket is good */
	ROOTS,
};

struct monitor_tickets {
	struct monitor *m;
	struct loop *loop;
	int dir, listening; /* listening: socket for other monitors; -1: no
			     * ticket was issued yet */
	struct loop_fd *watch;
	uint8_t handle[RENDEZVOUS_HANDLE_LEN];
	struct buf hostkey; /* blob of the host key; the keys themselves may be
			     * freed by now */
	enum root root;
	struct ticket_table table;
	struct monitor_grants *grants; /* NULL: none was asked for yet */
	struct child children[SERVER_TICKETS_MAX];
	struct child heir; /* the connection that has taken the place of this
			    * one */
	/* The monitor of the login whose place this one took, as long as the
	 * ticket for that is not spent. */
	struct child before;
	struct loop_timer *timer;
};

enum { ARRIVED_MS = 15 * 1000 };

/* ---- monitors that are talked to ---------------------------------------- */

static void
keep(struct child *c, int fd, loop_fd_fn fn)
{
	c->fd = fd;
	c->watch = loop_watch(c->t->loop, fd, LOOP_READ, fn, c);
	if (c->watch == NULL)
		fatal("out of memory");
}

static void
drop(struct child *c)
{
	if (c->fd != -1)
		loop_unwatch(c->t->loop, c->watch);
	fd_close(&c->fd);
}

/* Tells the other monitor, if there is one, and closes the socket. An older
 * monitor learns that its ticket is spent, a newer one that another connection
 * has taken its place. */
static void
tell(struct child *c)
{
	if (c->fd != -1)
		(void)!send(c->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	drop(c);
}

/* ---- life --------------------------------------------------------------- */

#define TO(root) (1u << (root))
static const unsigned next_roots[ROOTS] = {
	[ROOT_LIVE] = TO(ROOT_LOST) | TO(ROOT_GONE),
	[ROOT_LOST] = TO(ROOT_LINGERS) | TO(ROOT_GONE),
	[ROOT_LINGERS] = TO(ROOT_GONE),
	[ROOT_GONE] = 0,
};
#undef TO

static void
become(struct monitor_tickets *t, enum root root)
{
	ENSURE((next_roots[t->root] & 1u << root) != 0);
	t->root = root;
}

unsigned
monitor_ticket_traits(const struct monitor *m)
{
	const struct login *l = m->login;

	return l->shown.methods |
	    (l->instead ? (unsigned)TICKET_BY_INSTEAD : 0) |
	    (l->must_change ? (unsigned)TICKET_MUST_CHANGE : 0) |
	    (!m->sftp_only && (l->permits.command != NULL ||
				      l->conf.session.force_command != NULL) ?
		(unsigned)TICKET_FORCED : 0) |
	    (l->conf.session.chroot_directory != NULL ?
		(unsigned)TICKET_CHROOTED : 0) |
	    (l->grant.path != NULL ? (unsigned)TICKET_BY_GRANT : 0) |
	    (m->sftp_only ? (unsigned)TICKET_SFTP_ONLY : 0);
}

void
monitor_tickets_prepare(struct monitor *m)
{
	struct monitor_tickets *t;
	int dir;

	if ((!m->login->conf.login.login_tickets.enabled &&
		m->login->conf.login.transfer_grants == 0) ||
	    m->login->shown.n > RENDEZVOUS_PROOFS_MAX ||
	    m->login->hostkey.len == 0 ||
	    (!ticket_rules_may(monitor_ticket_traits(m), TICKET_BESIDE) &&
		!ticket_rules_may(monitor_ticket_traits(m), TICKET_GRANT)) ||
	    rendezvous_open(&dir) != 0)
		return;
	t = xcalloc(1, sizeof *t);
	t->m = m;
	t->dir = dir;
	buf_put(&t->hostkey, m->login->hostkey.p, m->login->hostkey.len);
	if (buf_err(&t->hostkey) != 0)
		fatal("out of memory");
	t->listening = -1;
	for (size_t i = 0; i < ARRAY_LEN(t->children); i++)
		t->children[i] = (struct child){ .t = t, .fd = -1 };
	t->heir = t->before = (struct child){ .t = t, .fd = -1 };
	m->tickets = t;
}

/* The monitor of the login whose place this one took has sent that its client
 * came back over another connection, or has ended. */
static void
on_before(void *arg, int fd, int events)
{
	struct child *c = arg;
	uint8_t byte;
	bool told = read(fd, &byte, sizeof byte) > 0;

	(void)events;
	drop(c);
	if (!told)
		return;
	become(c->t, ROOT_GONE);
	loop_stop(c->t->loop);
}

void
monitor_tickets_begin(struct monitor *m, struct loop *loop)
{
	struct monitor_tickets *t = m->tickets;

	if (t == NULL)
		return;
	t->loop = loop;
	if (!m->login->instead)
		return;
	keep(&t->before, m->login->ticket_fd, on_before);
	m->login->ticket_fd = -1;
}

/* Wipes all tickets, and removes the monitor's name from the directory. */
static void
end(struct monitor *m)
{
	struct monitor_tickets *t = m->tickets;

	if (t == NULL)
		return;
	loop_cancel(t->loop, t->timer);
	if (t->listening != -1) {
		rendezvous_forget(t->dir, t->handle);
		loop_unwatch(t->loop, t->watch);
	}
	for (size_t i = 0; i < ARRAY_LEN(t->children); i++)
		drop(&t->children[i]);
	drop(&t->heir);
	drop(&t->before);
	monitor_grants_free(t->grants);
	fd_close(&t->listening);
	fd_close(&t->dir);
	ticket_table_clear(&t->table);
	buf_clear(&t->hostkey);
	mem_free_secret(t, sizeof *t);
	m->tickets = NULL;
}

/* ---- a monitor that asks ------------------------------------------------ */

static void
on_child_end(void *arg, int fd, int events)
{
	struct child *c = arg;
	uint8_t byte;

	(void)events;
	if (read(fd, &byte, sizeof byte) <= 0) /* nothing is asked twice */
		drop(c);
}

/* A free element for a further connection; NULL: there are as many as are
 * allowed. */
static struct child *
free_child(struct monitor_tickets *t)
{
	int most = t->m->login->conf.login.login_tickets.connections;

	for (int i = 0; i < most; i++)
		if (t->children[i].fd == -1)
			return &t->children[i];
	return NULL;
}

static bool
is_bound(const struct monitor_tickets *t, const struct rendezvous_question *q)
{
	const struct login *l = t->m->login;

	return q->uid == (uint32_t)l->user->uid &&
	    span_equals(q->user, l->name) &&
	    key_blobs_same_identity(q->hostkey, buf_span(&t->hostkey));
}

static enum rendezvous_verdict
judge_ticket(struct monitor_tickets *t, const struct rendezvous_question *q)
{
	static const enum rendezvous_verdict verdicts[] = {
		[TICKET_GOOD] = RENDEZVOUS_GOOD,
		[TICKET_UNKNOWN] = RENDEZVOUS_UNKNOWN,
		[TICKET_EXPIRED] = RENDEZVOUS_EXPIRED,
		[TICKET_WRONG] = RENDEZVOUS_WRONG,
	};
	const struct login *l = t->m->login;
	enum rendezvous_verdict v = verdicts[ticket_table_redeem(&t->table,
	    q->serial, q->kind, q->data, q->proof, clock_boot_ms())];

	if (v != RENDEZVOUS_GOOD)
		return v;
	if (!is_bound(t, q))
		return RENDEZVOUS_WRONG;
	if (l->conf.login.login_tickets.address != SERVER_TICKET_ANY_ADDRESS &&
	    !span_equals(q->address, t->m->peer.address))
		return RENDEZVOUS_ADDRESS;
	return q->kind == TICKET_INSTEAD || free_child(t) != NULL ?
	    RENDEZVOUS_GOOD : RENDEZVOUS_TOO_MANY;
}

static enum rendezvous_verdict
judge(struct monitor_tickets *t, const struct rendezvous_question *q,
    struct buf *scope)
{
	if (q->kind != TICKET_GRANT)
		return judge_ticket(t, q);
	if (t->grants == NULL || t->root != ROOT_LIVE)
		return RENDEZVOUS_UNKNOWN;
	return is_bound(t, q) ?
	    monitor_grants_judge(t->grants, q,
		t->m->login->conf.session.chroot_directory, scope) :
	    RENDEZVOUS_WRONG;
}

static int
answer_question(struct monitor_tickets *t, int fd, const struct buf *question,
    char *good)
{
	struct rendezvous_answer a = { .verdict = RENDEZVOUS_OTHER_VERSION };
	struct rendezvous_question q;
	struct buf out, scope = { 0 };
	int r = rendezvous_get_question(rd_from_buf(question), &q);

	if (r == 0)
		a.verdict = judge(t, &q, &scope);
	else if (r != ERR_UNSUPPORTED)
		return r;
	*good = a.verdict == RENDEZVOUS_GOOD ? q.kind : '\0';
	a.scope = buf_span(&scope);
	r = buf_err(&scope);
	if (r == 0 && *good != '\0')
		r = login_before_tell(t->m->login, &a);
	buf_init_secret(&out);
	rendezvous_put_answer(&out, &a);
	if (r == 0)
		r = rendezvous_answer(fd, &out);
	buf_clear(&out);
	buf_clear(&scope);
	log_verbose("A ticket of this session was shown: %s",
	    rendezvous_verdict_text(a.verdict));
	return r;
}

/* The connection in our place has sent that our ticket is spent; or it has
 * ended before, and the client may come back by the same ticket. */
static void
on_heir(void *arg, int fd, int events)
{
	struct child *c = arg;
	uint8_t byte;

	(void)events;
	if (read(fd, &byte, sizeof byte) > 0) {
		ticket_table_spend(&c->t->table);
		if (c->t->root == ROOT_LINGERS)
			loop_stop(c->t->loop);
	}
	drop(c);
}

/* Our client has come back over another connection. This one ends, and so does
 * one over which it had come back before. */
static void
give_way(struct monitor_tickets *t, int fd)
{
	tell(&t->before);
	tell(&t->heir);
	keep(&t->heir, fd, on_heir);
	if (t->root == ROOT_LIVE)
		become(t, ROOT_LOST);
	if (t->root == ROOT_LOST)
		loop_stop(t->loop);
}

static void
on_asked(void *arg, int fd, int events)
{
	struct monitor_tickets *t = arg;
	struct buf question;
	struct child *c;
	char good = '\0';
	int asker, r;

	(void)events;
	buf_init_secret(&question);
	r = rendezvous_accept(fd, &asker, &question);
	if (r == 0)
		r = answer_question(t, asker, &question, &good);
	buf_clear(&question);
	if (r != 0)
		log_verbose("rendezvous: %s", err_text(r));
	if (r == 0 && good == TICKET_INSTEAD)
		give_way(t, asker);
	else if (r == 0 && good == TICKET_BESIDE &&
	    (c = free_child(t)) != NULL)
		keep(c, asker, on_child_end);
	else if (r == 0 && good == TICKET_GRANT)
		monitor_grants_keep(t->grants, asker);
	else
		fd_close(&asker);
}

/* ---- a connection that is lost ------------------------------------------ */

int
monitor_on_lost(struct monitor *m, struct rd *in, struct buf *out)
{
	(void)out;
	if (m->tickets != NULL && m->tickets->root == ROOT_LIVE)
		become(m->tickets, ROOT_LOST);
	return rd_end(in);
}

bool
monitor_tickets_gave_way(const struct monitor *m)
{
	const struct monitor_tickets *t = m->tickets;

	return t != NULL && (t->root == ROOT_GONE || t->heir.fd != -1);
}

void
monitor_tickets_stop(struct monitor *m, bool told_to_end)
{
	struct monitor_tickets *t = m->tickets;

	if (t == NULL)
		return;
	ticket_table_lose(&t->table);
	/* Copies that other machines make by a grant need their client, so they
	 * end here, even if the client may come back. */
	monitor_grants_free(t->grants);
	t->grants = NULL;
	if (t->root == ROOT_LOST && !told_to_end && !m->state.once &&
	    ticket_table_has_instead(&t->table, clock_boot_ms()))
		return;
	/* If the connection was lost before its client got a ticket here, the
	 * client may still come back by the ticket that it used for this
	 * connection. */
	if (t->root == ROOT_LIVE || told_to_end)
		tell(&t->before);
	end(m);
}

static void
on_time(void *arg)
{
	struct monitor_tickets *t = arg;

	t->timer = NULL;
	loop_stop(t->loop);
}

static void
on_end_signal(void *arg, int signo)
{
	struct monitor_tickets *t = arg;

	(void)signo;
	loop_stop(t->loop);
}

void
monitor_tickets_linger(struct monitor *m)
{
	struct monitor_tickets *t = m->tickets;
	int seconds = m->login->conf.login.login_tickets.linger_s;

	if (t == NULL)
		return;
	loop_cancel(t->loop, t->timer);
	become(t, ROOT_LINGERS);
	proc_title("%s [lost]", m->login->name);
	log_verbose("The session of %s from %s may be taken up again for %d s",
	    m->login->shown_name, m->peer_text, seconds);
	if (loop_on_signal(t->loop, SIGTERM, on_end_signal, t) != 0 ||
	    loop_on_signal(t->loop, SIGHUP, on_end_signal, t) != 0 ||
	    (t->timer = loop_after(t->loop, (uint64_t)seconds * 1000, on_time,
		 t)) == NULL)
		fatal("out of memory");
	if (ticket_table_has_instead(&t->table, clock_boot_ms()))
		(void)!loop_run(t->loop);
	end(m);
}

/* ---- the user's process that asks --------------------------------------- */

static int
listen_once(struct monitor_tickets *t)
{
	int r;

	if (t->listening != -1)
		return 0;
	r = rendezvous_listen(t->dir, t->handle, &t->listening);
	if (r != 0)
		return r;
	t->watch = loop_watch(t->loop, t->listening, LOOP_READ, on_asked, t);
	if (t->watch == NULL)
		fatal("out of memory");
	return 0;
}

struct monitor_grants *
monitor_tickets_grants(struct monitor *m, uint8_t *name)
{
	struct monitor_tickets *t = m->tickets;

	if (t == NULL || t->root != ROOT_LIVE ||
	    m->login->conf.login.transfer_grants == 0 ||
	    !ticket_rules_may(monitor_ticket_traits(m), TICKET_GRANT) ||
	    listen_once(t) != 0)
		return NULL;
	if (t->grants == NULL)
		t->grants = monitor_grants_new(t->loop);
	memcpy(name, t->handle, TICKET_HANDLE_LEN);
	return t->grants;
}

struct monitor_grants *
monitor_tickets_given(const struct monitor *m)
{
	return m->tickets != NULL ? m->tickets->grants : NULL;
}

/* Seconds for which a new ticket of that kind is good. */
static uint32_t
seconds_of(const struct login *l, char kind)
{
	const struct server_tickets *conf = &l->conf.login.login_tickets;
	uint64_t age = (clock_boot_ms() - l->shown.at_ms) / 1000;

	return kind == TICKET_BESIDE ? (uint32_t)conf->lifetime_s :
	    (uint32_t)((uint64_t)conf->max_age_s - age);
}

/* Makes a ticket and appends it as docs/PROTOCOL.md says. */
static int
mint(struct monitor_tickets *t, char kind, struct buf *out)
{
	const struct login *l = t->m->login;
	const struct ticket_binding b = { .session_id = l->session_id,
		.hostkey = buf_span(&t->hostkey),
		.user = l->name };
	uint32_t seconds = seconds_of(l, kind);
	uint8_t name[TICKET_NAME_LEN], secret[TICKET_SECRET_LEN];
	int r;

	memcpy(name, t->handle, TICKET_HANDLE_LEN);
	r = ticket_table_mint(&t->table, &b, kind,
	    clock_boot_ms() + (uint64_t)seconds * 1000,
	    name + TICKET_HANDLE_LEN, secret);
	if (r == 0) {
		buf_put_string(out, name, sizeof name);
		buf_put_string(out, secret, sizeof secret);
		buf_put_u8(out, (uint8_t)kind);
		buf_put_u32(out, seconds);
	}
	explicit_bzero(name, sizeof name);
	explicit_bzero(secret, sizeof secret);
	return r;
}

/* True if the login may get tickets now. */
static bool
may_mint(struct monitor_tickets *t)
{
	const struct login *l = t->m->login;
	uint64_t age = (clock_boot_ms() - l->shown.at_ms) / 1000;

	return t->root == ROOT_LIVE && l->conf.login.login_tickets.enabled &&
	    ticket_rules_may(monitor_ticket_traits(t->m), TICKET_BESIDE) &&
	    age < (uint64_t)l->conf.login.login_tickets.max_age_s &&
	    listen_once(t) == 0;
}

/* The number of tickets to give for connections beside this one, of those asked
 * for: no more than connections that may still be made by tickets, so that none
 * is refused for that. */
static uint32_t
how_many(struct monitor_tickets *t, uint32_t asked)
{
	const struct server_tickets *conf =
	    &t->m->login->conf.login.login_tickets;
	size_t most = (size_t)conf->connections;

	ticket_table_expire(&t->table, clock_boot_ms());
	for (size_t i = 0; i < ARRAY_LEN(t->children) && most > 0; i++)
		most -= t->children[i].fd != -1;
	most = MIN(most, (size_t)conf->max);
	return t->table.n >= most ? 0 :
	    MIN(asked, (uint32_t)(most - t->table.n));
}

/* True if there may be a ticket for the place of this connection. */
static bool
may_come_back(const struct monitor_tickets *t)
{
	return t->m->login->conf.login.login_tickets.linger_s > 0 &&
	    ticket_rules_may(monitor_ticket_traits(t->m), TICKET_INSTEAD);
}

static void
on_arrived(void *arg)
{
	struct monitor_tickets *t = arg;

	t->timer = NULL;
	if (t->root == ROOT_LIVE)
		tell(&t->before);
}

/* The new ticket to come back with was sent. If the connection is lost soon,
 * the client may come back by this one or by the older one, so the older one is
 * spent later, when the new one has surely arrived. */
static void
arrive_later(struct monitor_tickets *t)
{
	loop_cancel(t->loop, t->timer);
	t->timer = loop_after(t->loop, ARRIVED_MS, on_arrived, t);
	if (t->timer == NULL)
		fatal("out of memory");
}

int
monitor_on_tickets(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_tickets *t = m->tickets;
	uint32_t asked = rd_u32(in), instead = rd_u32(in), n = 0;
	int r = rd_end(in);
	bool back = false;

	if (r != 0)
		return r;
	if (t != NULL && may_mint(t)) {
		n = how_many(t, asked);
		back = instead > 0 && may_come_back(t);
	}
	buf_put_u32(out, n + back);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = mint(t, TICKET_BESIDE, out);
	if (r == 0 && back)
		r = mint(t, TICKET_INSTEAD, out);
	if (back)
		arrive_later(t);
	if (n + back > 0)
		log_verbose("%u tickets for further connections were issued%s",
		    (unsigned)n, back ? ", and one to come back with" : "");
	return r;
}
