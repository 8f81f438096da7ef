/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. A way is a connection, or a child; a lane is a session on one. What
 * ends is only marked in callbacks, and freed by who asked for it, since the
 * callbacks run in the middle of it.
 */
#include "client/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/remote-child.h"
#include "client/session.h"
#include "client/ssh-flags.h"
#include "client/sshclient.h"
#include "client/unbuilt.h"
#include "conf/destination.h"
#include "xfer/carrier.h"
#include "xfer/sftp-engine.h"

enum {
	LANES_MAX = 8, /* of a connection; stock's MaxSessions is 10 */
	WAYS_MAX = 64,
	BEGUN_MAX = 4, /* not logged in yet, at the same time */
	WATCH_S = 15,
	EXIT_ERROR = 255,
};

struct way {
	struct remote *r;
	unsigned number;
	struct sshclient *client; /* NULL: a child, or not begun yet */
	bool ready;		  /* the user is authenticated */
	bool ended;
	bool ahead; /* begins before the first has logged in */
	bool full; /* the server refused another session */
	unsigned lanes;
	struct way *next;
};

struct lane {
	struct remote *r;
	struct way *way;
	struct sftp *sftp;
	struct session *session; /* NULL: not asked for yet, or a child */
	struct xfer_pipe pipe;	 /* of a child */
	bool first;
	bool spare; /* nobody has asked for it yet */
	struct lane *next;
};

struct remote {
	struct remote_params p;
	struct client_conf conf;
	struct strlist argv; /* of a child; empty: in process */
	struct way *ways;    /* the first one stays until the end */
	struct lane *lanes;
	unsigned way_count; /* ever */
	int status;	    /* of the first lane */
};

/* ---- a session on a channel --------------------------------------------- */

static ssize_t
lane_read(void *arg, uint8_t *p, size_t max)
{
	const struct lane *lane = arg;
	size_t n = sftp_take(lane->sftp, p, max);

	return n > 0 ? (ssize_t)n : ERR_AGAIN;
}

static ssize_t
lane_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	const struct lane *lane = arg;
	int err = sftp_feed(lane->sftp, p, len);

	(void)ext;
	/* Who waits in the loop for an answer may have it now. */
	loop_again(lane->r->p.loop);
	return err < 0 ? err : (ssize_t)len;
}

static void
lane_end(void *arg)
{
	const struct lane *lane = arg;

	(void)!sftp_feed_end(lane->sftp, ERR_CLOSED);
}

static const struct channel_io lane_io = {
	.read = lane_read,
	.write = lane_write,
	.end = lane_end,
};

static void
on_session_ended(void *arg)
{
	struct lane *lane = arg;

	if (lane->first)
		lane->r->status = lane->session != NULL ?
		    session_status(lane->session) :
		    EXIT_ERROR;
	else if (!sftp_is_ready(lane->sftp))
		lane->way->full = true;
	(void)!sftp_feed_end(lane->sftp, ERR_CLOSED);
}

static int
ask_session(struct lane *lane, bool ahead)
{
	const struct remote_params *p = &lane->r->p;
	const char *server = p->subsystem != NULL ? p->subsystem : "sftp";
	struct session_params params = {
		.command = server,
		.subsystem = strchr(server, '/') == NULL,
		.ahead = ahead,
		.io = &lane_io,
		.io_arg = lane,
		.ended = on_session_ended,
		.arg = lane,
	};
	int r;

	sshclient_fill(lane->way->client, &params);
	params.quiet = params.quiet || !lane->first;
	r = session_new(&lane->session, &params);
	/* The first channel of such a server has the number 0. */
	if (r == 0 && params.peer_is_openssh && lane->way->lanes == 1)
		session_ask_ahead(lane->session);
	return r;
}

/* ---- connections -------------------------------------------------------- */

static int
on_likely(void *arg)
{
	struct way *way = arg;

	for (struct lane *lane = way->r->lanes; lane != NULL;
	     lane = lane->next)
		if (lane->way == way)
			return ask_session(lane, true);
	return 0;
}

