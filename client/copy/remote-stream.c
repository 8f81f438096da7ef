/* SPDX-License-Identifier: ISC */
/*
 * The streams of a remote host: SFTP sessions, each on a channel of a
 * connection or through another process.
 */
#include "client/copy/remote-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "channels.h"
#include "peer-version.h"
#include "xfer/sftp/sftp-engine.h"

enum { BACKLOG_BYTES = 64 * 1024 };

/* ---- states ------------------------------------------------------------- */

#define TO(state) (1u << (state))
static const unsigned next_states[STREAM_STATES] = {
	[STREAM_QUEUED] = TO(STREAM_OPTIMISTIC) | TO(STREAM_OPEN) |
	    TO(STREAM_PIPED) | TO(STREAM_ENDED),
	[STREAM_OPTIMISTIC] = TO(STREAM_OPEN) | TO(STREAM_ENDED),
	[STREAM_OPEN] = TO(STREAM_ENDED),
	[STREAM_PIPED] = 0,
	[STREAM_ENDED] = 0,
};
#undef TO

bool
remote_stream_may_become(enum stream_state from, enum stream_state to)
{
	return (next_states[from] & 1u << to) != 0;
}

static void
become(struct stream *stream, enum stream_state state)
{
	ENSURE(remote_stream_may_become(stream->state, state));
	stream->state = state;
}

/* The channel of a stream; NULL: there is none yet, or it has ended. */
static struct channel *
channel_of(const struct stream *stream)
{
	return stream->session != NULL ? session_channel(stream->session) :
					 NULL;
}

static void
end_stream(struct stream *stream, int err)
{
	if (stream->state == STREAM_ENDED)
		return;
	become(stream, STREAM_ENDED);
	(void)!sftp_feed_end(stream->sftp, err);
}

/* ---- a session on a channel --------------------------------------------- */

static ssize_t
on_read(void *arg, uint8_t *p, size_t max)
{
	const struct stream *stream = arg;
	size_t n = sftp_take(stream->sftp, p, max);

	return n > 0 ? (ssize_t)n : ERR_AGAIN;
}

static ssize_t
on_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	const struct stream *stream = arg;
	int err = sftp_feed(stream->sftp, p, len);

	(void)ext;
	/* What sftp_step() waits for may have come with these bytes. */
	loop_again(stream->r->p.loop);
	return err < 0 ? err : (ssize_t)len;
}

static void
on_input_end(void *arg)
{
	end_stream(arg, ERR_CLOSED);
}

static const struct channel_io stream_io = {
	.read = on_read,
	.write = on_write,
	.end = on_input_end,
};

/* A session may end after its connection has, with the exit status that the
 * server sent just before. */
static void
on_session_ended(void *arg)
{
	struct stream *stream = arg;

	if (stream->first)
		stream->r->status = session_status(stream->session);
	else if (!sftp_is_ready(stream->sftp))
		remote_conn_refuse_sessions(stream->conn);
	end_stream(stream, ERR_CLOSED);
}

static int
start_session(struct stream *stream, enum stream_state state)
{
	const struct remote_params *p = &stream->r->p;
	const char *server = p->subsystem != NULL ? p->subsystem : "sftp";
	struct session_params params = {
		.command = server,
		.subsystem = strchr(server, '/') == NULL,
		.attach_later = state == STREAM_OPTIMISTIC,
		.io = &stream_io,
		.io_arg = stream,
		.ended = on_session_ended,
		.arg = stream,
	};
	int err;

	sshclient_fill(stream->conn->client, &params);
	params.quiet = params.quiet || !stream->first;
	if ((err = session_new(&stream->session, &params)) != 0)
		return err;
	become(stream, state);
	if ((params.peer_traits & PEER_TAKES_AHEAD) != 0 &&
	    stream->conn->streams == 1)
		session_open_optimistically(stream->session);
	return 0;
}

