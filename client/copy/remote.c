/* SPDX-License-Identifier: ISC */
/*
 * A remote host as a whole: its configuration, and how its first connection,
 * or the program in its place, begins and ends. The connections are in
 * remote-conn.c, the SFTP sessions on them in remote-stream.c.
 */
#include "client/copy/remote-internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/common/ssh-command.h"
#include "client/common/ssh-flags.h"
#include "client/hosts/name-lookup.h"
#include "conf/destination.h"
#include "xfer/streams/streams-early.h"

enum {
	ALIVE_INTERVAL_S = 15,
	/* Time limit of each answer until the user is logged in. */
	OPENING_S = 60,
};

/* ---- configuration ------------------------------------------------------ */

/* Sets keywords that must not act on a connection which only moves files.
 * ControlMaster=no: a master's connection may be used, but this process does
 * not become a master. */
static int
fix_conf(struct client_conf *conf)
{
	static const char *const fixed[] = { "PermitLocalCommand=no",
		"ClearAllForwardings=yes", "RemoteCommand=none",
		"RequestTTY=no", "ForwardAgent=no", "ForwardX11=no",
		"ControlMaster=no" };
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

/* Gives options that the user has not set the values of the configuration's
 * keywords for copies (CopyResume and others). */
static void
take_copy_defaults(struct remote *r)
{
	struct remote_copy *copy = r->p.copy;

	if (copy == NULL)
		return;
	*copy = (struct remote_copy){
		.connections = (unsigned)r->conf.copy.connections,
		.retries = (unsigned)r->conf.copy.retry,
		.verify = r->conf.copy.verify != 0,
		.resume = r->conf.copy.resume != 0,
		.preserve = r->conf.copy.preserve != 0,
	};
	if (!r->p.connections_given)
		r->p.connections = copy->connections;
	if (!r->p.retry_given)
		r->p.watched = copy->retries > 0;
}

static int
load_conf(struct remote *r)
{
	const struct remote_params *p = &r->p;
	struct client_conf_context context = { .host = p->host,
		.resolve = name_look_up };
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
	take_copy_defaults(r);
	if (p->watched && r->conf.tcp.server_alive_interval == 0)
		r->conf.tcp.server_alive_interval = ALIVE_INTERVAL_S;
	if (p->watched && r->conf.tcp.connect_timeout <= 0) {
		r->conf.tcp.connect_timeout = OPENING_S;
		r->default_limit = true;
	}
	log_set_level((enum log_level)r->conf.log.log_level);
	return log_set_locations(&r->conf.log.log_verbose);
}

static int
check_host(const struct remote *r)
{
	if (!destination_host_ok(r->p.host) ||
	    !destination_host_ok(r->conf.host.hostname)) {
		log_error("the host name has characters that are not allowed");
		return ERR_SYNTAX;
	}
	if (r->conf.host.refuse_connection != NULL) {
		log_error("%s", r->conf.host.refuse_connection);
		return ERR_DENIED;
	}
	return 0;
}

static int last_end;

void
remote_note_end(int err)
{
	last_end = err;
}

int
remote_last_end(void)
{
	return last_end;
}

/* ---- life --------------------------------------------------------------- */

/* Runs in each turn of the loop, before the turns of the connections, which are
 * added to the loop later. */
static bool
on_turn(void *arg)
{
	remote_conn_expect_tickets(arg);
	remote_conn_log_in_next(arg);
	return false;
}

int
remote_connect_early(struct remote *r, uint64_t rtt_us)
{
	struct stream *stream;
	unsigned n = xfer_streams_early(rtt_us, r->p.bulk, r->p.connections);
	int err = 0;

	while (n-- > 0 &&
	    (err = remote_stream_add_connected(r, &stream)) == 0) {
		stream->unclaimed = true;
		/* After an error the stream has ended, and reports that to its
		 * user. */
		(void)!remote_conn_connect(stream->conn, true);
	}
	return err;
}

/* Begins further connections while the first one logs in, for large files over
 * a long path to a known host. */
static int
connect_early(struct remote *r)
{
	struct sshclient *first = remote_first(r)->client;

	return sshclient_is_predictable(first) ?
	    remote_connect_early(r, tcp_rtt_us(sshclient_fd(first))) : 0;
}

/* Plans the further connections that a copy of large files will want beside
 * that of a master. The master has logged in, so these may log in at once. */
static int
plan_early(struct remote *r)
{
	struct stream *stream;
	unsigned n = xfer_streams_early(r->master_rtt_us, r->p.bulk,
	    r->p.connections);
	int err = 0;

	while (n-- > 0 &&
	    (err = remote_stream_add_connected(r, &stream)) == 0)
		stream->unclaimed = true;
	return err;
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
	if (remote_master_begin(r))
		return remote_first(r)->client != NULL ? plan_early(r) : 0;
	conn = remote_conn_add(r);
	if ((err = remote_stream_add(&stream, conn)) != 0)
		return err;
	if ((err = remote_conn_connect(conn, false)) != 0)
		return err;
	return connect_early(r);
}

/* Makes the command line of the program that replaces the connection: ssh (-S),
 * or an SFTP server (-D). */
static int
child_command(struct strlist *argv, const struct remote_params *p)
{
	const char *server = p->subsystem != NULL ? p->subsystem : "sftp";
	struct ssh_command ssh = {
		.program = p->program,
		.purpose = SSH_COMMAND_CARRY,
		.clear = p->clear,
		.options = p->options,
		.port = p->port,
		.user = p->user,
		.host = p->host,
		.command = server,
		.subsystem = strchr(server, '/') == NULL,
	};
	int err;

	if (p->server == NULL) {
		if ((err = ssh_command_line(argv, &ssh)) != 0)
			return err;
	} else if (strlist_split(argv, p->server, " ") < 0 || argv->n == 0) {
		log_error("%s: not a command", p->server);
		return ERR_SYNTAX;
	}
	for (size_t i = 0; i < argv->n; i++)
		log_debug("program argument %zu: %s", i, argv->v[i]);
	return 0;
}

static int
begin_child(struct remote *r)
{
	struct sftp *s;
	int err = child_command(&r->argv, &r->p);

	if (err != 0)
		return err;
	if ((err = remote_stream_spawn(r, &s)) != 0)
		log_error("%s: %s", r->argv.v[0], err_text(err));
	return err;
}

/* Frees all of r; returns the exit status. */
static int
free_all(struct remote *r)
{
	int status;

	while (!TAILQ_EMPTY(&r->streams))
		remote_stream_remove(TAILQ_FIRST(&r->streams));
	/* The first connection is freed last, because the others use its
	 * client. */
	while (!TAILQ_EMPTY(&r->conns))
		remote_conn_remove(TAILQ_LAST(&r->conns, conns));
	loop_off_turn(r->p.loop, on_turn, r);
	client_conf_clear(&r->conf);
	strlist_clear(&r->argv);
	status = r->status;
	free(r);
	return status;
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
		remote_note_end(err);
		(void)free_all(r);
		return err;
	}
	*out = r;
	return 0;
}

bool
remote_err_is_told(int err)
{
	return err == ERR_CLOSED || err == ERR_TIMEOUT || err == ERR_DENIED;
}

bool
remote_is_up(const struct remote *r)
{
	return remote_first(r) != NULL && remote_conn_is_up(remote_first(r));
}

const struct sshclient *
remote_client(const struct remote *r, unsigned index)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (remote_conn_is_up(c) && index-- == 0)
			return c->client;
	return NULL;
}

struct sftp *
remote_sftp(struct remote *r)
{
	struct stream *stream = TAILQ_FIRST(&r->streams);

	return stream != NULL && stream->first ? stream->sftp : NULL;
}

const struct client_conf *
remote_conf(const struct remote *r)
{
	return &r->conf;
}

bool
remote_back(const struct remote *r, struct login_ticket *out)
{
	const struct conn *first = remote_first(r);

	return first != NULL && first->client != NULL &&
	    sshclient_back(first->client, out);
}

int
remote_close(struct remote *r)
{
	/* Sends what is still queued, such as requests whose replies nobody
	 * waits for. */
	(void)!loop_turn(r->p.loop, 0);
	remote_conn_finish_logins(r);
	return free_all(r);
}
