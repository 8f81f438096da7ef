/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. A stream is an SFTP session; a conn is what carries streams: an SSH
 * connection, or a child process. What ends is only marked in callbacks, and
 * freed by who asked for it, since the callbacks run in the middle of it.
 *
 * The first connection may ask the user, and finds out the host key. Further
 * ones are a bonus: nothing waits for them, and a server must not mind them.
 * Stock servers count logins that fail or are broken off, and lock an address
 * out that has too many (PerSourcePenalties). Therefore no further connection
 * begins before the first has logged in (but those that were begun beside it,
 * which hold until then); only one at a time tries where it is not sure that
 * it will be let in; and with the first that is refused all others are given
 * up that have not tried yet.
 */
#include "client/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/client-session.h"
#include "client/remote-child.h"
#include "client/ssh-flags.h"
#include "client/sshclient.h"
#include "client/unbuilt.h"
#include "conf/destination.h"
#include "xfer/sftp/carrier.h"
#include "xfer/sftp/sftp-engine.h"

enum {
	STREAMS_MAX = 8, /* of a connection; stock's MaxSessions is 10 */
	CONNS_MAX = 64,
	BEGUN_MAX = 4, /* not logged in yet, at the same time: servers count
			* these (MaxStartups) */
	WATCH_S = 15,
	LEAVE_MS = 2000,
	LEAVE_STEP_MS = 100,
	ANSWER_MS = 1000, /* who is silent for longer is not there */
	EXIT_ERROR = 255,
};

enum conn_state {
	CONN_WAITING, /* for its turn; the server knows nothing of it */
	CONN_HELD,    /* agrees on keys beside the first, and waits until that
		       * has logged in */
	CONN_BEGUN,   /* is to log in as soon as it can */
	CONN_READY,   /* logged in: carries streams */
	CONN_FULL,    /* the same, but the server refused another session */
	CONN_CHILD,   /* a program: carries one stream */
	CONN_ENDED, /* refused, given up, or lost; is freed with its streams */
};

#define TO(state) (1u << (state))
static const unsigned conn_next[] = {
	[CONN_WAITING] = TO(CONN_HELD) | TO(CONN_BEGUN) | TO(CONN_CHILD) |
	    TO(CONN_ENDED),
	[CONN_HELD] = TO(CONN_BEGUN) | TO(CONN_ENDED),
	[CONN_BEGUN] = TO(CONN_READY) | TO(CONN_ENDED),
	[CONN_READY] = TO(CONN_FULL) | TO(CONN_ENDED),
	[CONN_FULL] = TO(CONN_ENDED),
	[CONN_CHILD] = 0,
	[CONN_ENDED] = 0,
};
#undef TO

struct conn {
	struct remote *r;
	unsigned number;
	enum conn_state state;
	struct sshclient *client; /* NULL: CONN_WAITING, CONN_CHILD, or it
				   * could not even be begun */
	uint64_t since_ms; /* when it became what it is */
	unsigned streams;
	struct conn *next;
};

struct stream {
	struct remote *r;
	struct conn *conn;
	struct sftp *sftp;
	struct session *session; /* NULL: not asked for yet, or a child */
	struct xfer_pipe pipe;	 /* of a child */
	bool first;
	bool spare; /* of a connection that was begun beside the first, when
		     * nobody had asked for it yet; in any state */
	struct stream *next;
};

struct remote {
	struct remote_params p;
	struct client_conf conf;
	struct strlist argv; /* of a child; empty: in process */
	struct conn *conns;  /* the first one stays until the end */
	struct stream *streams;
	unsigned conn_count; /* ever */
	int status;	    /* of the first stream */
};

/* ---- states of connections ---------------------------------------------- */

static void begin_next(struct remote *r);

static void
conn_become(struct conn *conn, enum conn_state state)
{
	ENSURE((conn_next[conn->state] & 1u << state) != 0);
	conn->state = state;
	conn->since_ms = loop_now_ms();
}

/* It carries streams, or could. */
static bool
is_up(const struct conn *conn)
{
	return conn->state == CONN_READY || conn->state == CONN_FULL;
}