/* ---- what happens to their connection ----------------------------------- */

int
remote_streams_login_expected(struct conn *conn)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &conn->r->streams, entry)
		if (stream->conn == conn)
			return start_session(stream, STREAM_OPTIMISTIC);
	return 0;
}

static int
on_login_done(struct stream *stream)
{
	if (stream->state == STREAM_QUEUED)
		return start_session(stream, STREAM_OPEN);
	if (stream->state == STREAM_OPTIMISTIC)
		become(stream, STREAM_OPEN);
	session_attach(stream->session);
	return 0;
}

int
remote_streams_login_done(struct conn *conn)
{
	struct stream *stream;
	int err;

	TAILQ_FOREACH(stream, &conn->r->streams, entry)
		if (stream->conn == conn && (err = on_login_done(stream)) != 0)
			return err;
	return 0;
}

/* Lets a master carry a stream whose connection was refused, if the user asked
 * for several connections. True: the stream goes on as a session of the
 * master. */
static bool
is_carried(struct stream *stream)
{
	const struct remote *r = stream->r;

	return stream->state == STREAM_QUEUED &&
	    remote_first(r)->piped != NULL && r->p.connections > 1 &&
	    remote_master_carry(stream) == 0;
}

void
remote_streams_end(struct conn *conn, int err)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &conn->r->streams, entry) {
		if (stream->conn != conn || is_carried(stream))
			continue;
		/* If the channel is closed already, the session's status was
		 * noted, and counts. */
		if (stream->first && (stream->session == NULL ||
			channel_of(stream) != NULL))
			conn->r->status = REMOTE_EXIT_ERROR;
		end_stream(stream, err);
	}
}

/* ---- life --------------------------------------------------------------- */

static int
on_turn(void *arg, int timeout_ms)
{
	const struct stream *stream = arg;

	return loop_turn(stream->r->p.loop, timeout_ms);
}

/* The stream has bytes to send. Without a channel nothing needs to be done: a
 * new channel is readable when the session is attached to it. Else the loop
 * must not wait, because the connection's part of this turn may be over. */
static void
on_output(void *arg)
{
	const struct stream *stream = arg;
	struct channel *c = channel_of(stream);

	if (c == NULL)
		return;
	channel_mark_readable(c);
	loop_again(stream->r->p.loop);
}

static const struct xfer_carrier_ops carrier_ops = {
	.turn = on_turn,
	.wake = on_output,
};

int
remote_stream_add(struct stream **out, struct conn *conn)
{
	struct stream *stream = xcalloc(1, sizeof *stream);
	struct remote *r = conn->r;
	int err = sftp_new(&stream->sftp);

	if (err != 0) {
		free(stream);
		return err;
	}
	stream->r = r;
	stream->conn = conn;
	stream->pipe.fd_in = stream->pipe.fd_out = -1;
	stream->first = TAILQ_EMPTY(&r->streams) && conn->number == 0;
	conn->streams++;
	sftp_attach(stream->sftp,
	    (struct xfer_carrier){ .ops = &carrier_ops, .arg = stream });
	TAILQ_INSERT_TAIL(&r->streams, stream, entry);
	*out = stream;
	return 0;
}

static void
close_pipe(struct stream *stream)
{
	const struct conn *conn = stream->conn;
	int status = xfer_pipe_close(&stream->pipe);

	if (conn->piped != NULL)
		status = remote_master_status(conn);
	if (stream->first)
		stream->r->status = status;
}

void
remote_stream_remove(struct stream *stream)
{
	struct conn *conn = stream->conn;

	TAILQ_REMOVE(&stream->r->streams, stream, entry);
	conn->removed.sent += sftp_sent(stream->sftp);
	conn->removed.received += sftp_received(stream->sftp);
	sftp_free(stream->sftp);
	session_free(stream->session);
	if (stream->state == STREAM_PIPED)
		close_pipe(stream);
	free(stream);
	conn->streams--;
	/* A further connection is closed with its last stream. The first one
	 * stays, because further ones are made with what it knows. A root
	 * stays, because the server gives tickets over it. */
	if (conn->streams == 0 && conn->number > 0 &&
	    (conn->client == NULL || !sshclient_is_root(conn->client)) &&
	    !remote_conn_is_logging_in(conn))
		remote_conn_remove(conn);
}

