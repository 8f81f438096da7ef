/* SPDX-License-Identifier: ISC */
/*
 * The connections of a remote host: their states, and when each of them may log
 * in.
 *
 * DESIGN. The first connection may ask the user, and learns the host key.
 * Further connections only make a copy faster: no transfer waits for them, and
 * they must not trouble the server. OpenSSH's servers count logins that fail or
 * are broken off, and refuse an address that has too many (PerSourcePenalties).
 * Therefore
 * - no further connection logs in before the first one has; those that were
 *   begun early wait until then (CONN_STANDBY);
 * - where it is not certain that the server will let further connections in,
 *   only one at a time tries;
 * - when one of them is refused, those that have not tried yet are given up.
 */
#include "base/clock.h"
#include "client/copy/remote-internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/report/report.h"
#include "xfer/streams/streams-early.h"

enum {
	/* Per connection; MaxSessions of OpenSSH's servers is 10. */
	STREAMS_MAX = 8,
	CONNS_MAX = 64,
	/* Connections that may log in at the same time: servers limit the
	 * number that are not logged in (MaxStartups). */
	LOGGING_IN_MAX = 4,
	FINISH_MS = 2000,
	FINISH_STEP_MS = 100,
	/* A host that has not answered by then counts as absent. */
	ANSWER_MS = 1000,
};

/* ---- states ------------------------------------------------------------- */

#define TO(state) (1u << (state))
static const unsigned next_states[CONN_STATES] = {
	[CONN_PLANNED] = TO(CONN_STANDBY) | TO(CONN_LOGGING_IN) |
	    TO(CONN_PIPED) | TO(CONN_ENDED),
	[CONN_STANDBY] = TO(CONN_LOGGING_IN) | TO(CONN_ENDED),
	[CONN_LOGGING_IN] = TO(CONN_READY) | TO(CONN_ENDED),
	[CONN_READY] = TO(CONN_FULL) | TO(CONN_ENDED),
	[CONN_FULL] = TO(CONN_ENDED),
	[CONN_PIPED] = 0,
	[CONN_ENDED] = 0,
};
#undef TO

bool
remote_conn_may_become(enum conn_state from, enum conn_state to)
{
	return (next_states[from] & 1u << to) != 0;
}

static void
become(struct conn *conn, enum conn_state state)
{
	ENSURE(remote_conn_may_become(conn->state, state));
	conn->state = state;
	conn->since_ms = clock_ms();
}

bool
remote_conn_is_up(const struct conn *conn)
{
	return conn->state == CONN_READY || conn->state == CONN_FULL;
}

/* True once the connection's login has succeeded or failed, or was given up. */
static bool
has_login_result(const struct conn *conn)
{
	return remote_conn_is_up(conn) || conn->state == CONN_PIPED ||
	    conn->state == CONN_ENDED;
}

static bool
awaits_login(const struct conn *conn)
{
	return conn->state == CONN_PLANNED || conn->state == CONN_STANDBY;
}

bool
remote_conn_is_logging_in(const struct conn *conn)
{
	if (conn->state != CONN_LOGGING_IN)
		return false;
	return sshclient_is_answered(conn->client) ||
	    (clock_ms() - conn->since_ms < ANSWER_MS &&
		tcp_rtt_us(sshclient_fd(conn->client)) > 0);
}

bool
remote_conn_limit_reached(const struct remote *r)
{
	const struct conn *c;
	unsigned n = 0;

	TAILQ_FOREACH(c, &r->conns, entry)
		n += c->state != CONN_ENDED;
	return n >= CONNS_MAX;
}

struct conn *
remote_conn_least_used(const struct remote *r, uint64_t among)
{
	struct conn *c, *least = NULL;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (c->state == CONN_READY && (among == 0 ||
			(c->number < 64 && (among >> c->number & 1) != 0)) &&
		    c->streams < (least != NULL ? least->streams : STREAMS_MAX))
			least = c;
	return least;
}

/* ---- the end ------------------------------------------------------------ */

/* An error after which the next login would end in the same way. */
static bool
is_refusal(const struct conn *conn, int err)
{
	static const int refusals[] = { ERR_DENIED, ERR_HOSTKEY, ERR_REVOKED,
		ERR_NO_KEX_MATCH, ERR_NO_HOSTKEY_MATCH, ERR_NO_CIPHER_MATCH,
		ERR_NO_MAC_MATCH, ERR_NO_COMP_MATCH };

	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		if (err == refusals[i])
			return true;
	/* The server ended the connection after too many failed tries. */
	return err == ERR_DISCONNECTED && conn->state == CONN_LOGGING_IN &&
	    conn->client != NULL && sshclient_was_refused(conn->client);
}

/* The error with which the streams of a connection end. When TCP gives up
 * because nothing is acknowledged, err is ERR_SYSTEM with ETIMEDOUT: a timeout,
 * too. */
static int
stream_error(const struct conn *conn, int err)
{
	if (err == ERR_TIMEOUT || (err == ERR_SYSTEM && errno == ETIMEDOUT))
		return ERR_TIMEOUT;
	return is_refusal(conn, err) ? ERR_DENIED : ERR_CLOSED;
}

