/* SPDX-License-Identifier: ISC */
/*
 * The states of a remote host's connections and streams: their tables, and
 * that no order of events leads to a step which the tables forbid.
 */
#include "regress/unit/dice.h"
#include "regress/unit/remote-fakes.h"

#include <errno.h>

enum { RUNS = 2000, EVENTS = 120 };

/* As remote_open() does it on a long path. */
static struct stream *
begin_early(struct remote *r)
{
	struct stream *stream;

	if (remote_stream_add_connected(r, &stream) != 0)
		return NULL;
	stream->unclaimed = true;
	(void)!remote_conn_connect(stream->conn, true);
	return stream;
}

/* ---- the tables --------------------------------------------------------- */

static const char *const conn_steps[CONN_STATES] = {
	/* to: PLANNED STANDBY LOGGING_IN READY FULL PIPED ENDED */
	[CONN_PLANNED] = ".xx..xx",
	[CONN_STANDBY] = "..x...x",
	[CONN_LOGGING_IN] = "...x..x",
	[CONN_READY] = "....x.x",
	[CONN_FULL] = "......x",
	[CONN_PIPED] = ".......",
	[CONN_ENDED] = ".......",
};

static const char *const stream_steps[STREAM_STATES] = {
	/* to: QUEUED OPTIMISTIC OPEN PIPED ENDED */
	[STREAM_QUEUED] = ".xxxx",
	[STREAM_OPTIMISTIC] = "..x.x",
	[STREAM_OPEN] = "....x",
	[STREAM_PIPED] = ".....",
	[STREAM_ENDED] = ".....",
};

static void
test_tables(void **state)
{
	(void)state;
	for (int from = 0; from < CONN_STATES; from++)
		for (int to = 0; to < CONN_STATES; to++)
			assert_int_equal(remote_conn_may_become(from, to),
			    conn_steps[from][to] == 'x');
	for (int from = 0; from < STREAM_STATES; from++)
		for (int to = 0; to < STREAM_STATES; to++)
			assert_int_equal(remote_stream_may_become(from, to),
			    stream_steps[from][to] == 'x');
}

/* In any number of steps. The states are in such an order that steps only
 * go to higher ones. */
static bool
leads_to(const char *const *steps, int count, int from, int to)
{
	if (from == to)
		return true;
	for (int next = from + 1; next < count; next++)
		if (steps[from][next] == 'x' &&
		    leads_to(steps, count, next, to))
			return true;
	return false;
}

/* Every state can be reached, and all but those of other processes can end. */
static void
test_ways(void **state)
{
	(void)state;
	for (int s = 0; s < CONN_STATES; s++) {
		assert_true(leads_to(conn_steps, CONN_STATES, 0, s));
		assert_int_equal(
		    leads_to(conn_steps, CONN_STATES, s, CONN_ENDED),
		    s != CONN_PIPED);
	}
	for (int s = 0; s < STREAM_STATES; s++) {
		assert_true(leads_to(stream_steps, STREAM_STATES, 0, s));
		assert_int_equal(
		    leads_to(stream_steps, STREAM_STATES, s, STREAM_ENDED),
		    s != STREAM_PIPED);
	}
}

/* ---- single cases ------------------------------------------------------- */

/* An further connection that was begun early logs in after the first. */
static void
test_standby(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);
	struct stream *early = begin_early(r);

	(void)state;
	turn();
	assert_state(r, 0, CONN_LOGGING_IN);
	assert_state(r, 1, CONN_STANDBY);
	assert_true(f.clients[1]->p.keys_only);
	client_login(f.clients[0]);
	assert_state(r, 0, CONN_READY);
	assert_state(r, 1, CONN_LOGGING_IN);
	assert_false(f.clients[1]->p.keys_only);
	/* Who requests a connection gets this one. */
	assert_ptr_equal(open_stream(r, XFER_STREAM_CONNECTION), early->sftp);
	assert_int_equal(r->conn_count, 2);
	assert_non_null(open_stream(r, XFER_STREAM_CONNECTION));
	assert_int_equal(r->conn_count, 3);
	assert_int_equal(finish(r), 0);
}

