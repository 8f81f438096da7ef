/* SPDX-License-Identifier: ISC */
/*
 * The privileged process of a connection: it serves hpnsshd-auth first, then
 * the user's process (monitor-user.c).
 */
#include "base/clock.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "base/version.h"
#include "compat/bsd-mem.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "crypto/library.h"
#include "keys/key.h"
#include "server/monitor/monitor-survive.h"
#include "server/monitor/monitor-tickets.h"
#include "server/monitor/user-exec.h"
#include "server/oom.h"

enum { AUTH_END_MS = 5000 }; /* how long hpnsshd-auth may take to end */
enum { ALARM_SLACK_S = 5 }; /* seconds after LoginGraceTime that alarm(2) waits
			     * for a blocking module */

extern char **environ;

/* ---- preparation -------------------------------------------------------- */

static void
set_up_log(const struct server_state *s)
{
	log_init(s->conf.log.name, (enum log_level)s->conf.log.log_level);
	if (s->log_to_stderr)
		log_to_stderr();
	else
		log_to_syslog(s->conf.log.syslog_facility);
	state_log_locations(&s->conf);
}

static void
set_up_socket(const struct monitor *m)
{
	int on = 1;

	fd_set_nodelay(m->socket_fd);
	if (m->state.conf.listen.tcp_keep_alive)
		(void)setsockopt(m->socket_fd, SOL_SOCKET, SO_KEEPALIVE, &on,
		    sizeof on);
}

void
monitor_report_penalty(struct monitor *m, enum penalty_class c)
{
	uint8_t byte = (uint8_t)c;

	if (m->startup_fd == -1 || c <= m->penalty)
		return;
	m->penalty = c;
	(void)!write(m->startup_fd, &byte, 1);
}

/* Tells the listener that the connection is authenticated. The listener then no
 * longer counts it. */
static void
report_authenticated(struct monitor *m)
{
	static const uint8_t byte = STATE_AUTHENTICATED;

	if (m->startup_fd != -1)
		(void)!write(m->startup_fd, &byte, 1);
	fd_close(&m->startup_fd);
}

/* Applies settings that depend on the address only (Match Address), before a
 * user name is known. Ends the process for RefuseConnection. */
static void
apply_address_rules(struct monitor *m)
{
	const struct server_conf_spec spec = { .host = m->peer.host,
		.addr = m->peer.address,
		.laddr = m->peer.local_address,
		.lport = m->peer.local_port,
		.rdomain = m->peer.rdomain };
	struct server_conf conf;

	if (!server_conf_has_match(&m->state.conf)) {
		(void)tcp_set_congestion(m->socket_fd,
		    m->state.conf.data.congestion_control);
		if (!m->state.conf.login.refuse_connection)
			return;
	} else {
		if (server_conf_for(&m->state.conf, &spec, &conf) != 0)
			fatal("cannot make the connection's configuration");
		log_set_level((enum log_level)conf.log.log_level);
		state_log_locations(&conf);
		(void)tcp_set_congestion(m->socket_fd,
		    conf.data.congestion_control);
		if (!conf.login.refuse_connection) {
			server_conf_clear(&conf);
			return;
		}
		server_conf_clear(&conf);
	}
	log_info("Connection from %s refused by RefuseConnection",
	    m->peer_text);
	monitor_report_penalty(m, PENALTY_REFUSED);
	exit(MONITOR_STATUS_FATAL);
}

static void
set_deadline(struct monitor *m)
{
	int grace_s = m->state.conf.listen.login_grace_time;

	if (grace_s <= 0)
		return;
	m->deadline_ms = clock_ms() + (uint64_t)grace_s * 1000;
	/* For calls that block, where deadline_ms is not looked at. There is no
	 * handler: the default action ends the process. */
	alarm((unsigned)grace_s + ALARM_SLACK_S);
}

/* ---- hpnsshd-auth's start ------------------------------------------------ */

static int
spawn_auth(struct monitor *m, bool waits, int its_end)
{
	static char name[] = MONITOR_NAME_WAITS;
	/* proc_title() writes over arguments and environment. This variable
	 * only makes room for the name of a user. */
	static char room[] = "TITLE=........................................";
	struct program *program = &m->state.programs[PROGRAM_AUTH];
	char *argv[] = { waits ? name : program->path, NULL };
	char *env[] = { room, NULL };
	const struct program_start s = { .program = program, .argv = argv,
		.env = env, .n = 2, .n_by_path = 2,
		.fds = { waits ? -1 : m->socket_fd, its_end } };
	int r = program_start(&s, &m->child);

	program_let_go(program);
	return r;
}

