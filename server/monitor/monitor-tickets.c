/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-tickets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "server/monitor/monitor.h"
#include "server/monitor/rendezvous-wire.h"
#include "server/monitor/rendezvous.h"
#include "server/monitor/ticket-rules.h"
#include "server/monitor/ticket-table.h"

/* A connection that a ticket has made. Its monitor keeps the socket open. */
struct child {
	struct monitor_tickets *t;
	struct loop_fd *watch;
	int fd; /* -1: none */
};

struct monitor_tickets {
	struct monitor *m;
	struct loop *loop;
	int dir, listening; /* listening -1: no ticket was issued yet */
	struct loop_fd *watch;
	uint8_t handle[RENDEZVOUS_HANDLE_LEN];
	struct ticket_table table;
	struct child children[SERVER_TICKETS_MAX];
};

/* ---- life --------------------------------------------------------------- */

static unsigned
traits_of(const struct monitor *m)
{
	const struct login *l = m->login;

	return l->shown_methods |
	    (l->must_change ? (unsigned)TICKET_MUST_CHANGE : 0) |
	    (l->permits.command != NULL ||
			l->conf.session.force_command != NULL ?
		(unsigned)TICKET_FORCED : 0) |
	    (l->conf.session.chroot_directory != NULL ?
		(unsigned)TICKET_CHROOTED : 0) |
	    (m->sftp_only ? (unsigned)TICKET_SFTP_ONLY : 0);
}

void
monitor_tickets_prepare(struct monitor *m)
{
	struct monitor_tickets *t;
	int dir;

	if (!m->login->conf.login.login_tickets.enabled ||
	    m->login->n_proofs > RENDEZVOUS_PROOFS_MAX ||
	    m->login->hostkey.len == 0 ||
	    !ticket_rules_may(traits_of(m), TICKET_BESIDE) ||
	    rendezvous_open(&dir) != 0)
		return;
	t = xcalloc(1, sizeof *t);
	t->m = m;
	t->dir = dir;
	t->listening = -1;
	for (size_t i = 0; i < ARRAY_LEN(t->children); i++)
		t->children[i] = (struct child){ .t = t, .fd = -1 };
	m->tickets = t;
}

void
monitor_tickets_begin(struct monitor *m, struct loop *loop)
{
	if (m->tickets != NULL)
		m->tickets->loop = loop;
}

void
monitor_tickets_end(struct monitor *m)
{
	struct monitor_tickets *t = m->tickets;

	if (t == NULL)
		return;
	if (t->listening != -1) {
		rendezvous_forget(t->dir, t->handle);
		loop_unwatch(t->loop, t->watch);
	}
	for (size_t i = 0; i < ARRAY_LEN(t->children); i++) {
		if (t->children[i].fd != -1)
			loop_unwatch(t->loop, t->children[i].watch);
		fd_close(&t->children[i].fd);
	}
	fd_close(&t->listening);
	fd_close(&t->dir);
	ticket_table_clear(&t->table);
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
	if (read(fd, &byte, sizeof byte) > 0)
		return; /* nothing is asked twice */
	loop_unwatch(c->t->loop, c->watch);
	fd_close(&c->fd);
}

/* A place for one more connection; NULL: there are as many as may be. */
static struct child *
free_child(struct monitor_tickets *t)
{
	int most = t->m->login->conf.login.login_tickets.connections;

	for (int i = 0; i < most; i++)
		if (t->children[i].fd == -1)
			return &t->children[i];
	return NULL;
}

static enum rendezvous_verdict
judge(struct monitor_tickets *t, const struct rendezvous_question *q)
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
	if (q->uid != (uint32_t)l->user->uid ||
	    !span_equals(q->user, l->name) ||
	    q->hostkey.len != l->hostkey.len ||
	    memcmp(q->hostkey.p, l->hostkey.p, q->hostkey.len) != 0)
		return RENDEZVOUS_WRONG;
	if (l->conf.login.login_tickets.address != SERVER_TICKET_ANY_ADDRESS &&
	    !span_equals(q->address, t->m->peer.address))
		return RENDEZVOUS_ADDRESS;
	return free_child(t) != NULL ? RENDEZVOUS_GOOD : RENDEZVOUS_TOO_MANY;
}