/* Did it log in, now or once, or fail to? */
static bool
has_been_tried(const struct conn *conn)
{
	return is_up(conn) || conn->state == CONN_ENDED;
}

/* Has it begun to log in, so that the server counts it if it goes now? */
static bool
logs_in(const struct conn *conn)
{
	if (conn->state != CONN_BEGUN || conn->client == NULL)
		return false;
	return sshclient_is_answered(conn->client) ||
	    (loop_now_ms() - conn->since_ms < ANSWER_MS &&
		tcp_rtt_us(sshclient_fd(conn->client)) > 0);
}

static void
refuse_session(struct conn *conn)
{
	if (conn->state != CONN_READY)
		return;
	log_debug("connection %u takes no further channel", conn->number);
	conn_become(conn, CONN_FULL);
}

/* ---- a session on a channel --------------------------------------------- */

static ssize_t
stream_read(void *arg, uint8_t *p, size_t max)
{
	const struct stream *stream = arg;
	size_t n = sftp_take(stream->sftp, p, max);

	return n > 0 ? (ssize_t)n : ERR_AGAIN;
}

static ssize_t
stream_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	const struct stream *stream = arg;
	int err = sftp_feed(stream->sftp, p, len);

	(void)ext;
	/* Who waits in the loop for an answer may have it now. */
	loop_again(stream->r->p.loop);
	return err < 0 ? err : (ssize_t)len;
}

static void
stream_end(void *arg)
{
	const struct stream *stream = arg;

	(void)!sftp_feed_end(stream->sftp, ERR_CLOSED);
}

static const struct channel_io stream_io = {
	.read = stream_read,
	.write = stream_write,
	.end = stream_end,
};

static void
on_session_ended(void *arg)
{
	struct stream *stream = arg;

	if (stream->first)
		stream->r->status = stream->session != NULL ?
		    session_status(stream->session) :
		    EXIT_ERROR;
	else if (!sftp_is_ready(stream->sftp))
		refuse_session(stream->conn);
	(void)!sftp_feed_end(stream->sftp, ERR_CLOSED);
}

static int
ask_session(struct stream *stream, bool ahead)
{
	const struct remote_params *p = &stream->r->p;
	const char *server = p->subsystem != NULL ? p->subsystem : "sftp";
	struct session_params params = {
		.command = server,
		.subsystem = strchr(server, '/') == NULL,
		.attach_later = ahead,
		.io = &stream_io,
		.io_arg = stream,
		.ended = on_session_ended,
		.arg = stream,
	};
	int r;

	sshclient_fill(stream->conn->client, &params);
	params.quiet = params.quiet || !stream->first;
	r = session_new(&stream->session, &params);
	/* The first channel of such a server has the number 0. */
	if (r == 0 && params.peer_is_openssh && stream->conn->streams == 1)
		session_open_optimistically(stream->session);
	return r;
}

/* ---- connections -------------------------------------------------------- */

static int
on_optimistic(void *arg)
{
	struct conn *conn = arg;

	for (struct stream *stream = conn->r->streams; stream != NULL;
	     stream = stream->next)
		if (stream->conn == conn)
			return ask_session(stream, true);
	return 0;
}

static void
end_streams(struct conn *conn)
{
	for (struct stream *stream = conn->r->streams; stream != NULL;
	     stream = stream->next) {
		if (stream->conn != conn)
			continue;
		/* What a session's end has told already stands. */
		if (stream->first && (stream->session == NULL ||
			session_channel(stream->session) != NULL))
			conn->r->status = EXIT_ERROR;
		(void)!sftp_feed_end(stream->sftp, ERR_CLOSED);
	}
}

/* Those that have not tried to log in will not. */
static void
give_up_others(struct remote *r)
{
	for (struct conn *c = r->conns; c != NULL; c = c->next) {
		if (c->state != CONN_WAITING && c->state != CONN_HELD)
			continue;
		log_debug("connection %u is given up", c->number);
		conn_become(c, CONN_ENDED);
		end_streams(c);
	}
}

