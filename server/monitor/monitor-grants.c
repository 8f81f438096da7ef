/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-grants.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/queue.h"
#include "keys/key.h"
#include "server/monitor/grant-table.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor-tickets.h"
#include "server/monitor/monitor.h"

enum { TAKE_BACK_MS = 1000, RECEIPT_DIGEST_LEN = 32 };

/* The monitor of a connection by a grant. */
struct granted {
	TAILQ_ENTRY(granted) entry;
	struct monitor_grants *mg;
	struct loop_fd *watch;
	int fd;
	uint8_t serial[TICKET_SERIAL_LEN]; /* of its grant */
};

/* A grant that was given, and may be over; of it the client may say once what
 * receipt it has. */
struct given {
	uint8_t serial[TICKET_SERIAL_LEN];
	char *key; /* fingerprint, owned; NULL: there is none */
};

struct monitor_grants {
	struct loop *loop;
	struct given given[GRANTS_MAX];
	unsigned next_given;
	struct grant_table table;
	TAILQ_HEAD(granted_list, granted) list;
	unsigned n; /* of them */
	uint8_t serial[TICKET_SERIAL_LEN]; /* of the grant that was used last */
};

/* ---- who gives grants --------------------------------------------------- */

struct monitor_grants *
monitor_grants_new(struct loop *loop)
{
	struct monitor_grants *mg = xcalloc(1, sizeof *mg);

	mg->loop = loop;
	TAILQ_INIT(&mg->list);
	return mg;
}

static void
drop(struct granted *g)
{
	struct monitor_grants *mg = g->mg;

	TAILQ_REMOVE(&mg->list, g, entry);
	mg->n--;
	loop_unwatch(mg->loop, g->watch);
	fd_close(&g->fd);
	free(g);
}

void
monitor_grants_free(struct monitor_grants *mg)
{
	struct granted *g;

	if (mg == NULL)
		return;
	while ((g = TAILQ_FIRST(&mg->list)) != NULL)
		drop(g);
	grant_table_clear(&mg->table);
	for (size_t i = 0; i < GRANTS_MAX; i++)
		free(mg->given[i].key);
	free(mg);
}

enum rendezvous_verdict
monitor_grants_judge(struct monitor_grants *mg,
    const struct rendezvous_question *q, const char *chroot_directory,
    struct buf *scope)
{
	const uint64_t now_ms = clock_boot_ms();
	struct grant_scope one; /* borrowed from g */
	const struct grant *g;
	enum rendezvous_verdict v;

	/* This is the most that all grants of a full table can have made.
	 * Without the limit, new grants could be given for ever while
	 * connections by old ones stay. */
	if (mg->n >= GRANTS_MAX * GRANT_CONNECTIONS_MAX)
		return RENDEZVOUS_TOO_MANY;
	v = grant_table_redeem(&mg->table, q->serial, q->data, q->proof,
	    q->address, now_ms, &g);
	if (v != RENDEZVOUS_GOOD)
		return v;
	memcpy(mg->serial, g->serial, sizeof mg->serial);
	one = g->scope;
	one.bytes = g->part.bytes;
	one.files = g->part.files;
	one.deletes = g->part.deletes;
	grant_scope_put(scope, &one);
	buf_put_u64(scope, g->end_ms - now_ms);
	buf_put_cstring(scope,
	    chroot_directory != NULL ? chroot_directory : "");
	return v;
}

static void
on_granted_end(void *arg, int fd, int events)
{
	uint8_t byte;

	(void)events;
	if (read(fd, &byte, sizeof byte) <= 0) /* nothing is asked twice */
		drop(arg);
}

void
monitor_grants_keep(struct monitor_grants *mg, int fd)
{
	struct granted *g = xcalloc(1, sizeof *g);

	g->mg = mg;
	g->fd = fd;
	memcpy(g->serial, mg->serial, sizeof g->serial);
	g->watch = loop_watch(mg->loop, fd, LOOP_READ, on_granted_end, g);
	if (g->watch == NULL)
		fatal("out of memory");
	TAILQ_INSERT_HEAD(&mg->list, g, entry);
	mg->n++;
}

/* Logs the grant, and keeps what a receipt of it is about. */
static void
note_grant(struct monitor *m, struct monitor_grants *mg,
    const struct grant_request *q, const uint8_t *serial)
{
	struct given *g = &mg->given[mg->next_given++ % GRANTS_MAX];
	struct key *k = NULL;

	free(g->key);
	memcpy(g->serial, serial, sizeof g->serial);
	g->key = key_from_blob(q->key, &k) == 0 ?
	    key_fingerprint(k, DIGEST_SHA256) : NULL;
	key_free(k);
	log_info("Grant of %s for key %s: rights 0x%x below \"%s\" for %u s, "
		 "%u connections%s%s",
	    m->login->shown_name, g->key != NULL ? g->key : "?",
	    q->scope.rights, q->scope.path, (unsigned)q->life_s,
	    (unsigned)q->connections, q->address[0] != '\0' ? " from " : "",
	    q->address);
	monitor_events_grant(m->events, q);
}

/* Gives the wanted grant if it is allowed. *given: it was given, and name is
 * its name. */
static int
give(struct monitor *m, const struct grant_request *q,
    uint8_t name[TICKET_NAME_LEN], bool *given)
{
	const struct login *l = m->login;
	struct monitor_grants *mg;
	int r;

	*given = false;
	if (!grant_request_fits(q) ||
	    !grant_rights_allowed(q->scope.rights,
		(unsigned)l->conf.login.transfer_grants) ||
	    (mg = monitor_tickets_grants(m, name)) == NULL)
		return 0;
	r = grant_table_mint(&mg->table, q, clock_boot_ms(),
	    name + TICKET_HANDLE_LEN);
	*given = r == 0;
	if (*given)
		note_grant(m, mg, q, name + TICKET_HANDLE_LEN);
	return r == ERR_LIMIT ? 0 : r;
}