/* Starts hpnsshd-auth. waits: it gets the connection later. */
static void
start_auth(struct monitor *m, bool waits)
{
	int pair[2], r;

	if (sock_pair(SOCK_STREAM, pair) == -1)
		fatal("socketpair: %s", strerror(errno));
	if ((r = spawn_auth(m, waits, pair[1])) != 0)
		fatal("cannot start %s: %s",
		    m->state.programs[PROGRAM_AUTH].path, strerror(r));
	close(pair[1]);
	m->fd = pair[0];
}

/* ---- the connection ------------------------------------------------------ */

/* In a process that was started in advance: waits for the connection, which may
 * never come. */
static void
wait_for_connection(struct monitor *m)
{
	int fd;

	start_auth(m, true);
	crypto_library_warm(CRYPTO_SIGNATURES);
	if (fd_receive_fds(STATE_FD_SOCKET, &fd, 1) != 0)
		exit(0); /* the listener needs no spare process */
	if (sock_copy_to(fd, STATE_FD_SOCKET) == -1)
		fatal("dup2: %s", strerror(errno));
	fd_close(&fd);
	proc_title("[accepted]");
}

static void
take_programs(struct monitor *m)
{
	struct program *user = &m->state.programs[PROGRAM_USER];

	program_take(&m->state.programs[PROGRAM_AUTH], STATE_FD_AUTH);
	program_take(user, STATE_FD_USER);
	user_exec_prepare(user);
}

static void
begin(struct monitor *m, bool waits)
{
	int state_fd = STATE_FD_STATE;
	int r = state_from_fd(&m->state, state_fd);

	if (r == 0)
		oom_give_back(OOM_FILE, m->state.oom_before);
	fd_close(&state_fd);
	set_up_log(&m->state);
	if (r != 0)
		fatal("cannot read the state of the listener%s: %s",
		    r == ERR_FORMAT ? " (restart hpnsshd if it was replaced)" :
				      "", err_text(r));
	m->socket_fd = STATE_FD_SOCKET;
	m->startup_fd = STATE_FD_STARTUP;
	m->phase = MONITOR_PHASE_KEX;
	take_programs(m);
	if (fd_set_cloexec(m->socket_fd, true) != 0)
		fatal("no connection: %s", strerror(errno));
	if (fd_set_cloexec(m->startup_fd, true) != 0)
		m->startup_fd = -1;
	if (waits)
		wait_for_connection(m);
	/* Before peer_init(): looking up the host's name may take long. */
	set_deadline(m);
	peer_init(&m->peer, m->socket_fd, m->state.conf.listen.use_dns != 0);
	xasprintf(&m->peer_text, "%s port %u", m->peer.address, m->peer.port);
	xasprintf(&m->remote, "%s-%u", m->peer.address, m->peer.port);
	log_verbose("Connection from %s on %s port %u rdomain \"%s\"",
	    m->peer_text, m->peer.local_address, m->peer.local_port,
	    m->peer.rdomain);
	monitor_events_begin(m);
	set_up_socket(m);
	apply_address_rules(m);
}

/* ---- hpnsshd-auth ------------------------------------------------------ */

/* Writes the public keys and certificates that serve the comma list algs. */
static void
put_hostkeys(const struct hostkeys *h, const char *algs, struct buf *out)
{
	struct strlist names = { 0 };
	struct span blob;

	xstrlist_split(&names, algs, ",");
	for (size_t i = 0; i < names.n; i++)
		if (hostkeys_blob(h, names.v[i], &blob) == 0)
			monitor_params_add_hostkey(out, names.v[i], blob);
	strlist_clear(&names);
}