/* With the right hint the session is requested before the login's answer. */
static void
test_optimistic(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);

	(void)state;
	assert_int_equal(TAILQ_FIRST(&r->streams)->state, STREAM_QUEUED);
	assert_int_equal(
	    f.clients[0]->p.send_optimistic(f.clients[0]->p.arg), 0);
	assert_int_equal(TAILQ_FIRST(&r->streams)->state, STREAM_OPTIMISTIC);
	assert_true(f.sessions[0]->p.attach_later);
	assert_true(f.sessions[0]->optimistic);
	assert_false(f.sessions[0]->attached);
	client_login(f.clients[0]);
	assert_int_equal(TAILQ_FIRST(&r->streams)->state, STREAM_OPEN);
	assert_true(f.sessions[0]->attached);
	assert_int_equal(f.sessions_made, 1);
	session_close(f.sessions[0]);
	assert_int_equal(TAILQ_FIRST(&r->streams)->state, STREAM_ENDED);
	/* The connection's end does not replace the exit status. */
	client_end(f.clients[0]);
	assert_int_equal(finish(r), 7);
}

/* Where it is not certain that others are let in, one at a time tries; when
 * it is refused, so are all. */
static void
test_one_at_a_time(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_POSSIBLE);
	struct sftp *s[3];

	(void)state;
	client_login(f.clients[0]);
	for (int i = 0; i < 3; i++)
		s[i] = open_stream(r, XFER_STREAM_CONNECTION);
	turn();
	assert_state(r, 1, CONN_LOGGING_IN);
	assert_state(r, 2, CONN_PLANNED);
	client_end(f.clients[1]);
	turn();
	assert_int_equal(f.clients_made, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_state(r, i + 1, CONN_ENDED);
		assert_int_equal(sftp_error(s[i]), ERR_CLOSED);
	}
	assert_state(r, 0, CONN_READY);
	assert_int_equal(finish(r), 0);
}

/* Once one was let in, several try at a time, but not all. */
static void
test_some_at_a_time(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_POSSIBLE);

	(void)state;
	client_login(f.clients[0]);
	for (int i = 0; i < 8; i++)
		assert_non_null(open_stream(r, XFER_STREAM_CONNECTION));
	turn();
	assert_int_equal(f.clients_made, 2);
	client_login(f.clients[1]);
	assert_int_equal(f.clients_made, 6);
	turn();
	assert_int_equal(f.clients_made, 6);
	client_login(f.clients[2]);
	assert_int_equal(f.clients_made, 7);
	assert_int_equal(finish(r), 0);
}

/* The login took an answer that cannot be given again. */
static void
test_never(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_NEVER);
	struct sftp *s = open_stream(r, XFER_STREAM_CONNECTION);

	(void)state;
	client_login(f.clients[0]);
	assert_int_equal(sftp_error(s), ERR_DENIED);
	assert_string_equal(log_demoted_error(),
	    "what this login asked for is not good for another one");
	assert_state(r, 1, CONN_ENDED);
	assert_int_equal(f.clients_made, 1);
	assert_int_equal(finish(r), 0);
}

/* What a session ends with tells whether another connection would end so, too.
 */
static void
test_refusals(void **state)
{
	static const struct {
		int err;
		bool refused;
		int ends_with, number; /* errno */
		bool lost_root;
	} t[] = {
		{ ERR_CLOSED, true, ERR_CLOSED, 0, false },
		{ ERR_CLOSED, false, ERR_CLOSED, ETIMEDOUT, false },
		{ ERR_SYSTEM, false, ERR_CLOSED, ECONNRESET, false },
		{ ERR_SYSTEM, false, ERR_TIMEOUT, ETIMEDOUT, false },
		{ ERR_MAC, false, ERR_CLOSED, 0, false },
		{ ERR_TIMEOUT, false, ERR_TIMEOUT, 0, false },
		{ ERR_DENIED, true, ERR_DENIED, 0, false },
		{ ERR_DENIED, true, ERR_CLOSED, 0, true },
		{ ERR_HOSTKEY, false, ERR_DENIED, 0, false },
		{ ERR_NO_CIPHER_MATCH, false, ERR_DENIED, 0, false },
		/* As for too many connections; and for too many failures. */
		{ ERR_DISCONNECTED, false, ERR_CLOSED, 0, false },
		{ ERR_DISCONNECTED, true, ERR_DENIED, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);
		struct sshclient *c = f.clients[0];
		struct sftp *s = remote_sftp(r);

		c->refused = t[i].refused;
		c->ended = true;
		f.lost_root = t[i].lost_root;
		errno = t[i].number;
		c->p.ended(c->p.arg, t[i].err);
		assert_int_equal(sftp_error(s), t[i].ends_with);
		assert_int_equal(finish(r), REMOTE_EXIT_ERROR);
	}
}

