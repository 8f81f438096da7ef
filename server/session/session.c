/* SPDX-License-Identifier: ISC */
#include "server/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/owners.h"
#include "base/signal-names.h"
#include "channels-timeout.h"
#include "compat/bsd.h"
#include "compat/proc.h"
#include "compat/queue.h"
#include "peer-version.h"
#include "server/session/forward-agent.h"
#include "server/session/forward-tunnel.h"
#include "server/session/forward-x11.h"
#include "server/session/internal-sftp.h"
#include "server/session/none-allowed.h"
#include "server/session/session-calls.h"
#include "server/session/session-events.h"
#include "server/session/session-limit.h"
#include "server/session/session-pipes.h"

enum {
	TERM_MAX = 256,	    /* bytes of TERM */
	NAME_MAX_BYTES = 256, /* bytes of a name in a request */
};

/* A state can only change to the next one. */
enum session_state {
	SESSION_NEW,	 /* the client has not said what to run */
	SESSION_RUNNING, /* the program or internal-sftp runs */
	SESSION_EXITED,	 /* the exit status is known, and was sent */
};

struct session {
	TAILQ_ENTRY(session) entry;
	struct sessions *all;
	struct channel *channel;
	pid_t pid; /* 0: not started */
	enum session_state state;
	bool sources_ended; /* the output of the program has ended */
	bool takes_signals; /* the client's own command runs */
	int wait_status;
	char *term;
	struct pty_size size;
	int pty; /* master of the terminal, or -1 */
	int tty; /* slave, until the child has it; or -1 */
	char tty_name[PTY_NAME_MAX]; /* empty: no open terminal */
	char *greeting; /* shown before a shell on the terminal; or NULL */
	int fd_in, fd_out, fd_err; /* pipes to the child, or -1 */
	struct strlist env;
	char *subsystem;
	struct internal_sftp *sftp; /* instead of a child process; or NULL */
	struct display *display; /* forwarded display of the client; or NULL */
};

struct sessions {
	struct loop *loop;
	const struct packet *packet;
	struct kex *kex;
	const struct serve_params *params;
	const char *nologin; /* see sessions_new(); or NULL */
	TAILQ_HEAD(session_list, session) list;
	size_t count;
	bool no_more;
	bool granted; /* a grant allows one session, and it was opened */
	char *auth_info_path; /* file of SSH_USER_AUTH; NULL: none */
	const struct forward_tunnels *tunnels; /* NULL: there are none */
	struct session_events *events; /* NULL: there is no EventLog */
	struct forwarded_list *forwarded; /* NULL before the first session */
	struct agent_door *agent;  /* NULL: no agent is forwarded */
	struct owners *owners; /* for SFTP; NULL before it is used */
	struct displays *displays; /* NULL: X11 was not requested yet */
};

/* ---- life ------------------------------------------------------------- */

static void
close_fds(struct session *s)
{
	fd_close(&s->fd_in);
	fd_close(&s->fd_out);
	fd_close(&s->fd_err);
	fd_close(&s->pty);
	fd_close(&s->tty);
}

/* The title of the process for ps(1): "user@pts/0,pts/1", or "user@notty". */
static void
show_terminals(const struct sessions *ss)
{
	char list[128] = "";
	const struct session *s;

	TAILQ_FOREACH(s, &ss->list, entry) {
		if (s->tty_name[0] == '\0')
			continue;
		strlcat(list, list[0] != '\0' ? "," : "", sizeof list);
		strlcat(list, s->tty_name + strlen("/dev/"), sizeof list);
	}
	proc_title("%s@%s", ss->params->user->name,
	    list[0] != '\0' ? list : "notty");
}

/* Ends the login record of the terminal. It must not stay longer than the
 * terminal is open. */
static void
end_terminal(struct session *s)
{
	if (s->tty_name[0] == '\0')
		return;
	if (monitor_pty_end(s->all->params->monitor_fd, s->tty_name) != 0)
		log_debug("no answer to the end of a login");
	s->tty_name[0] = '\0';
	show_terminals(s->all);
}

static void
session_free(struct session *s)
{
	const struct serve_params *p = s->all->params;

	log_verbose("Close session: user %s from %s id %u", p->user->name,
	    p->peer_text, channel_id(s->channel));
	TAILQ_REMOVE(&s->all->list, s, entry);
	s->all->count--;
	end_terminal(s);
	session_limit_end(p);
	internal_sftp_free(s->sftp);
	if (s->state != SESSION_NEW)
		session_events_close(s->all->events, channel_id(s->channel));
	display_close(s->display);
	close_fds(s);
	strlist_clear(&s->env);
	free(s->term);
	free(s->greeting);
	free(s->subsystem);
	free(s);
}