static void
end_conn(struct conn *conn)
{
	bool refused = !is_up(conn);

	if (conn->state == CONN_ENDED)
		return;
	if (refused && conn != conn->r->conns)
		log_debug("connection %u is refused", conn->number);
	conn_become(conn, CONN_ENDED);
	end_streams(conn);
	if (refused)
		give_up_others(conn->r);
	loop_again(conn->r->p.loop);
}

/* What was asked for until now; more than one stream only if the first came
 * after it was begun. */
static int
on_ready(void *arg)
{
	struct conn *conn = arg;
	int r = 0;

	conn_become(conn, CONN_READY);
	if (conn != conn->r->conns)
		log_debug("connection %u is ready", conn->number);
	begin_next(conn->r);
	for (struct stream *stream = conn->r->streams; stream != NULL && r == 0;
	     stream = stream->next) {
		if (stream->conn != conn)
			continue;
		if (stream->session == NULL)
			r = ask_session(stream, false);
		else
			session_attach(stream->session);
	}
	return r;
}

static void
on_connection_ended(void *arg, int err)
{
	(void)err;
	end_conn(arg);
}

static struct conn *
add_conn(struct remote *r)
{
	struct conn *conn = xcalloc(1, sizeof *conn), **at;

	conn->r = r;
	conn->number = r->conn_count++;
	for (at = &r->conns; *at != NULL;)
		at = &(*at)->next;
	*at = conn;
	return conn;
}

static void
remove_conn(struct conn *conn)
{
	struct conn **at;

	for (at = &conn->r->conns; *at != conn;)
		at = &(*at)->next;
	*at = conn->next;
	sshclient_free(conn->client);
	free(conn);
}

/* hold: not to log in before begin_next() says so. */
static int
connect_conn(struct conn *conn, bool hold)
{
	struct remote *r = conn->r;
	struct sshclient_params params = {
		.conf = &r->conf,
		.loop = r->p.loop,
		.need_none = r->p.clear,
		.keep_answer = true,
		.first = conn != r->conns ? r->conns->client : NULL,
		.keys_only = hold,
		.arg = conn,
		.send_optimistic = on_optimistic,
		.ready = on_ready,
		.ended = on_connection_ended,
	};

	conn_become(conn, hold ? CONN_HELD : CONN_BEGUN);
	return sshclient_new(&conn->client, &params);
}

/* How many further ones may try to log in at a time. */
static unsigned
tries_max(const struct remote *r)
{
	switch (sshclient_further(r->conns->client)) {
	case SSHCLIENT_FURTHER_LIKELY:
		return BEGUN_MAX;
	case SSHCLIENT_FURTHER_POSSIBLE:
		for (const struct conn *c = r->conns->next; c != NULL;
		     c = c->next)
			if (is_up(c))
				return BEGUN_MAX;
		return 1;
	case SSHCLIENT_FURTHER_NEVER:
		break;
	}
	return 0;
}

/* Lets as many log in, of those that are to, as may try now. */
static void
begin_next(struct remote *r)
{
	unsigned begun = 0, most;
	int err;

	if (r->conns == NULL || !has_been_tried(r->conns))
		return;
	if ((most = tries_max(r)) == 0)
		give_up_others(r);
	for (const struct conn *c = r->conns; c != NULL; c = c->next)
		begun += c->state == CONN_BEGUN;
	for (struct conn *c = r->conns; c != NULL && begun < most;
	     c = c->next) {
		if (c->state == CONN_HELD) {
			conn_become(c, CONN_BEGUN);
			err = sshclient_log_in(c->client);
		} else if (c->state == CONN_WAITING) {
			err = connect_conn(c, false);
		} else {
			continue;
		}
		begun++;
		if (err != 0)
			end_conn(c);
	}
}

/* ---- streams --------------------------------------------------------------
 */

/* Marks the channels that have something to send. Runs before the turn of
 * their connections, which were made after it was added. */