/* A server that refuses a session is not asked for another one. */
static void
test_full(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);

	(void)state;
	assert_null(open_stream(r, XFER_STREAM_CHANNEL));
	client_login(f.clients[0]);
	assert_non_null(open_stream(r, XFER_STREAM_CHANNEL));
	session_close(f.sessions[1]);
	assert_state(r, 0, CONN_FULL);
	assert_null(open_stream(r, XFER_STREAM_CHANNEL));
	assert_int_equal(TAILQ_FIRST(&r->streams)->state, STREAM_OPEN);
	assert_int_equal(finish(r), 0);
}

/* While it logs in a connection stays, even without streams: its end would
 * count as a failed login. */
static void
test_closed_while_logging_in(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);
	struct sftp *s;

	(void)state;
	client_login(f.clients[0]);
	s = open_stream(r, XFER_STREAM_CONNECTION);
	turn();
	f.answered = true;
	close_stream(r, s);
	assert_state(r, 1, CONN_LOGGING_IN);
	client_login(f.clients[1]);
	assert_state(r, 1, CONN_READY);
	/* Channels find room on it. */
	assert_non_null(s = open_stream(r, XFER_STREAM_CHANNEL));
	assert_int_equal(conn_number(r, 1)->streams, 1);
	close_stream(r, s);
	assert_null(conn_number(r, 1));
	assert_int_equal(finish(r), 0);
}

/* A channel is of one of the connections that are named, though another has
 * fewer streams: it may idle. */
static void
test_channel_among(void **state)
{
	struct remote *r = begin(SSHCLIENT_FURTHER_LIKELY);
	struct xfer_streams streams = remote_streams(r);
	const uint64_t first = 1, none = UINT64_C(1) << 63;
	struct sftp *s;

	(void)state;
	client_login(f.clients[0]);
	assert_non_null(open_stream(r, XFER_STREAM_CONNECTION));
	turn();
	client_login(f.clients[1]);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(streams.ops->open(streams.arg,
				     XFER_STREAM_CHANNEL, first, &s), 0);
		assert_int_equal(conn_number(r, 0)->streams, 2 + i);
	}
	assert_int_equal(streams.ops->open(streams.arg, XFER_STREAM_CHANNEL,
			     none, &s), ERR_LIMIT);
	assert_non_null(open_stream(r, XFER_STREAM_CHANNEL));
	assert_int_equal(conn_number(r, 1)->streams, 2);
	assert_int_equal(finish(r), 0);
}

/* ---- any order of events ------------------------------------------------ */

static struct dice dice;

static void
client_event(struct sshclient *c)
{
	int err;

	if (c == NULL || c->ended)
		return;
	if (dice_below(&dice, 8) == 0) {
		client_end(c);
	} else if (!c->p.keys_only && !c->ready && dice_below(&dice, 2) == 0) {
		client_login(c);
	} else if (!c->p.keys_only && !c->ready && !c->expected) {
		c->expected = true;
		err = c->p.send_optimistic(c->p.arg);
		if (err != 0 && !c->ended)
			client_end(c);
	}
}

static void
session_event(struct session *s)
{
	if (s == NULL || !s->has_channel)
		return;
	switch (dice_below(&dice, 4)) {
	case 0:
		session_close(s);
		break;
	case 1:
		s->p.io->end(s->p.io_arg);
		break;
	case 2: /* the server refuses to start the program */
		if (!s->finished) {
			s->finished = true;
			s->p.ended(s->p.arg);
		}
		break;
	default:
		break;
	}
}

static void
stream_event(struct remote *r)
{
	struct xfer_streams streams = remote_streams(r);
	struct stream *stream = TAILQ_FIRST(&r->streams);
	struct xfer_stream_stats stats;

	for (unsigned n = dice_below(&dice, 8); n > 0 && stream != NULL; n--)
		stream = TAILQ_NEXT(stream, entry);
	if (stream == NULL)
		return;
	streams.ops->path(streams.arg, stream->sftp, &stats);
	assert_int_equal(stats.connection, stream->conn->number);
	if (dice_below(&dice, 3) == 0)
		close_stream(r, stream->sftp);
}

static void
one_event(struct remote *r)
{
	f.answered = dice_below(&dice, 2) == 0;
	switch (dice_below(&dice, 16)) {
	case 0:
		f.fail_client = true;
		break;
	case 1:
		f.fail_release = true;
		break;
	case 2:
		f.fail_session = true;
		break;
	case 3:
		if (remote_first(r)->state == CONN_LOGGING_IN)
			(void)begin_early(r);
		break;
	case 4:
	case 5:
		(void)open_stream(r, XFER_STREAM_CONNECTION);
		break;
	case 6:
	case 7:
		(void)open_stream(r, XFER_STREAM_CHANNEL);
		break;
	case 8:
		stream_event(r);
		break;
	case 9:
	case 10:
		if (f.sessions_made > 0)
			session_event(
			    f.sessions[dice_below(&dice, f.sessions_made)]);
		break;
	case 11:
		turn();
		break;
	default:
		client_event(f.clients[dice_below(&dice, f.clients_made)]);
		break;
	}
}