static void
on_closed(void *arg, struct channel *c)
{
	(void)c;
	session_free(arg);
}

/* ---- the end of a session's process ------------------------------------ */

static void
send_exit(struct session *s)
{
	struct buf b = { 0 };
	const char *request = "exit-status";
	int r;

	if (WIFSIGNALED(s->wait_status)) {
		request = "exit-signal";
		buf_put_cstring(&b,
		    signal_ssh_name(WTERMSIG(s->wait_status)));
		buf_put_bool(&b, WCOREDUMP(s->wait_status));
		buf_put_cstring(&b, ""); /* text */
		buf_put_cstring(&b, ""); /* language tag */
	} else {
		buf_put_u32(&b, (uint32_t)WEXITSTATUS(s->wait_status));
	}
	r = channel_request(s->channel, request, &b, NULL, NULL);
	if (r != 0)
		log_debug("%s: %s", request, err_text(r));
	buf_clear(&b);
}

/* Closes the channel when the process has ended and its output has ended; other
 * processes may still write to the pipes. A terminal is closed with its
 * process. */
static void
close_if_over(struct session *s)
{
	if (s->state != SESSION_EXITED)
		return;
	if (s->pty != -1 || s->sources_ended)
		channel_close(s->channel, true);
}

static void
on_exit_status(struct session *s, int status)
{
	s->state = SESSION_EXITED;
	s->wait_status = status;
	end_terminal(s);
	send_exit(s);
	channel_hold_close(s->channel, false);
	close_if_over(s);
}

static void
on_child_exit(struct sessions *ss, pid_t pid, int status)
{
	struct session *s;

	TAILQ_FOREACH(s, &ss->list, entry) {
		if (s->pid != pid || s->state == SESSION_EXITED)
			continue;
		on_exit_status(s, status);
		return;
	}
}

static void
on_sigchld(void *arg, int signo)
{
	struct sessions *ss = arg;
	int status;
	pid_t pid;

	(void)signo;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		on_child_exit(ss, pid, status);
}

static void
on_source_end(void *arg, struct channel *c)
{
	struct session *s = arg;

	(void)c;
	s->sources_ended = true;
	/* an exit status in the form of waitpid() */
	if (s->sftp != NULL && s->state != SESSION_EXITED)
		on_exit_status(s, internal_sftp_status(s->sftp) << 8);
	else
		close_if_over(s);
}

/* The process has closed its input. Tells clients that know eow@openssh.com,
 * which then stop sending. */
static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	struct session *s = arg;

	(void)ext;
	(void)error;
	if (s->pty != -1)
		return;
	fd_close(&s->fd_in);
	if ((kex_peer_traits(s->all->kex) & PEER_KNOWS_EOW) != 0 &&
	    channel_request(c, "eow@openssh.com", NULL, NULL, NULL) != 0)
		log_debug("cannot tell the end of input");
}

/* The client sends no more input: closes the pipe to the process. A terminal
 * stays open: there, the end of input is a character. */
static void
on_eof(void *arg, struct channel *c)
{
	struct session *s = arg;

	if (s->pty != -1 || s->fd_in == -1)
		return;
	channel_set_fds(c, s->fd_out, -1, s->fd_err, -1);
	fd_close(&s->fd_in);
}

/* The client has closed the channel. The process notices that its terminal has
 * gone (SIGHUP) or that nobody reads its output (SIGPIPE). Its exit status is
 * still sent. */
static void
on_peer_closed(void *arg, struct channel *c)
{
	struct session *s = arg;

	/* Also if the session's process has ended: another process may still
	 * have the terminal open without reading what was typed. */
	if (s->pty != -1) {
		channel_set_fds(c, -1, -1, -1, -1);
		fd_close(&s->pty);
		return;
	}
	if (s->state != SESSION_RUNNING)
		return;
	if (s->sftp != NULL) {
		internal_sftp_stop(s->sftp);
		/* in the form of waitpid(); musl lacks W_EXITCODE */
		on_exit_status(s, internal_sftp_status(s->sftp) << 8);
		return;
	}
	channel_end_source(c);
	fd_close(&s->fd_out);
	fd_close(&s->fd_err);
}

/* ---- starting --------------------------------------------------------- */