static bool
on_turn(void *arg)
{
	struct remote *r = arg;
	struct channel *c;

	begin_next(r);
	for (struct stream *stream = r->streams; stream != NULL;
	     stream = stream->next) {
		c = stream->session != NULL ? session_channel(stream->session) :
					    NULL;
		if (c != NULL && sftp_output_len(stream->sftp) > 0)
			channel_mark_readable(c);
	}
	return false;
}

static int
streams_turn(void *arg, int timeout_ms)
{
	const struct remote *r = arg;

	return loop_turn(r->p.loop, timeout_ms);
}

static int
stream_turn(void *arg, int timeout_ms)
{
	const struct stream *stream = arg;

	return streams_turn(stream->r, timeout_ms);
}

static void
end_output(void *arg)
{
	struct stream *stream = arg;

	if (stream->session != NULL && session_channel(stream->session) != NULL)
		channel_end_source(session_channel(stream->session));
}

static const struct xfer_carrier_ops carrier_ops = {
	.turn = stream_turn,
	.end = end_output,
};

static int
add_stream(struct stream **out, struct remote *r, struct conn *conn)
{
	struct stream *stream = xcalloc(1, sizeof *stream), **at;
	int err = sftp_new(&stream->sftp);

	if (err != 0) {
		free(stream);
		return err;
	}
	stream->r = r;
	stream->conn = conn;
	stream->pipe.fd_in = stream->pipe.fd_out = -1;
	stream->first = r->streams == NULL && conn->number == 0;
	conn->streams++;
	sftp_attach(stream->sftp,
	    (struct xfer_carrier){ .ops = &carrier_ops, .arg = stream });
	for (at = &r->streams; *at != NULL;)
		at = &(*at)->next;
	*at = stream;
	*out = stream;
	return 0;
}

static void
close_child(struct stream *stream)
{
	int status = xfer_pipe_close(&stream->pipe);

	if (stream->first)
		stream->r->status = status;
}

static void
remove_stream(struct stream *stream)
{
	struct conn *conn = stream->conn;
	struct stream **at;

	for (at = &stream->r->streams; *at != stream;)
		at = &(*at)->next;
	*at = stream->next;
	sftp_free(stream->sftp);
	session_free(stream->session);
	if (stream->r->argv.n > 0)
		close_child(stream);
	free(stream);
	conn->streams--;
	/* The first one knows how others get there. */
	if (conn->streams == 0 && conn->number > 0 && !logs_in(conn))
		remove_conn(conn);
}

static int
spawn_stream(struct remote *r, struct sftp **out)
{
	struct conn *conn = add_conn(r);
	struct stream *stream;
	int err = add_stream(&stream, r, conn);

	if (err != 0) {
		remove_conn(conn);
		return err;
	}
	err = xfer_pipe_spawn(&stream->pipe, r->p.loop, r->argv.v);
	if (err != 0) {
		remove_stream(stream);
		return err;
	}
	conn_become(conn, CONN_CHILD);
	xfer_pipe_attach(&stream->pipe, stream->sftp);
	*out = stream->sftp;
	return 0;
}

static unsigned
count_conns(const struct remote *r)
{
	unsigned n = 0;

	for (const struct conn *conn = r->conns; conn != NULL;
	     conn = conn->next)
		n += conn->state != CONN_ENDED;
	return n;
}

/* It is begun in the next turn that may. */
static int
add_connection(struct remote *r, struct stream **out)
{
	struct conn *conn;
	int err;

	if (count_conns(r) >= CONNS_MAX)
		return ERR_LIMIT;
	conn = add_conn(r);
	if ((err = add_stream(out, r, conn)) != 0)
		remove_conn(conn);
	return err;
}

static int
connect_stream(struct remote *r, struct sftp **out)
{
	struct stream *stream = r->streams;
	int err = 0;

	/* One that was refused meanwhile is given too: it tells that. */
	while (stream != NULL && !stream->spare)
		stream = stream->next;
	if (stream == NULL && (err = add_connection(r, &stream)) != 0)
		return err;
	stream->spare = false;
	*out = stream->sftp;
	return 0;
}