/* Ends all connections that have not tried to log in; their streams end with
 * err. */
static void
give_up_others(struct remote *r, int err)
{
	struct conn *c;

	TAILQ_FOREACH(c, &r->conns, entry) {
		if (!awaits_login(c))
			continue;
		log_debug("connection %u is given up", c->number);
		become(c, CONN_ENDED);
		remote_streams_end(c, err);
	}
}

static void
end_conn(struct conn *conn, int err)
{
	bool refused = !remote_conn_is_up(conn);

	if (conn->state == CONN_ENDED)
		return;
	if (conn->number == 0)
		remote_note_end(err);
	if (is_refusal(conn, err) && conn->client != NULL &&
	    sshclient_lost_its_root(conn->client)) {
		log_debug("the ticket of connection %u has ended",
		    conn->number);
		err = ERR_CLOSED;
		refused = false;
	}
	err = stream_error(conn, err);
	if (refused && conn->number > 0)
		log_debug("connection %u is refused", conn->number);
	become(conn, CONN_ENDED);
	conn->r->no_further = conn->r->no_further || refused;
	remote_streams_end(conn, err);
	if (refused)
		give_up_others(conn->r, ERR_CLOSED);
	loop_again(conn->r->p.loop);
}

void
remote_conn_refuse_sessions(struct conn *conn)
{
	if (conn->state != CONN_READY)
		return;
	log_debug("connection %u takes no further channel", conn->number);
	become(conn, CONN_FULL);
}

/* ---- what a connection reports ------------------------------------------ */

/* The login is expected to succeed, so the connection's streams begin. The
 * packet that tells this may come in the same turn of the loop in which the
 * connection was given up. */
static int
on_login_expected(void *arg)
{
	struct conn *conn = arg;

	return conn->state == CONN_ENDED ? ERR_CANCELLED :
	    remote_streams_login_expected(conn);
}

/* Is the first one's login worth tickets for others, or will it be? */
static bool
is_worth_tickets(const struct conn *first)
{
	return first->state == CONN_LOGGING_IN ?
	    sshclient_expects_tickets(first->client) :
	    sshclient_further(first->client) == SSHCLIENT_FURTHER_LATER;
}

/* Begins the further connections that log in by tickets: they connect and
 * exchange keys while the tickets are under way, and before the first file asks
 * for a connection. */
static void
connect_by_ticket(const struct conn *first)
{
	struct remote *r = first->r;
	uint64_t rtt_us = tcp_rtt_us(sshclient_fd(first->client));

	if (r->conn_count == 1 &&
	    xfer_streams_early(rtt_us, r->p.bulk, r->p.connections) > 0 &&
	    is_worth_tickets(first) && remote_connect_early(r, rtt_us) != 0)
		log_debug("no further connections could be begun");
}

/* Saves the round trip of the server's verdict about a code. After a wrong one
 * the further connections wait for the next. They are not begun before a code
 * was sent: they would wait while the user looks for it, and count for the
 * server's MaxStartups. */
void
remote_conn_expect_tickets(struct remote *r)
{
	const struct conn *first = remote_first(r);

	if (first != NULL && first->state == CONN_LOGGING_IN &&
	    first->client != NULL)
		connect_by_ticket(first);
}

static int
on_login_done(void *arg)
{
	struct conn *conn = arg;

	if (conn->state == CONN_ENDED)
		return ERR_CANCELLED;
	become(conn, CONN_READY);
	remote_report_begin(conn);
	if (conn->number > 0)
		log_debug("connection %u is ready", conn->number);
	else
		connect_by_ticket(conn);
	remote_conn_log_in_next(conn->r);
	return remote_streams_login_done(conn);
}

static void
on_ended(void *arg, int err)
{
	end_conn(arg, err);
}

/* ---- life --------------------------------------------------------------- */

struct conn *
remote_conn_add(struct remote *r)
{
	struct conn *conn = xcalloc(1, sizeof *conn);

	conn->r = r;
	conn->number = r->conn_count++;
	TAILQ_INSERT_TAIL(&r->conns, conn, entry);
	return conn;
}

void
remote_conn_remove(struct conn *conn)
{
	TAILQ_REMOVE(&conn->r->conns, conn, entry);
	report_conn_end(conn->recorded);
	sshclient_free(conn->client);
	remote_master_free(conn->piped);
	free(conn);
}

void
remote_conn_remove_left(struct remote *r)
{
	struct conn *conn, *next;

	for (conn = TAILQ_FIRST(&r->conns); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, entry);
		if (conn->number > 0 && conn->state == CONN_ENDED &&
		    conn->streams == 0)
			remote_conn_remove(conn);
	}
}