static int
make_pipes(struct session *s, struct session_start *start)
{
	struct session_pipe v[3];
	int r = session_pipes_make(v, s->all->count);

	s->fd_in = v[0].ours;
	s->fd_out = v[1].ours;
	s->fd_err = v[2].ours;
	start->fd_in = v[0].theirs;
	start->fd_out = v[1].theirs;
	start->fd_err = v[2].theirs;
	return r;
}

static int
start_on_tty(struct session *s, struct session_start *start)
{
	start->fd_in = start->fd_out = start->fd_err = s->tty;
	start->tty = s->tty_name;
	start->term = s->term;
	start->greeting = s->greeting;
	s->pid = fork();
	if (s->pid == 0)
		session_child(start);
	fd_close(&s->tty);
	return s->pid == -1 ? ERR_SYSTEM : 0;
}

static int
start_on_pipes(struct session *s, struct session_start *start)
{
	int r = make_pipes(s, start);

	if (r == 0) {
		s->pid = fork();
		if (s->pid == 0)
			session_child(start);
		if (s->pid == -1)
			r = ERR_SYSTEM;
	}
	fd_close(&start->fd_in);
	fd_close(&start->fd_out);
	fd_close(&start->fd_err);
	return r;
}

static void
log_start(const struct session *s, const struct session_start *start)
{
	static const char *const forced[] = { "", "forced-command (config)",
		"forced-command (key-option)" };
	const struct serve_params *p = s->all->params;
	const struct session_plan *plan = &start->plan;
	const char *what = "command", *named = NULL;
	const char *tty = s->tty_name + strlen("/dev/");

	if (plan->forced != SESSION_FORCED_NOT) {
		what = forced[plan->forced];
		named = plan->command;
	} else if (start->subsystem != NULL) {
		what = "subsystem";
		named = start->subsystem;
	} else if (plan->runs == SESSION_RUNS_LOGIN_SHELL) {
		what = "shell";
	}
	session_events_open(s->all->events, channel_id(s->channel), start);
	log_verbose("Starting session: %s%s%s%s%s%s for %s from %s id %u", what,
	    named != NULL ? " '" : "", named != NULL ? named : "",
	    named != NULL ? "'" : "", s->pty != -1 ? " on " : "",
	    s->pty != -1 ? tty : "", p->user->name, p->peer_text,
	    channel_id(s->channel));
	if (plan->runs == SESSION_RUNS_REFUSAL)
		log_error("Connection from user %s %s: refusing non-sftp "
			  "session", p->user->name, p->peer_text);
}

/* Runs our SFTP server in this process. False: the session needs a child. */
static bool
start_here(struct session *s, const struct session_start *start)
{
	if (start->plan.runs != SESSION_RUNS_SFTP || s->pty != -1 ||
	    s->all->params->must_change || start->nologin != NULL ||
	    session_has_system_rc())
		return false;
	if (s->all->owners == NULL)
		s->all->owners = owners_new();
	s->sftp = internal_sftp_start(start->plan.command,
	    s->all->params, s->all->owners, s->all->loop, s->channel,
	    s->all->events);
	return s->sftp != NULL;
}

/* True if the session has to run in this process because a grant limits it. */
static bool
is_bounded(const struct session *s, const struct session_start *start)
{
	if (s->all->params->grant == NULL ||
	    start->plan.runs != SESSION_RUNS_SFTP)
		return false;
	log_error("A grant was not used: it needs its directory, and "
		  "internal-sftp without flags but -R, -p and -P, and no "
		  "sshrc");
	return true;
}

static int
start_as(struct session *s, struct session_start *start)
{
	char *nologin = session_nologin(s->all->params->user);
	char *tunnels = s->all->tunnels != NULL ?
	    forward_tunnels_names(s->all->tunnels) :
	    NULL;
	int r = 0;

	start->tunnels = tunnels;
	start->nologin = s->all->nologin != NULL ? s->all->nologin : nologin;
	if (s->pty != -1)
		r = start_on_tty(s, start);
	else if (start_here(s, start))
		r = 0;
	else if (is_bounded(s, start))
		r = ERR_DENIED;
	else
		r = start_on_pipes(s, start);
	free(nologin);
	free(tunnels);
	return r;
}

/* Sets the name of the channel's kind that ChannelTimeout uses. */
static void
name_kind(struct session *s, enum session_kind kind)
{
	char name[sizeof "session:subsystem:" + NAME_MAX_BYTES];

	if (kind == SESSION_SUBSYSTEM)
		snprintf(name, sizeof name, "session:subsystem:%s",
		    s->subsystem);
	else
		strlcpy(name, kind == SESSION_SHELL ?
		    "session:shell" : "session:command", sizeof name);
	channel_set_kind(s->channel, name);
}