static int
channel_stream(struct remote *r, struct sftp **out)
{
	struct conn *conn = NULL;
	struct stream *stream;
	int err;

	for (struct conn *c = r->conns; c != NULL; c = c->next)
		if (c->state == CONN_READY &&
		    c->streams < (conn != NULL ? conn->streams : STREAMS_MAX))
			conn = c;
	if (conn == NULL)
		return ERR_LIMIT;
	if ((err = add_stream(&stream, r, conn)) != 0)
		return err;
	if ((err = ask_session(stream, false)) != 0) {
		remove_stream(stream);
		return err;
	}
	*out = stream->sftp;
	return 0;
}

static struct stream *
stream_of(const struct remote *r, const struct sftp *s)
{
	struct stream *stream;

	for (stream = r->streams; stream != NULL && stream->sftp != s;)
		stream = stream->next;
	ENSURE(stream != NULL);
	return stream;
}

static int
streams_open(void *arg, enum xfer_stream_kind kind, struct sftp **out)
{
	struct remote *r = arg;

	if (kind == XFER_STREAM_CHANNEL)
		return channel_stream(r, out);
	return r->argv.n > 0 ? spawn_stream(r, out) : connect_stream(r, out);
}

static void
streams_close(void *arg, struct sftp *s)
{
	remove_stream(stream_of(arg, s));
}