int
remote_stream_add_connected(struct remote *r, struct stream **out)
{
	struct conn *conn;
	int err;

	if (remote_conn_limit_reached(r))
		return ERR_LIMIT;
	conn = remote_conn_add(r);
	if ((err = remote_stream_add(out, conn)) != 0)
		remote_conn_remove(conn);
	return err;
}

/* Adds a stream that will get a pair of descriptors. On an error conn is
 * removed. */
static int
add_piped(struct stream **out, struct conn *conn)
{
	int err = remote_stream_add(out, conn);

	if (err != 0) {
		remote_conn_remove(conn);
		return err;
	}
	remote_conn_use_pipe(conn);
	become(*out, STREAM_PIPED);
	return 0;
}

int
remote_stream_add_piped(struct stream **out, struct conn *conn,
    const int fds[2])
{
	int owned[] = { fds[0], fds[1] }, err = add_piped(out, conn);

	if (err != 0) {
		fd_close(&owned[0]);
		fd_close(&owned[1]);
		return err;
	}
	err = xfer_pipe_open(&(*out)->pipe, conn->r->p.loop, fds[0], fds[1]);
	if (err != 0) {
		bool kept = conn->number == 0;

		remote_stream_remove(*out);
		if (kept)
			remote_conn_remove(conn);
		return err;
	}
	xfer_pipe_attach(&(*out)->pipe, (*out)->sftp);
	return 0;
}

int
remote_stream_use_pipe(struct stream *stream, struct conn *conn,
    const int fds[2])
{
	int err = xfer_pipe_open(&stream->pipe, conn->r->p.loop, fds[0],
	    fds[1]);

	if (err != 0) {
		(void)xfer_pipe_close(&stream->pipe);
		stream->pipe.fd_in = stream->pipe.fd_out = -1;
		remote_conn_remove(conn);
		return err;
	}
	stream->conn->streams--;
	stream->conn = conn;
	conn->streams++;
	remote_conn_use_pipe(conn);
	become(stream, STREAM_PIPED);
	xfer_pipe_attach(&stream->pipe, stream->sftp);
	return 0;
}

int
remote_stream_spawn(struct remote *r, struct sftp **out)
{
	struct stream *stream;
	int err = add_piped(&stream, remote_conn_add(r));

	if (err != 0)
		return err;
	err = xfer_pipe_spawn(&stream->pipe, r->p.loop, r->argv.v);
	if (err != 0) {
		remote_stream_remove(stream);
		return err;
	}
	xfer_pipe_attach(&stream->pipe, stream->sftp);
	*out = stream->sftp;
	return 0;
}

/* ---- the streams of a transfer ------------------------------------------ */

static struct stream *
find_unclaimed(const struct remote *r)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &r->streams, entry)
		if (stream->unclaimed)
			return stream;
	return NULL;
}

/* Returns an unclaimed stream, if there is one, even if its connection was
 * refused meanwhile: that stream reports the refusal. Otherwise plans a new
 * connection, which begins in a later turn of the loop in which it may. */
static int
open_on_connection(struct remote *r, struct sftp **out)
{
	struct stream *stream = find_unclaimed(r);
	int err = 0;

	if (stream == NULL &&
	    (err = remote_stream_add_connected(r, &stream)) != 0)
		return err;
	stream->unclaimed = false;
	*out = stream->sftp;
	return 0;
}