static void
connect_channel(struct session *s)
{
	if (s->pty != -1) {
		channel_set_interactive(s->channel, true);
		channel_set_fds(s->channel, s->pty, s->pty, -1, -1);
	} else if (s->sftp == NULL) {
		channel_set_fds(s->channel, s->fd_out, s->fd_in, s->fd_err,
		    -1);
	}
	channel_hold_close(s->channel, true); /* until the status was sent */
	channel_grant_window(s->channel, CHANNEL_WINDOW_DEFAULT);
}

/* Starts what the session runs. Returns an enum channel_answer. */
static int
start_session(struct session *s, enum session_kind kind, const char *command)
{
	const struct serve_params *p = s->all->params;
	const struct session_request request = { kind, command };
	const struct session_rules rules = {
		.config_command = p->conf->session.force_command,
		.key_command = p->permits->command,
		.user_rc = p->conf->session.permit_user_rc &&
		    p->permits->user_rc,
		.granted = p->grant != NULL,
	};
	struct session_start start = { .params = p,
		.plan = session_plan(&request, &rules),
		.subsystem = s->subsystem, .env = &s->env,
		.auth_info_path = s->all->auth_info_path,
		.display = display_names(s->display),
		.agent_path = agent_door_path(s->all->agent), .fd_in = -1,
		.fd_out = -1, .fd_err = -1 };
	int r;

	if (s->state != SESSION_NEW)
		return CHANNEL_FAILURE;
	log_start(s, &start);
	r = start_as(s, &start);
	if (r != 0) {
		log_error("cannot start a session: %s", err_text(r));
		s->pid = 0;
		return CHANNEL_FAILURE;
	}
	s->state = SESSION_RUNNING;
	s->takes_signals = start.plan.signals;
	name_kind(s, kind);
	connect_channel(s);
	return CHANNEL_SUCCESS;
}

/* ---- channel requests --------------------------------------------------- */

static int
on_pty_req(struct session *s, struct rd *r)
{
	char *term = rd_cstring(r, TERM_MAX);
	struct monitor_pty pty;
	struct span modes;
	int err;

	s->size.columns = rd_u32(r);
	s->size.rows = rd_u32(r);
	s->size.width_px = rd_u32(r);
	s->size.height_px = rd_u32(r);
	modes = rd_string(r);
	if ((err = rd_end(r)) != 0 || s->pty != -1 || s->state != SESSION_NEW ||
	    !s->all->params->conf->session.permit_tty ||
	    !s->all->params->permits->pty ||
	    serve_is_sftp_only(s->all->params) ||
	    !none_exclude(s->all->kex, s->all->packet, "a terminal")) {
		free(term);
		return err;
	}
	if (monitor_pty(s->all->params->monitor_fd, &pty) != 0) {
		log_error("cannot get a terminal");
		free(term);
		return CHANNEL_FAILURE;
	}
	s->pty = pty.master;
	s->tty = pty.slave;
	s->greeting = pty.text;
	memcpy(s->tty_name, pty.name, sizeof s->tty_name);
	show_terminals(s->all);
	if (fd_set_nonblock(s->pty, true) != 0 ||
	    pty_apply_modes(s->tty, modes) != 0)
		log_debug("terminal modes were not all set");
	pty_set_size(s->pty, &s->size);
	free(s->term);
	s->term = term;
	return CHANNEL_SUCCESS;
}