int
remote_conn_connect(struct conn *conn, bool standby)
{
	struct remote *r = conn->r;
	struct sshclient_params params = {
		.conf = &r->conf,
		.loop = r->p.loop,
		.need_none = r->p.clear,
		.keep_answer = true,
		.watched = r->p.watched,
		.measured = r->p.report != NULL,
		.proxy_may_ask = r->default_limit,
		.back = conn->number == 0 ? r->p.back : NULL,
		/* -A: only the first forwards the agent */
		.private_forwards = conn->number == 0,
		.first = conn->number > 0 ? remote_first(r)->client : NULL,
		.keys_only = standby,
		.arg = conn,
		/* Not beside a master: while nothing was sent for a stream, the
		 * master can still carry it if this connection is refused. */
		.send_optimistic =
		    remote_first(r)->piped != NULL ? NULL : on_login_expected,
		.ready = on_login_done,
		.ended = on_ended,
	};
	int err;

	become(conn, standby ? CONN_STANDBY : CONN_LOGGING_IN);
	if ((err = sshclient_new(&conn->client, &params)) != 0)
		end_conn(conn, err);
	return err;
}

void
remote_conn_use_pipe(struct conn *conn)
{
	become(conn, CONN_PIPED);
	remote_report_begin(conn);
}

/* ---- who may log in ----------------------------------------------------- */

static bool
further_is_up(const struct remote *r)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (c->number > 0 && remote_conn_is_up(c))
			return true;
	return false;
}

/* The number of further connections that may try to log in at the same time. */
static unsigned
logins_max(const struct remote *r)
{
	switch (sshclient_further(remote_first(r)->client)) {
	case SSHCLIENT_FURTHER_LIKELY:
		return LOGGING_IN_MAX;
	case SSHCLIENT_FURTHER_ONE:
		return 1;
	case SSHCLIENT_FURTHER_POSSIBLE:
		return further_is_up(r) ? LOGGING_IN_MAX : 1;
	case SSHCLIENT_FURTHER_LATER:
	case SSHCLIENT_FURTHER_NEVER:
		break;
	}
	return 0;
}

static bool
somebody_awaits(const struct remote *r)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (awaits_login(c))
			return true;
	return false;
}

/* Gives up all further connections: what the user did for the first login can't
 * be repeated without asking, so the server never hears of a second login. */
static void
stay_with_one(struct remote *r)
{
	static const char why[] = "what this login asked for is not good for "
				  "another one";
	const struct conn *c;
	bool was_demoted;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (awaits_login(c)) {
			log_verbose("%s: everything goes over one connection",
			    why);
			was_demoted = log_demote(true);
			log_error("%s", why);
			(void)log_demote(was_demoted);
			break;
		}
	give_up_others(r, ERR_DENIED);
}

static void
log_in(struct conn *conn)
{
	int err;

	if (conn->state == CONN_PLANNED) {
		(void)!remote_conn_connect(conn, false);
		return;
	}
	become(conn, CONN_LOGGING_IN);
	if ((err = sshclient_log_in(conn->client)) != 0)
		end_conn(conn, err);
}

/* True while another login may follow: where lost connections are made again,
 * while a login is under way or planned, and until as many connections as the
 * user asked for were made. For so long the user's answer is kept. */
static bool
may_log_in_again(const struct remote *r)
{
	const struct conn *c;

	if (r->p.watched)
		return true;
	TAILQ_FOREACH(c, &r->conns, entry)
		if (awaits_login(c) || c->state == CONN_LOGGING_IN)
			return true;
	return !r->no_further &&
	    (r->p.connections == 0 || r->conn_count < r->p.connections);
}

void
remote_conn_log_in_next(struct remote *r)
{
	struct conn *first = remote_first(r), *c;
	unsigned n = 0, most;

	if (first == NULL || first->client == NULL || !has_login_result(first))
		return;
	most = somebody_awaits(r) ? logins_max(r) : 0;
	if (most == 0 && somebody_awaits(r)) {
		if (sshclient_further(first->client) ==
		    SSHCLIENT_FURTHER_LATER)
			return;
		stay_with_one(r);
	}
	TAILQ_FOREACH(c, &r->conns, entry)
		n += c->state == CONN_LOGGING_IN;
	TAILQ_FOREACH(c, &r->conns, entry) {
		if (n >= most)
			break;
		if (!awaits_login(c))
			continue;
		log_in(c);
		n++;
	}
	if (!may_log_in_again(r))
		sshclient_forget_answer(first->client);
}

/* Waits, at the end of a copy, for logins that are under way. OpenSSH's servers
 * count each login that is broken off with a penalty of a second, and refuse
 * for a while an address that had several in a row. */
void
remote_conn_finish_logins(struct remote *r)
{
	uint64_t now = clock_ms(), until = now + FINISH_MS;
	const struct conn *first = remote_first(r), *conn;

	if (first == NULL || (!remote_conn_is_up(first) &&
	    first->state != CONN_PIPED))
		return;
	for (; now < until; now = clock_ms()) {
		TAILQ_FOREACH(conn, &r->conns, entry)
			if (conn != first && remote_conn_is_logging_in(conn))
				break;
		if (conn == NULL || loop_turn(r->p.loop, FINISH_STEP_MS) < 0)
			return;
	}
}