/* Fills in what was shown. */
static int
fill_proofs(const struct login *l, struct rendezvous_answer *a)
{
	struct rd r = rd_from_buf(&l->proofs);

	while (a->n < l->n_proofs) {
		a->proofs[a->n].method = rd_string(&r);
		a->proofs[a->n++].key = rd_string(&r);
	}
	a->age_s = (clock_boot_ms() - l->proven_ms) / 1000;
	a->pid = (uint32_t)getpid();
	a->auth_info = buf_span(&l->auth_info);
	return rd_end(&r);
}

static int
answer_question(struct monitor_tickets *t, int fd, const struct buf *question,
    bool *good)
{
	struct rendezvous_answer a = { .verdict = RENDEZVOUS_OTHER_VERSION };
	struct rendezvous_question q;
	struct buf out;
	int r = rendezvous_get_question(rd_from_buf(question), &q);

	if (r == 0)
		a.verdict = judge(t, &q);
	else if (r != ERR_UNSUPPORTED)
		return r;
	*good = a.verdict == RENDEZVOUS_GOOD;
	r = *good ? fill_proofs(t->m->login, &a) : 0;
	buf_init_secret(&out);
	rendezvous_put_answer(&out, &a);
	if (r == 0)
		r = rendezvous_answer(fd, &out);
	buf_clear(&out);
	log_verbose("A ticket of this session was shown: %s",
	    rendezvous_verdict_text(a.verdict));
	return r;
}

static void
on_asked(void *arg, int fd, int events)
{
	struct monitor_tickets *t = arg;
	struct buf question;
	struct child *c;
	bool good = false;
	int asker, r;

	(void)events;
	buf_init_secret(&question);
	r = rendezvous_accept(fd, &asker, &question);
	if (r == 0)
		r = answer_question(t, asker, &question, &good);
	buf_clear(&question);
	if (r != 0)
		log_verbose("rendezvous: %s", err_text(r));
	if (r == 0 && good && (c = free_child(t)) != NULL) {
		c->fd = asker;
		c->watch = loop_watch(t->loop, asker, LOOP_READ, on_child_end,
		    c);
		if (c->watch == NULL)
			fatal("out of memory");
		return;
	}
	fd_close(&asker);
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

/* Appends one ticket as docs/PROTOCOL.md has it. */
static int
mint(struct monitor_tickets *t, struct buf *out)
{
	const struct login *l = t->m->login;
	const struct ticket_binding b = { .session_id = l->session_id,
		.hostkey = l->hostkey,
		.user = l->name };
	uint32_t seconds = (uint32_t)l->conf.login.login_tickets.lifetime_s;
	uint8_t name[TICKET_NAME_LEN], secret[TICKET_SECRET_LEN];
	int r;

	memcpy(name, t->handle, TICKET_HANDLE_LEN);
	r = ticket_table_mint(&t->table, &b, TICKET_BESIDE,
	    clock_boot_ms() + (uint64_t)seconds * 1000,
	    name + TICKET_HANDLE_LEN, secret);
	if (r == 0) {
		buf_put_string(out, name, sizeof name);
		buf_put_string(out, secret, sizeof secret);
		buf_put_u8(out, TICKET_BESIDE);
		buf_put_u32(out, seconds);
	}
	explicit_bzero(name, sizeof name);
	explicit_bzero(secret, sizeof secret);
	return r;
}

/* How many tickets may be minted now of those that are asked for. */
static uint32_t
how_many(struct monitor_tickets *t, uint32_t asked)
{
	const struct server_tickets *conf =
	    &t->m->login->conf.login.login_tickets;

	ticket_table_expire(&t->table, clock_boot_ms());
	if ((clock_boot_ms() - t->m->login->proven_ms) / 1000 >=
		(uint64_t)conf->max_age_s ||
	    t->table.n >= (size_t)conf->max || listen_once(t) != 0)
		return 0;
	return MIN(asked, (uint32_t)((size_t)conf->max - t->table.n));
}

int
monitor_on_tickets(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_tickets *t = m->tickets;
	uint32_t asked = rd_u32(in), n;
	int r = rd_end(in);

	if (r != 0)
		return r;
	n = t != NULL ? how_many(t, asked) : 0;
	buf_put_u32(out, n);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = mint(t, out);
	if (n > 0)
		log_verbose("%u tickets for further connections were issued",
		    (unsigned)n);
	return r;
}