int
monitor_on_grant(struct monitor *m, struct rd *in, struct buf *out)
{
	struct grant_request q = { .address = NULL };
	uint8_t name[TICKET_NAME_LEN];
	bool given = false;
	int r = grant_request_get(in, &q);

	if (r == 0)
		r = give(m, &q, name, &given);
	if (r == 0)
		buf_put_string(out, name, given ? sizeof name : 0);
	grant_request_clear(&q);
	return r;
}

/* ---- a grant that is taken back ----------------------------------------- */

/* Asks the monitors of connections by a grant to end these, and puts their
 * sockets, which are open as long as they are, into fds. Returns how many. */
static int
end_all(struct monitor_grants *mg, const uint8_t *serial,
    struct pollfd fds[GRANT_CONNECTIONS_MAX])
{
	struct granted *g;
	int n = 0;

	TAILQ_FOREACH(g, &mg->list, entry) {
		if (memcmp(g->serial, serial, sizeof g->serial) != 0 ||
		    n == GRANT_CONNECTIONS_MAX)
			continue;
		(void)shutdown(g->fd, SHUT_WR);
		fds[n++] = (struct pollfd){ .fd = g->fd, .events = POLLIN };
	}
	return n;
}

/* Removes those that have ended. */
static void
drop_ended(struct monitor_grants *mg, const struct pollfd *fds, int n)
{
	struct granted *g, *next;

	for (int i = 0; i < n; i++)
		for (g = TAILQ_FIRST(&mg->list); g != NULL; g = next) {
			next = TAILQ_NEXT(g, entry);
			if (g->fd == fds[i].fd && fds[i].revents != 0)
				on_granted_end(g, g->fd, LOOP_READ);
		}
}

/* Ends a grant and waits for the end of all connections by it, for a while: a
 * session that the disk holds up takes its time. True: all have ended. */
static bool
take_back(struct monitor_grants *mg, struct span serial)
{
	const uint64_t until_ms = clock_boot_ms() + TAKE_BACK_MS;
	struct pollfd fds[GRANT_CONNECTIONS_MAX];
	uint64_t now_ms;
	int n;

	grant_table_end(&mg->table, serial);
	while ((n = end_all(mg, serial.p, fds)) > 0 &&
	    (now_ms = clock_boot_ms()) < until_ms)
		if (poll(fds, (nfds_t)n, (int)(until_ms - now_ms)) > 0)
			drop_ended(mg, fds, n);
	return n == 0;
}

int
monitor_on_grant_end(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_grants *mg = monitor_tickets_given(m);
	struct span name = rd_string(in);
	int r = rd_end(in);
	bool over = true;

	if (r == 0 && name.len != TICKET_NAME_LEN)
		r = ERR_FORMAT;
	if (r == 0 && mg != NULL)
		over = take_back(mg,
		    (struct span){ name.p + TICKET_HANDLE_LEN,
			TICKET_SERIAL_LEN });
	if (r == 0)
		buf_put_bool(out, over);
	return r;
}

/* ---- a receipt ---------------------------------------------------------- */

int
monitor_on_receipt(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_grants *mg = monitor_tickets_given(m);
	struct span name = rd_string(in), digest = rd_string(in);
	int r = rd_end(in);
	char *text;

	(void)out;
	if (r == 0 && (name.len != TICKET_NAME_LEN ||
			  digest.len != RECEIPT_DIGEST_LEN))
		r = ERR_FORMAT;
	for (size_t i = 0; r == 0 && mg != NULL && i < GRANTS_MAX; i++) {
		struct given *g = &mg->given[i];

		if (g->key == NULL ||
		    memcmp(g->serial, name.p + TICKET_HANDLE_LEN,
			sizeof g->serial) != 0)
			continue;
		text = str_hex(digest.p, digest.len);
		if (text != NULL)
			monitor_events_receipt(m->events, g->key, text);
		free(text);
		free(g->key);
		g->key = NULL;
	}
	return r;
}

/* ---- a connection by a grant -------------------------------------------- */

static void
end_granted(struct monitor *m, const char *why)
{
	log_info("The connection of %s from %s by a grant ends: %s",
	    m->login->shown_name, m->peer_text, why);
	m->granted.over = true;
	loop_stop(m->granted.loop);
}

static void
on_giver(void *arg, int fd, int events)
{
	struct monitor *m = arg;

	(void)fd;
	(void)events;
	end_granted(m, "the login that gave it has ended");
}

static void
on_time(void *arg)
{
	struct monitor *m = arg;

	m->granted.timer = NULL;
	end_granted(m, "its time is over");
}

void
monitor_granted_begin(struct monitor *m, struct loop *loop)
{
	const struct login *l = m->login;
	uint64_t now_ms = clock_boot_ms();

	if (l->grant.path == NULL)
		return;
	m->granted.loop = loop;
	m->granted.watch = loop_watch(loop, l->ticket_fd, LOOP_READ, on_giver,
	    m);
	m->granted.timer = loop_after(loop,
	    l->grant_end_ms > now_ms ? l->grant_end_ms - now_ms : 0, on_time,
	    m);
	if (m->granted.watch == NULL || m->granted.timer == NULL)
		fatal("out of memory");
}

bool
monitor_granted_over(const struct monitor *m)
{
	return m->granted.over;
}

void
monitor_granted_end(struct monitor *m)
{
	if (m->granted.loop == NULL)
		return;
	loop_cancel(m->granted.loop, m->granted.timer);
	loop_unwatch(m->granted.loop, m->granted.watch);
	m->granted.loop = NULL;
}