static int
open_on_channel(struct remote *r, uint64_t among, struct sftp **out)
{
	struct conn *conn = remote_conn_least_used(r, among);
	struct stream *stream;
	int err;

	if (conn == NULL)
		return ERR_LIMIT;
	if ((err = remote_stream_add(&stream, conn)) != 0)
		return err;
	if ((err = start_session(stream, STREAM_OPEN)) != 0) {
		remote_stream_remove(stream);
		return err;
	}
	*out = stream->sftp;
	return 0;
}

static int
open_on_master(struct remote *r, struct sftp **out)
{
	struct stream *stream;
	int err = remote_master_add(r, &stream);

	if (err == 0)
		*out = stream->sftp;
	return err;
}

/* True if the next stream has to be a session of the master. An unclaimed
 * stream is used before: where its connection was refused, it is such a session
 * already (remote_master_carry()). */
static bool
has_only_master(const struct remote *r)
{
	const struct conn *first = remote_first(r);

	return first->piped != NULL && find_unclaimed(r) == NULL &&
	    (first->client == NULL || r->no_further);
}

static struct stream *
stream_of(const struct remote *r, const struct sftp *s)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &r->streams, entry)
		if (stream->sftp == s)
			break;
	ENSURE(stream != NULL);
	return stream;
}

static int
streams_open(void *arg, enum xfer_stream_kind kind, uint64_t among,
    struct sftp **out)
{
	struct remote *r = arg;

	if (kind == XFER_STREAM_CHANNEL)
		return open_on_channel(r, among, out);
	if (r->argv.n > 0)
		return remote_stream_spawn(r, out);
	return has_only_master(r) ? open_on_master(r, out) :
				   open_on_connection(r, out);
}

static void
streams_close(void *arg, struct sftp *s)
{
	remote_stream_remove(stream_of(arg, s));
}

/* The number of bytes that the peer has acknowledged, for the speed of the
 * path; 0 without a backlog: then the sender is the limit, and bytes of other
 * streams or of alive messages would count. */
static uint64_t
backlog_acked(int fd)
{
	struct tcp_numbers t;

	if (tcp_unsent(fd) < BACKLOG_BYTES || tcp_measure(fd, &t) != 0)
		return 0;
	return t.v[TCP_BYTES_ACKED];
}

static void
streams_path(void *arg, const struct sftp *s, struct xfer_stream_stats *out)
{
	const struct stream *stream = stream_of(arg, s);
	const struct conn *conn = stream->conn;
	const struct channel *c = channel_of(stream);
	struct channels_times times;
	struct tcp_trips trips;

	*out = (struct xfer_stream_stats){ .connection = conn->number };
	if (conn->piped != NULL)
		out->rtt_us = stream->r->master_rtt_us;
	if (!remote_conn_is_up(conn))
		return;
	out->up = true;
	times = channels_times(sshclient_channels(conn->client));
	out->backlog_acked = backlog_acked(sshclient_fd(conn->client));
	tcp_trips(sshclient_fd(conn->client), &trips);
	out->rtt_us = trips.least;
	out->sent_us = trips.sent;
	out->received_us = trips.received;
	out->arrived = trips.arrived;
	out->tcp_window = trips.window;
	out->window_stall_ms = times.window_ms;
	out->network_stall_ms = times.network_ms;
	if (c != NULL)
		out->send_window = channel_peer_window_top(c);
	out->widens = (sshclient_peer_traits(conn->client) &
			  PEER_WIDENS_WINDOWS) != 0;
}

static int
streams_turn(void *arg, int timeout_ms)
{
	struct remote *r = arg;

	remote_conn_remove_left(r);
	return loop_turn(r->p.loop, timeout_ms);
}

static const struct xfer_streams_ops streams_ops = {
	.open = streams_open,
	.close = streams_close,
	.path = streams_path,
	.turn = streams_turn,
};

struct xfer_streams
remote_streams(struct remote *r)
{
	return (struct xfer_streams){ .ops = &streams_ops, .arg = r };
}