static void
check_stream(const struct stream *stream)
{
	enum conn_state conn = stream->conn->state;

	switch (stream->state) {
	case STREAM_QUEUED:
		assert_null(stream->session);
		assert_true(conn < CONN_READY);
		break;
	case STREAM_OPTIMISTIC:
		assert_non_null(stream->session);
		assert_int_equal(conn, CONN_LOGGING_IN);
		break;
	case STREAM_OPEN:
		assert_non_null(stream->session);
		assert_true(conn == CONN_READY || conn == CONN_FULL);
		break;
	default:
		assert_int_equal(stream->state, STREAM_ENDED);
		assert_int_not_equal(sftp_error(stream->sftp), 0);
		break;
	}
	if (conn == CONN_ENDED)
		assert_int_equal(stream->state, STREAM_ENDED);
}

/* before: the states of connections by number; brought up to date. */
static void
check_all(const struct remote *r, enum conn_state *before)
{
	unsigned logging_in = 0, streams;
	const struct conn *c;
	const struct stream *s;

	assert_int_equal(remote_first(r)->number, 0);
	TAILQ_FOREACH(c, &r->conns, entry) {
		assert_true(leads_to(conn_steps, CONN_STATES,
		    (int)before[c->number], (int)c->state));
		before[c->number] = c->state;
		logging_in += c->number > 0 && c->state == CONN_LOGGING_IN;
		if (c->state != CONN_PLANNED && c->state != CONN_ENDED)
			assert_non_null(c->client);
		streams = 0;
		TAILQ_FOREACH(s, &r->streams, entry)
			streams += s->conn == c;
		assert_int_equal(c->streams, streams);
	}
	assert_true(logging_in <= 4);
	if (remote_first(r)->state == CONN_LOGGING_IN)
		assert_int_equal(logging_in, 0);
	TAILQ_FOREACH(s, &r->streams, entry)
		check_stream(s);
}

static void
test_any_order(void **state)
{
	unsigned reached[CONN_STATES] = { 0 };

	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		enum conn_state before[FAKES_MAX] = { CONN_PLANNED };
		struct remote *r = begin((enum sshclient_further)(run % 3));
		const struct conn *c;

		dice.state = run;
		for (int i = 0; i < EVENTS; i++) {
			one_event(r);
			check_all(r, before);
			TAILQ_FOREACH(c, &r->conns, entry)
				reached[c->state]++;
		}
		(void)finish(r);
	}
	/* The events were good for something. */
	for (int s = 0; s < CONN_STATES; s++)
		assert_int_equal(reached[s] > 0, s != CONN_PIPED);
}

/* All streams are sessions of the master, and each ends by itself. */
static void
test_master(void **state)
{
	struct remote *r;
	struct sftp *more;

	(void)state;
	f.master = true;
	r = begin(SSHCLIENT_FURTHER_LIKELY);
	more = open_stream(r, XFER_STREAM_CONNECTION);
	assert_non_null(more);
	assert_int_equal(f.piped, 2);
	assert_state(r, 0, CONN_PIPED);
	assert_state(r, 1, CONN_PIPED);
	assert_null(open_stream(r, XFER_STREAM_CHANNEL));
	turn();
	fd_close(&conn_number(r, 1)->piped->out);
	turn();
	assert_int_equal(sftp_error(more), ERR_CLOSED);
	assert_int_equal(sftp_error(remote_sftp(r)), 0);
	close_stream(r, more);
	assert_int_equal(f.piped, 1);
	/* The master takes no more of them; no connection begins instead. */
	f.master = false;
	assert_null(open_stream(r, XFER_STREAM_CONNECTION));
	assert_int_equal(f.clients_made, 0);
	fd_close(&remote_first(r)->piped->out);
	turn();
	assert_int_equal(sftp_error(remote_sftp(r)), ERR_CLOSED);
	assert_int_equal(finish(r), 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_standby),
		cmocka_unit_test(test_optimistic),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_some_at_a_time),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_closed_while_logging_in),
		cmocka_unit_test(test_channel_among),
		cmocka_unit_test(test_master),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