static void
end_way(struct way *way)
{
	way->ended = true;
	for (struct lane *lane = way->r->lanes; lane != NULL;
	     lane = lane->next) {
		if (lane->way != way)
			continue;
		/* What a session's end has told already stands. */
		if (lane->first && (lane->session == NULL ||
			session_channel(lane->session) != NULL))
			way->r->status = EXIT_ERROR;
		(void)!sftp_feed_end(lane->sftp, ERR_CLOSED);
	}
	/* Those that wait for it to log in do so in vain. */
	if (way == way->r->ways && !way->ready)
		for (struct way *next = way->next; next != NULL;
		     next = next->next)
			if (next->ahead && !next->ended)
				end_way(next);
	loop_again(way->r->p.loop);
}

/* Those that were begun ahead log in behind the first. */
static void
release_held(struct remote *r)
{
	for (struct way *way = r->ways; way != NULL; way = way->next)
		if (way->ahead && way->client != NULL && !way->ended &&
		    sshclient_release(way->client) != 0)
			end_way(way);
}

/* What was asked for until now; more than one lane only if the first came
 * after it was begun. */
static int
on_ready(void *arg)
{
	struct way *way = arg;
	int r = 0;

	way->ready = true;
	if (way == way->r->ways)
		release_held(way->r);
	for (struct lane *lane = way->r->lanes; lane != NULL && r == 0;
	     lane = lane->next) {
		if (lane->way != way)
			continue;
		if (lane->session == NULL)
			r = ask_session(lane, false);
		else
			session_attach(lane->session);
	}
	return r;
}

static void
on_connection_ended(void *arg, int err)
{
	(void)err;
	end_way(arg);
}

static struct way *
add_way(struct remote *r)
{
	struct way *way = xcalloc(1, sizeof *way), **at;

	way->r = r;
	way->number = r->way_count++;
	for (at = &r->ways; *at != NULL;)
		at = &(*at)->next;
	*at = way;
	return way;
}

static void
remove_way(struct way *way)
{
	struct way **at;

	for (at = &way->r->ways; *at != way;)
		at = &(*at)->next;
	*at = way->next;
	sshclient_free(way->client);
	free(way);
}

static int
connect_way(struct remote *r, struct way *way)
{
	struct sshclient_params params = {
		.conf = &r->conf,
		.loop = r->p.loop,
		.need_none = r->p.clear,
		.more = true,
		.beside = way != r->ways ? r->ways->client : NULL,
		.hold = way->ahead && !r->ways->ready,
		.arg = way,
		.likely = on_likely,
		.ready = on_ready,
		.ended = on_connection_ended,
	};

	return sshclient_new(&way->client, &params);
}

/* ---- lanes -------------------------------------------------------------- */

/* Servers count those that have not logged in yet (MaxStartups): some at a
 * time. */
static void
begin_next(struct remote *r)
{
	unsigned begun = 0;

	if (r->ways == NULL)
		return;
	for (struct way *way = r->ways; way != NULL; way = way->next)
		begun += way->client != NULL && !way->ready && !way->ended;
	for (struct way *way = r->ways; way != NULL && begun < BEGUN_MAX;
	     way = way->next) {
		/* The first finds out the host key and what logs in. */
		if (way->client != NULL || way->ended ||
		    !(way->ahead || r->ways->ready || r->ways->ended))
			continue;
		begun++;
		if (connect_way(r, way) != 0)
			end_way(way);
	}
}

/* Marks the channels that have something to send. Runs before the turn of
 * their connections, which were made after it was added. */
static bool
on_turn(void *arg)
{
	struct remote *r = arg;
	struct channel *c;

	begin_next(r);
	for (struct lane *lane = r->lanes; lane != NULL; lane = lane->next) {
		c = lane->session != NULL ? session_channel(lane->session) :
					    NULL;
		if (c != NULL && sftp_output_len(lane->sftp) > 0)
			channel_look(c);
	}
	return false;
}

static int
lanes_turn(void *arg, int timeout_ms)
{
	const struct remote *r = arg;

	return loop_turn(r->p.loop, timeout_ms);
}

static int
lane_turn(void *arg, int timeout_ms)
{
	const struct lane *lane = arg;

	return lanes_turn(lane->r, timeout_ms);
}