static void
send_params(const struct monitor *m)
{
	const struct server_conf *c = &m->state.conf;
	char *algs = hostkeys_algs(&m->state.keys, c->algs.host_key_algorithms);
	char *sig_algs =
	    key_algs_of_signatures(c->algs.pubkey_accepted_algorithms);
	struct monitor_params p = { .ident = m->id_local,
		.kex = c->algs.kex_algorithms,
		.gss_kex = (char *)(uintptr_t)gss_exchange_methods(m->gss),
		.hostkey_algs = algs,
		.ciphers = c->algs.ciphers,
		.macs = c->algs.macs,
		.compression = (char *)(uintptr_t)(c->algs.compression ==
			    SERVER_COMPRESSION_NO ? "none" :
						    "none,zlib@openssh.com"),
		.sig_algs = sig_algs,
		.pubkey_algs = c->algs.pubkey_accepted_algorithms,
		.methods = login_methods_of_all(c),
		.moduli = c->listen.moduli_file,
		.chroot = m->state.chroot,
		.uid = m->state.auth_uid,
		.gid = m->state.auth_gid,
		.peer = m->peer_text,
		.remote = m->remote,
		.floor_us = login_floor_us(&m->state),
		.log_level = (int)log_get_level(),
		.log_locations = *log_locations() };
	struct buf b;

	if (sig_algs == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	put_hostkeys(&m->state.keys, algs, &p.hostkeys);
	memcpy(p.salt, m->state.salt, sizeof p.salt);
	buf_init_secret(&b);
	monitor_params_put(&b, &p);
	if (fd_send_msg(m->fd, &b) != 0)
		fatal("cannot talk to hpnsshd-auth: %s", strerror(errno));
	buf_clear(&b);
	explicit_bzero(p.salt, sizeof p.salt);
	buf_clear(&p.hostkeys);
	free(p.methods);
	free(sig_algs);
	free(algs);
}

static int
reap(pid_t pid, uint64_t wait_ms, int *status)
{
	int r = ERR_TIMEOUT;

	if (wait_ms != 0)
		r = child_reap_until(pid, clock_ms() + wait_ms, status);
	if (wait_ms != 0 && r == ERR_TIMEOUT)
		(void)kill(pid, SIGKILL);
	return r == ERR_TIMEOUT ? child_reap(pid, status) : r;
}

int
monitor_reap(struct monitor *m, pid_t pid, const char *what, uint64_t wait_ms)
{
	int status = 0;

	if (reap(pid, wait_ms, &status) != 0)
		return MONITOR_STATUS_FATAL;
	if (child_crashed(status))
		monitor_report_penalty(m, PENALTY_CRASH);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGSYS)
		log_error("%s for %s was stopped by its sandbox", what,
		    m->peer_text);
	else if (WTERMSIG(status) != SIGTERM && WTERMSIG(status) != SIGHUP)
		log_error("%s for %s was killed by signal %d", what,
		    m->peer_text, WTERMSIG(status));
	return MONITOR_STATUS_FATAL;
}

static void
authenticate(struct monitor *m)
{
	int r = 0;

	m->gss = gss_exchange_new(&m->state.conf);
	if (m->child == 0)
		start_auth(m, false);
	else if (fd_send_fds(m->fd, &m->socket_fd, 1) != 0)
		fatal("cannot talk to hpnsshd-auth: %s", strerror(errno));
	send_params(m);
	while (r == 0 && m->phase != MONITOR_PHASE_OVER)
		r = monitor_step(m);
	if (r == ERR_TIMEOUT) {
		log_info("Timeout before authentication for connection from "
			 "%s to %s, pid = %ld",
		    m->peer.address, m->peer.local_address, (long)getpid());
		monitor_report_penalty(m, PENALTY_GRACE);
		monitor_events_limit(m->events, "LoginGraceTime");
	} else if (r != 0 && r != ERR_EOF) {
		log_info("Connection of %s is dropped: %s", m->peer_text,
		    err_text(r));
	}
	fd_close(&m->fd);
	if (r != 0 && r != ERR_EOF) {
		kill(m->child, SIGKILL);
		(void)waitpid(m->child, NULL, 0);
		exit(MONITOR_STATUS_FATAL);
	}
	if (r != 0) {
		(void)monitor_reap(m, m->child, "hpnsshd-auth", 0);
		exit(MONITOR_STATUS_FATAL);
	}
	/* hpnsshd-auth has handed over the state: its end need not be waited
	 * for. */
	m->auth = m->child;
	m->child = 0;
	alarm(0);
	m->deadline_ms = 0;
	report_authenticated(m);
}

/* Hands the connection to the session that goes on over it, and ends this
 * process's part. */
static int
attach(struct monitor *m)
{
	int status = monitor_attach(m);

	(void)monitor_reap(m, m->auth, "hpnsshd-auth", AUTH_END_MS);
	monitor_events_end();
	gss_exchange_free(m->gss);
	state_clear(&m->state);
	login_free(m->login);
	return status;
}

int
monitor_run(bool waits)
{
	static struct monitor m; /* static: zeroed, and large because of ttys */
	const char *addendum;
	struct loop *loop;
	int status;

	signal(SIGPIPE, SIG_IGN);
	begin(&m, waits);
	addendum = m.state.conf.listen.version_addendum;
	xasprintf(&m.id_local, "%s%s%s", HPN_IDENT,
	    addendum != NULL ? " " : "", addendum != NULL ? addendum : "");
	authenticate(&m);
	if (m.login->resumes)
		return attach(&m);
	if ((loop = loop_new()) == NULL)
		fatal("out of memory");
	status = monitor_serve_user(&m, loop);
	if (m.state.once) /* as in OpenSSH, whose tests expect it */
		status = MONITOR_STATUS_FATAL;
	monitor_events_end();
	pam_free(m.login->pam);
	m.login->pam = NULL;
	gss_exchange_free(m.gss);
	/* The host keys are not needed any more. */
	state_clear(&m.state);
	monitor_tickets_linger(&m);
	login_free(m.login);
	loop_free(loop);
	return status;
}
