/* SPDX-License-Identifier: ISC */
/*
 * Connections of a copy beside a master's: when they log in, and what becomes
 * of their streams where they are refused.
 */
#include "regress/unit/remote-fakes.h"

static struct remote *
begin_beside(unsigned connections, uint64_t bulk)
{
	struct remote *r;

	f.master = f.identity = true;
	f.connections = connections;
	f.bulk = bulk;
	r = begin(SSHCLIENT_FURTHER_POSSIBLE);
	assert_int_equal(f.piped, 1);
	assert_state(r, 0, CONN_PIPED);
	return r;
}

static int
finish_beside(struct remote *r)
{
	int status = finish(r);

	f.master = f.identity = false;
	f.connections = 0;
	f.bulk = 0;
	return status;
}

/* One tries, then the others; nothing is sent before there is a login. */
static void
test_beside_master(void **state)
{
	struct remote *r = begin_beside(4, 0);
	struct xfer_streams streams = remote_streams(r);
	struct xfer_stream_stats path;

	(void)state;
	streams.ops->path(streams.arg, remote_sftp(r), &path);
	assert_int_equal(path.rtt_us, 30000);
	for (int i = 1; i < 4; i++)
		assert_non_null(open_stream(r, XFER_STREAM_CONNECTION));
	turn();
	assert_state(r, 1, CONN_LOGGING_IN);
	assert_state(r, 2, CONN_PLANNED);
	assert_null(f.clients[1]->p.send_optimistic);
	assert_ptr_equal(f.clients[1]->p.first, f.clients[0]);
	client_login(f.clients[1]);
	turn();
	assert_state(r, 1, CONN_READY);
	assert_state(r, 3, CONN_LOGGING_IN);
	client_login(f.clients[2]);
	client_login(f.clients[3]);
	assert_int_equal(f.piped, 1);
	assert_int_equal(f.sessions_made, 3);
	/* A channel of one of them, not a session of the master. */
	assert_non_null(open_stream(r, XFER_STREAM_CHANNEL));
	assert_int_equal(f.piped, 1);
	assert_int_equal(finish_beside(r), 0);
}

/* Streams that the user asked for are the master's sessions then. */
static void
test_refused_beside_master(void **state)
{
	struct remote *r = begin_beside(4, 0);
	struct xfer_streams streams = remote_streams(r);
	struct sftp *more[3], *last;

	(void)state;
	for (int i = 0; i < 3; i++)
		more[i] = open_stream(r, XFER_STREAM_CONNECTION);
	turn();
	client_end(f.clients[1]);
	turn();
	assert_int_equal(f.piped, 4);
	assert_int_equal(f.clients_made, 2);
	assert_state(r, 1, CONN_ENDED);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sftp_error(more[i]), 0);
	/* A late answer changes nothing, and then there is none. */
	assert_int_equal(f.clients[1]->p.ready(f.clients[1]->p.arg),
	    ERR_CANCELLED);
	streams.ops->turn(streams.arg, 0);
	assert_null(f.clients[1]);
	assert_null(conn_number(r, 1));
	/* From now on nothing else is tried. */
	last = open_stream(r, XFER_STREAM_CONNECTION);
	turn();
	assert_int_equal(f.piped, 5);
	assert_int_equal(f.clients_made, 2);
	close_stream(r, last);
	close_stream(r, more[1]);
	assert_int_equal(f.piped, 3);
	assert_int_equal(finish_beside(r), 0);
}

/* If the server refuses connections that were begun only because they should
 * make the copy faster, they end, and the copy goes on without them. */
static void
test_refused_bonus_beside_master(void **state)
{
	struct remote *r = begin_beside(0, 1 << 30);
	struct sftp *s;

	(void)state;
	assert_state(r, 3, CONN_PLANNED); /* long path, much to do */
	turn();
	assert_int_equal(f.clients_made, 2);
	s = open_stream(r, XFER_STREAM_CONNECTION);
	client_end(f.clients[1]);
	turn();
	assert_int_equal(sftp_error(s), ERR_CLOSED);
	assert_int_equal(f.piped, 1);
	assert_int_equal(f.clients_made, 2);
	assert_int_equal(sftp_error(remote_sftp(r)), 0);
	assert_int_equal(finish_beside(r), 0);
}

/* Nor can the master carry them: they fail as others do. */
static void
test_refused_by_all(void **state)
{
	struct remote *r = begin_beside(2, 0);
	struct sftp *s = open_stream(r, XFER_STREAM_CONNECTION);

	(void)state;
	turn();
	f.master = false;
	client_end(f.clients[1]);
	turn();
	assert_int_equal(sftp_error(s), ERR_CLOSED);
	close_stream(r, s);
	assert_int_equal(finish_beside(r), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_master),
		cmocka_unit_test(test_refused_beside_master),
		cmocka_unit_test(test_refused_bonus_beside_master),
		cmocka_unit_test(test_refused_by_all),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