static void
end_output(void *arg)
{
	struct lane *lane = arg;

	if (lane->session != NULL && session_channel(lane->session) != NULL)
		channel_end_source(session_channel(lane->session));
}

static const struct xfer_carrier_ops carrier_ops = {
	.turn = lane_turn,
	.end = end_output,
};

static int
add_lane(struct lane **out, struct remote *r, struct way *way)
{
	struct lane *lane = xcalloc(1, sizeof *lane), **at;
	int err = sftp_new(&lane->sftp);

	if (err != 0) {
		free(lane);
		return err;
	}
	lane->r = r;
	lane->way = way;
	lane->pipe.fd_in = lane->pipe.fd_out = -1;
	lane->first = r->lanes == NULL && way->number == 0;
	way->lanes++;
	sftp_attach(lane->sftp,
	    (struct xfer_carrier){ .ops = &carrier_ops, .arg = lane });
	for (at = &r->lanes; *at != NULL;)
		at = &(*at)->next;
	*at = lane;
	*out = lane;
	return 0;
}

static void
close_child(struct lane *lane)
{
	int status = xfer_pipe_close(&lane->pipe);

	if (lane->first)
		lane->r->status = status;
}

static void
remove_lane(struct lane *lane)
{
	struct way *way = lane->way;
	struct lane **at;

	for (at = &lane->r->lanes; *at != lane;)
		at = &(*at)->next;
	*at = lane->next;
	sftp_free(lane->sftp);
	session_free(lane->session);
	if (lane->r->argv.n > 0)
		close_child(lane);
	free(lane);
	way->lanes--;
	/* The first knows the way for others. */
	if (way->lanes == 0 && way->number > 0)
		remove_way(way);
}

static int
spawn_lane(struct remote *r, struct sftp **out)
{
	struct way *way = add_way(r);
	struct lane *lane;
	int err = add_lane(&lane, r, way);

	if (err != 0) {
		remove_way(way);
		return err;
	}
	err = xfer_pipe_spawn(&lane->pipe, r->p.loop, r->argv.v);
	if (err != 0) {
		remove_lane(lane);
		return err;
	}
	xfer_pipe_attach(&lane->pipe, lane->sftp);
	*out = lane->sftp;
	return 0;
}

static unsigned
count_ways(const struct remote *r)
{
	unsigned n = 0;

	for (const struct way *way = r->ways; way != NULL; way = way->next)
		n += !way->ended;
	return n;
}

/* It is begun in the next turn that may. */
static int
add_connection(struct remote *r, struct lane **out)
{
	struct way *way;
	int err;

	if (count_ways(r) >= WAYS_MAX)
		return ERR_LIMIT;
	way = add_way(r);
	if ((err = add_lane(out, r, way)) != 0)
		remove_way(way);
	return err;
}

static int
connect_lane(struct remote *r, struct sftp **out)
{
	struct lane *lane = r->lanes;
	int err = 0;

	while (lane != NULL && !lane->spare)
		lane = lane->next;
	if (lane == NULL && (err = add_connection(r, &lane)) != 0)
		return err;
	lane->spare = false;
	*out = lane->sftp;
	return 0;
}

static int
channel_lane(struct remote *r, struct sftp **out)
{
	struct way *way = NULL;
	struct lane *lane;
	int err;

	for (struct way *w = r->ways; w != NULL; w = w->next)
		if (w->client != NULL && w->ready && !w->ended && !w->full &&
		    w->lanes < (way != NULL ? way->lanes : LANES_MAX))
			way = w;
	if (way == NULL)
		return ERR_LIMIT;
	if ((err = add_lane(&lane, r, way)) != 0)
		return err;
	if ((err = ask_session(lane, false)) != 0) {
		remove_lane(lane);
		return err;
	}
	*out = lane->sftp;
	return 0;
}

static struct lane *
lane_of(const struct remote *r, const struct sftp *s)
{
	struct lane *lane;

	for (lane = r->lanes; lane != NULL && lane->sftp != s;)
		lane = lane->next;
	ENSURE(lane != NULL);
	return lane;
}