static void
streams_path(void *arg, const struct sftp *s, struct xfer_stream_stats *out)
{
	const struct stream *stream = stream_of(arg, s);
	const struct conn *conn = stream->conn;
	struct channels_times times;

	*out = (struct xfer_stream_stats){ .connection = conn->number };
	if (!is_up(conn))
		return;
	times = channels_times(sshclient_channels(conn->client));
	out->rtt_us = tcp_rtt_us(sshclient_fd(conn->client));
	out->window_stall_ms = times.window_ms;
	out->network_stall_ms = times.network_ms;
	if (stream->session != NULL && session_channel(stream->session) != NULL)
		out->send_window = channel_peer_window_top(
		    session_channel(stream->session));
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

/* ---- life --------------------------------------------------------------- */

/* Large files over a long path to a host that is known: others begin beside
 * the first, and log in when it has. */
static int
begin_ahead(struct remote *r)
{
	struct sshclient *first = r->conns->client;
	struct stream *stream;
	unsigned n = 0;
	int err = 0;

	if (sshclient_is_predictable(first))
		n = xfer_streams_early(tcp_rtt_us(sshclient_fd(first)),
		    r->p.bulk, r->p.connections);
	while (n-- > 0 && (err = add_connection(r, &stream)) == 0) {
		stream->spare = true;
		if (connect_conn(stream->conn, true) != 0)
			end_conn(stream->conn);
	}
	return err;
}

/* What moving files does not want of a configuration. */
static int
fix_conf(struct client_conf *conf)
{
	static const char *const fixed[] = { "PermitLocalCommand=no",
		"ClearAllForwardings=yes", "RemoteCommand=none",
		"RequestTTY=no", "ForwardAgent=no", "ForwardX11=no" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(fixed) && r == 0; i++)
		r = client_conf_set_option(conf, fixed[i]);
	return r;
}

static int
set_conf(struct client_conf *conf, const char *keyword, const char *value)
{
	return value != NULL ? client_conf_set(conf, keyword, value) : 0;
}

static int
load_conf(struct remote *r)
{
	const struct remote_params *p = &r->p;
	struct client_conf_context context = { .host = p->host };
	struct ssh_flags flags = { .config_path = NULL };
	char port[16];
	int err = fix_conf(&r->conf);

	snprintf(port, sizeof port, "%d", p->port);
	if (err == 0 && p->clear)
		err = client_conf_set_option(&r->conf, "NoneEnabled=yes");
	if (err == 0 && p->clear)
		err = client_conf_set_option(&r->conf, "NoneSwitch=yes");
	if (err == 0 && p->options != NULL)
		err = ssh_flags_take_all(&flags, &r->conf, p->options);
	if (err == 0)
		err = set_conf(&r->conf, "Port", p->port != 0 ? port : NULL);
	if (err == 0)
		err = set_conf(&r->conf, "User", p->user);
	context.config_path = flags.config_path;
	if (err == 0)
		err = client_conf_load(&r->conf, &context);
	if (err != 0)
		return err;
	ssh_flags_apply(&flags, &r->conf);
	if ((err = client_refuse_unbuilt(&r->conf, true, true)) != 0)
		return err;
	if (p->watched && r->conf.tcp.server_alive_interval == 0)
		r->conf.tcp.server_alive_interval = WATCH_S;
	log_set_level((enum log_level)r->conf.log.log_level);
	return 0;
}

static int
check_host(const struct remote *r)
{
	if (!destination_host_ok(r->p.host) ||
	    !destination_host_ok(r->conf.host.hostname)) {
		log_error("the host name has characters that are not allowed");
		return ERR_SYNTAX;
	}
	if (r->p.user != NULL && !destination_user_ok(r->p.user)) {
		log_error("the user name has characters that are not allowed");
		return ERR_SYNTAX;
	}
	if (r->conf.host.refuse_connection != NULL) {
		log_error("%s", r->conf.host.refuse_connection);
		return ERR_DENIED;
	}
	return 0;
}

static int
begin_here(struct remote *r)
{
	struct stream *stream;
	struct conn *conn;
	int err;

	if ((err = load_conf(r)) != 0 || (err = check_host(r)) != 0)
		return err;
	if ((err = loop_on_turn(r->p.loop, on_turn, r)) != 0)
		return err;
	conn = add_conn(r);
	if ((err = add_stream(&stream, r, conn)) != 0)
		return err;
	if ((err = connect_conn(conn, false)) != 0)
		return err;
	return begin_ahead(r);
}

static int
begin_child(struct remote *r)
{
	struct sftp *s;
	int err = remote_child_command(&r->argv, &r->p);

	if (err != 0)
		return err;
	if ((err = spawn_stream(r, &s)) != 0)
		log_error("%s: %s", r->argv.v[0], err_text(err));
	return err;
}

int
remote_open(struct remote **out, const struct remote_params *params)
{
	struct remote *r = xcalloc(1, sizeof *r);
	int err;

	r->p = *params;
	client_conf_init(&r->conf);
	if (params->program != NULL || params->server != NULL)
		err = begin_child(r);
	else
		err = begin_here(r);
	if (err != 0) {
		(void)remote_close(r);
		return err;
	}
	*out = r;
	return 0;
}

struct sftp *
remote_sftp(struct remote *r)
{
	return r->streams != NULL && r->streams->first ? r->streams->sftp
						       : NULL;
}

/* Further connections that are half logged in complete that before they go.
 * It costs a moment where a copy ends at that very time; going at once would
 * cost the user a second's penalty each, and of some of these in a row he is
 * locked out for a while. */
static void
let_log_in(struct remote *r)
{
	uint64_t now = loop_now_ms(), until = now + LEAVE_MS;
	const struct conn *conn;

	if (r->conns == NULL || !is_up(r->conns))
		return;
	for (; now < until; now = loop_now_ms()) {
		conn = r->conns->next;
		while (conn != NULL && !logs_in(conn))
			conn = conn->next;
		if (conn == NULL || loop_turn(r->p.loop, LEAVE_STEP_MS) < 0)
			return;
	}
}

int
remote_close(struct remote *r)
{
	int status;

	/* What nobody waits for an answer to still goes out. */
	(void)!loop_turn(r->p.loop, 0);
	let_log_in(r);
	while (r->streams != NULL)
		remove_stream(r->streams);
	/* The first one last: others use what it knows. */
	while (r->conns != NULL && r->conns->next != NULL)
		remove_conn(r->conns->next);
	if (r->conns != NULL)
		remove_conn(r->conns);
	loop_off_turn(r->p.loop, on_turn, r);
	client_conf_clear(&r->conf);
	strlist_clear(&r->argv);
	status = r->status;
	free(r);
	return status;
}