/* Forwards the agent. Only the first request of a connection succeeds. */
static int
forward_agent(struct session *s, struct rd *r, bool modern)
{
	struct sessions *ss = s->all;
	int err = rd_end(r);

	if (err != 0)
		return err;
	if (ss->agent != NULL || s->state != SESSION_NEW ||
	    !agent_door_is_allowed(ss->params) ||
	    !none_exclude(ss->kex, ss->packet, "a forwarded agent"))
		return CHANNEL_FAILURE;
	ss->agent = agent_door_open(ss->loop, ss->forwarded, ss->params,
	    modern);
	return ss->agent != NULL ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

static int
on_agent_req(struct session *s, struct rd *r)
{
	return forward_agent(s, r, true);
}

static int
on_old_agent_req(struct session *s, struct rd *r)
{
	return forward_agent(s, r, false);
}

/* Forwards X11. Only the first request of a session succeeds. */
static int
on_x11_req(struct session *s, struct rd *r)
{
	struct sessions *ss = s->all;

	if (s->display != NULL || s->state != SESSION_NEW ||
	    !displays_are_allowed(ss->params) ||
	    !none_exclude(ss->kex, ss->packet, "a forwarded display"))
		return CHANNEL_FAILURE;
	if (ss->displays == NULL)
		ss->displays = displays_new(ss->loop, ss->forwarded,
		    ss->params);
	return display_open(&s->display, ss->displays, r);
}

static int
on_window_change(struct session *s, struct rd *r)
{
	struct pty_size size;
	int err;

	size.columns = rd_u32(r);
	size.rows = rd_u32(r);
	size.width_px = rd_u32(r);
	size.height_px = rd_u32(r);
	if ((err = rd_end(r)) != 0)
		return err;
	if (s->pty == -1)
		return CHANNEL_FAILURE;
	s->size = size;
	pty_set_size(s->pty, &size);
	return CHANNEL_SUCCESS;
}

static bool
env_accepted(const struct session *s, const char *name)
{
	const struct strlist *patterns =
	    &s->all->params->conf->session.accept_env;

	if (strchr(name, '=') != NULL || name[0] == '\0')
		return false;
	for (size_t i = 0; i < patterns->n; i++)
		if (str_match(name, patterns->v[i]))
			return true;
	return false;
}

static int
on_env(struct session *s, struct rd *r)
{
	char *name = rd_cstring(r, NAME_MAX_BYTES);
	char *value = rd_cstring(r, SESSION_ENV_BYTES), *both;
	int err = rd_end(r), result = CHANNEL_FAILURE;

	if (err == 0 && s->env.n < SESSION_ENV_MAX && env_accepted(s, name)) {
		xasprintf(&both, "%s=%s", name, value);
		err = strlist_add(&s->env, both);
		free(both);
		result = CHANNEL_SUCCESS;
	}
	free(name);
	free(value);
	return err != 0 ? err : result;
}

static int
on_shell(struct session *s, struct rd *r)
{
	int err = rd_end(r);

	return err != 0 ? err : start_session(s, SESSION_SHELL, NULL);
}

static int
on_exec(struct session *s, struct rd *r)
{
	char *command = rd_cstring(r, SESSION_COMMAND_MAX);
	int err = rd_end(r);

	if (err == 0)
		err = start_session(s, SESSION_EXEC, command);
	free(command);
	return err;
}

static int
on_subsystem(struct session *s, struct rd *r)
{
	char *name = rd_cstring(r, NAME_MAX_BYTES);
	const char *command;
	int err = rd_end(r);

	if (err != 0 || s->state != SESSION_NEW)
		goto out;
	command = server_conf_subsystem(s->all->params->conf, name);
	if (command == NULL) {
		log_info("subsystem request for %s by user %s failed, "
			 "subsystem not found",
		    name, s->all->params->user->name);
		goto out;
	}
	log_debug("subsystem request for %s by user %s", name,
	    s->all->params->user->name);
	s->subsystem = name;
	err = start_session(s, SESSION_SUBSYSTEM, command);
	if (err == CHANNEL_SUCCESS)
		name = NULL;
	else
		s->subsystem = NULL; /* the client may ask again */
out:
	free(name);
	return err;
}

/* Signals the process's group, or before its setsid() the process alone. */
static bool
send_signal(const struct session *s, int signo)
{
	return killpg(s->pid, signo) == 0 ||
	    (errno == ESRCH && kill(s->pid, signo) == 0);
}

static int
on_signal(struct session *s, struct rd *r)
{
	char *name = rd_cstring(r, NAME_MAX_BYTES);
	int err = rd_end(r), result = CHANNEL_FAILURE, signo;

	signo = err == 0 ? signal_ssh_number(name) : 0;
	if (signo != 0 && s->pid > 0 && s->state != SESSION_EXITED &&
	    s->takes_signals && send_signal(s, signo))
		result = CHANNEL_SUCCESS;
	free(name);
	return err != 0 ? err : result;
}

static int
on_break(struct session *s, struct rd *r)
{
	int err;

	(void)rd_u32(r); /* length of the break in ms */
	if ((err = rd_end(r)) != 0)
		return err;
	return s->pty != -1 && tcsendbreak(s->pty, 0) == 0 ?
	    CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

/* The client reads no more output: closes our end of the pipes, so that the
 * process gets SIGPIPE when it writes. */
static int
on_eow(struct session *s, struct rd *r)
{
	int err = rd_end(r);

	if (err != 0 || s->pty != -1 || s->state == SESSION_NEW)
		return err;
	channel_end_source(s->channel);
	fd_close(&s->fd_out);
	fd_close(&s->fd_err);
	return CHANNEL_SUCCESS;
}

static const struct {
	const char *name;
	int (*fn)(struct session *s, struct rd *r);
} requests[] = {
	{ "agent-req", on_agent_req },
	{ "auth-agent-req@openssh.com", on_old_agent_req },
	{ "x11-req", on_x11_req },
	{ "pty-req", on_pty_req },
	{ "window-change", on_window_change },
	{ "env", on_env },
	{ "shell", on_shell },
	{ "exec", on_exec },
	{ "subsystem", on_subsystem },
	{ "signal", on_signal },
	{ "break", on_break },
	{ "eow@openssh.com", on_eow },
};

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	log_debug("session_input_channel_req: session %u req %.*s",
	    channel_id(c), (int)MIN(name.len, (size_t)NAME_MAX_BYTES),
	    (const char *)name.p);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		if (span_equals(name, requests[i].name))
			return requests[i].fn(arg, data);
	return CHANNEL_FAILURE;
}

static const struct channel_ops session_ops = {
	.request = on_request,
	.eof = on_eof,
	.peer_closed = on_peer_closed,
	.closed = on_closed,
	.source_end = on_source_end,
	.sink_failed = on_sink_failed,
};

/* ---- opening ------------------------------------------------------------ */

void
sessions_wait(struct sessions *ss, bool waits)
{
	agent_door_shut(ss->agent, waits);
}

bool
sessions_are_over(const struct sessions *ss)
{
	return ss->forwarded != NULL && ss->count == 0;
}

int
sessions_open(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	struct sessions *ss = o->sessions;
	struct session *s;
	int err = rd_end(data);

	if (err != 0)
		return err;
	if (ss->no_more) {
		log_info("client opens a session although it had said that "
			 "there will be no more");
		return ERR_PROTOCOL;
	}
	/* A grant's limits are counted in its session, so there may be one
	 * session only. */
	if (ss->params->grant != NULL && ss->granted)
		return channel_refuse(c, CHANNEL_OPEN_PROHIBITED, NULL);
	if (!session_limit_begin(ss->params, ss->count))
		return session_limit_refuse(ss->params, ss->count, c);
	ss->forwarded = o->forwarded;
	s = xcalloc(1, sizeof *s);
	s->all = ss;
	s->channel = c;
	s->pty = s->tty = s->fd_in = s->fd_out = s->fd_err = -1;
	TAILQ_INSERT_HEAD(&ss->list, s, entry);
	ss->count++;
	ss->granted = ss->params->grant != NULL;
	/* The window is 0 until a program is started, which reads the input. */
	err = channel_accept(c, &session_ops, s, 0, CHANNEL_PACKET_DEFAULT);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

int
sessions_no_more(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	int err = rd_end(data);

	(void)reply;
	if (err != 0)
		return err;
	o->sessions->no_more = true;
	return CHANNEL_SUCCESS;
}

struct sessions *
sessions_new(struct loop *l, const struct packet *p, struct kex *k,
    const struct serve_params *params, const char *nologin)
{
	struct sessions *ss = xcalloc(1, sizeof *ss);

	TAILQ_INIT(&ss->list);
	ss->loop = l;
	ss->packet = p;
	ss->kex = k;
	ss->params = params;
	ss->nologin = nologin;
	ss->auth_info_path = session_auth_info(params);
	if (loop_on_signal(l, SIGCHLD, on_sigchld, ss) != 0)
		fatal("out of memory");
	show_terminals(ss);
	return ss;
}

void
sessions_set_tunnels(struct sessions *ss,
    const struct forward_tunnels *tunnels)
{
	ss->tunnels = tunnels;
}

void
sessions_set_events(struct sessions *ss, struct session_events *events)
{
	ss->events = events;
}

void
sessions_free(struct sessions *ss)
{
	while (!TAILQ_EMPTY(&ss->list))
		session_free(TAILQ_FIRST(&ss->list));
	displays_free(ss->displays);
	owners_free(ss->owners);
	agent_door_close(ss->agent);
	if (loop_on_signal(ss->loop, SIGCHLD, NULL, NULL) != 0)
		log_debug("SIGCHLD stays handled");
	if (ss->auth_info_path != NULL)
		unlink(ss->auth_info_path);
	free(ss->auth_info_path);
	free(ss);
}