static int
lanes_open(void *arg, enum xfer_lane_kind kind, struct sftp **out)
{
	struct remote *r = arg;

	if (kind == XFER_LANE_CHANNEL)
		return channel_lane(r, out);
	return r->argv.n > 0 ? spawn_lane(r, out) : connect_lane(r, out);
}

static void
lanes_close(void *arg, struct sftp *s)
{
	remove_lane(lane_of(arg, s));
}

static void
lanes_path(void *arg, const struct sftp *s, struct xfer_path *out)
{
	const struct lane *lane = lane_of(arg, s);
	const struct way *way = lane->way;
	struct channels_times times;

	*out = (struct xfer_path){ .connection = way->number };
	if (way->client == NULL || !way->ready || way->ended)
		return;
	times = channels_times(sshclient_channels(way->client));
	out->rtt_us = tcp_rtt_us(sshclient_fd(way->client));
	out->window_stall_ms = times.window_ms;
	out->network_stall_ms = times.network_ms;
	if (lane->session != NULL && session_channel(lane->session) != NULL)
		out->send_window = channel_peer_window_top(
		    session_channel(lane->session));
}

static const struct xfer_lanes_ops lanes_ops = {
	.open = lanes_open,
	.close = lanes_close,
	.path = lanes_path,
	.turn = lanes_turn,
};

struct xfer_lanes
remote_lanes(struct remote *r)
{
	return (struct xfer_lanes){ .ops = &lanes_ops, .arg = r };
}

/* ---- life --------------------------------------------------------------- */

/* Large files over a long path to a host that is known: others begin beside
 * the first, and log in when it has. */
static int
begin_ahead(struct remote *r)
{
	struct sshclient *first = r->ways->client;
	struct lane *lane;
	unsigned n = 0;
	int err = 0;

	if (sshclient_expected(first))
		n = xfer_lanes_ahead(tcp_rtt_us(sshclient_fd(first)),
		    r->p.bulk, r->p.connections);
	while (n-- > 0 && (err = add_connection(r, &lane)) == 0)
		lane->spare = lane->way->ahead = true;
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
	if (p->watched && r->conf.server_alive_interval == 0)
		r->conf.server_alive_interval = WATCH_S;
	log_set_level((enum log_level)r->conf.log_level);
	return 0;
}

static int
check_host(const struct remote *r)
{
	if (!destination_host_ok(r->p.host) ||
	    !destination_host_ok(r->conf.hostname)) {
		log_error("the host name has characters that are not allowed");
		return ERR_SYNTAX;
	}
	if (r->p.user != NULL && !destination_user_ok(r->p.user)) {
		log_error("the user name has characters that are not allowed");
		return ERR_SYNTAX;
	}
	if (r->conf.refuse_connection != NULL) {
		log_error("%s", r->conf.refuse_connection);
		return ERR_DENIED;
	}
	return 0;
}

static int
begin_here(struct remote *r)
{
	struct lane *lane;
	struct way *way;
	int err;

	if ((err = load_conf(r)) != 0 || (err = check_host(r)) != 0)
		return err;
	if ((err = loop_on_turn(r->p.loop, on_turn, r)) != 0)
		return err;
	way = add_way(r);
	if ((err = add_lane(&lane, r, way)) != 0)
		return err;
	if ((err = connect_way(r, way)) != 0)
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
	if ((err = spawn_lane(r, &s)) != 0)
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
	return r->lanes != NULL && r->lanes->first ? r->lanes->sftp : NULL;
}

int
remote_close(struct remote *r)
{
	int status;

	/* What nobody waits for an answer to still goes out. */
	(void)!loop_turn(r->p.loop, 0);
	while (r->lanes != NULL)
		remove_lane(r->lanes);
	/* The first one last: others use what it knows. */
	while (r->ways != NULL && r->ways->next != NULL)
		remove_way(r->ways->next);
	if (r->ways != NULL)
		remove_way(r->ways);
	loop_off_turn(r->p.loop, on_turn, r);
	client_conf_clear(&r->conf);
	strlist_clear(&r->argv);
	status = r->status;
	free(r);
	return status;
}
