/* SPDX-License-Identifier: ISC */
/*
 * The monitor after the login: starts the user's process and answers its
 * requests.
 */
#include "server/monitor/monitor.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "server/monitor/delegated.h"
#include "server/monitor/monitor-counts.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor-grants.h"
#include "server/monitor/monitor-shares.h"
#include "server/monitor/monitor-survive.h"
#include "server/monitor/monitor-tickets.h"
#include "server/monitor/user-exec.h"
#include "server/privs.h"
#include "server/session-plan.h"
#include "server/user-state.h"

enum {
	AUTH_END_MS = 5000, /* how long hpnsshd-auth may take to end */
	TOLD_END_MS = 10 * 1000, /* how long a session that was told to end
				  * may take for that */
};

/* ---- before it ---------------------------------------------------------- */

/* The handler of signals to end while the loop does not run. It only keeps them
 * from ending the process, which has something to undo at its end: the file
 * with credentials and the session of PAM. answer_user() sets the handler that
 * acts on them. */
static void
on_early_end(void *arg, int signo)
{
	(void)arg;
	(void)signo;
}

/* Sets the handler of SIGTERM and SIGHUP. fn NULL: they end the process, also
 * those that have already come. */
static void
catch_end_signals(struct loop *loop, loop_signal_fn fn)
{
	if (loop_on_signal(loop, SIGTERM, fn, NULL) != 0 ||
	    loop_on_signal(loop, SIGHUP, fn, NULL) != 0)
		fatal("out of memory");
}

/* Removes and closes what the login has made, then ends the process. */
static _Noreturn void
give_up_user(struct monitor *m, const char *what)
{
	delegated_remove(m->login);
	monitor_events_end();
	login_free(m->login);
	fatal("%s", what);
}

/* Opens the session of PAM. The user's groups are set before, because modules
 * add groups. */
static void
begin_pam_session(struct monitor *m, struct loop *loop)
{
	const char *name = m->login->user->name;
	char *what;
	int r;

	privs_set_groups(m->login->user);
	/* A module may wait for ever: then a signal must be able to end the
	 * process. */
	if (m->login->ccache == NULL)
		catch_end_signals(loop, NULL);
	r = pam_begin_session(m->login->pam);
	catch_end_signals(loop, on_early_end);
	/* Most session modules need the superuser's rights. A server that an
	 * ordinary user has started goes on without them, as OpenSSH's does. */
	if (r == 0 || geteuid() != 0)
		return;
	xasprintf(&what, "PAM opens no session for user %s", name);
	give_up_user(m, what);
}

static _Noreturn void
give_up_start(struct monitor *m, const char *of)
{
	char *what;

	xasprintf(&what, "%s: %s", of, strerror(errno));
	give_up_user(m, what);
}

/* ---- its start ---------------------------------------------------------- */

static void
put_environment(const struct monitor *m, struct strlist *env)
{
	if (m->login->pam != NULL)
		pam_environment(m->login->pam, env);
	else
		delegated_environment(m->login, env);
}

/* Sends the state to the user's process. s borrows from m and is only read. */
static int
send_state(const struct monitor *m, struct user_state *s)
{
	const struct login *l = m->login;

	s->conf = l->conf;
	s->user = *l->user;
	s->permits = l->permits;
	s->peer = m->peer;
	s->peer_text = m->peer_text;
	s->remote = m->remote;
	s->id_local = m->id_local;
	s->keys = m->state.keys;
	s->gss_kex = (char *)(uintptr_t)gss_exchange_methods(m->gss);
	s->client_lines = l->client_lines;
	s->auth_info = l->auth_info;
	s->must_change = l->must_change;
	s->grant = l->grant;
	s->ccache = delegated_to_remove(l);
	s->monitor = getpid();
	s->keep_caps = proc_keeps_caps();
	s->log_level = (int)log_get_level();
	s->log_locations = *log_locations();
	s->log_to_stderr = m->state.log_to_stderr;
	s->packet_state = m->packet_state;
	s->kex_state = m->kex_state;
	return user_state_send(s, m->fd);
}

static void
execute_user(struct monitor *m)
{
	struct program *user = &m->state.programs[PROGRAM_USER];
	struct user_state s = { .began_ms = clock_ms() };
	int pair[2], r;

	put_environment(m, &s.login_env);
	if (user_exec_take_label(&s.exec_label) != 0)
		give_up_start(m, "cannot clear the attribute of programs");
	if (sock_pair(SOCK_STREAM, pair) == -1)
		give_up_start(m, "socketpair");
	m->fd = pair[0];
	if (user_exec(&m->child, user, m->socket_fd, pair[1]) != 0)
		give_up_start(m, user->path);
	fd_close(&pair[1]);
	program_let_go(user);
	log_verbose("User child is on pid %ld", (long)m->child);
	if ((r = send_state(m, &s)) != 0)
		log_error("the user's process does not take its state: %s",
		    err_text(r));
	strlist_clear(&s.login_env);
	free(s.exec_label);
}

static void
start_user(struct monitor *m, struct loop *loop)
{
	const struct login *l = m->login;

	catch_end_signals(loop, on_early_end);
	delegated_store(m->login);
	m->sftp_only = !l->must_change &&
	    (l->grant.path != NULL ||
		session_is_sftp_only(l->conf.session.force_command,
		    l->permits.command));
	monitor_tickets_prepare(m);
	monitor_survive_prepare(m);
	if (l->pam != NULL)
		begin_pam_session(m, loop);
	else
		privs_set_groups(l->user);
	/* A Match block may set another congestion control for this user than
	 * for the address. */
	if (server_conf_has_match(&m->state.conf))
		(void)tcp_set_congestion(m->socket_fd,
		    l->conf.data.congestion_control);
	execute_user(m);
	m->phase = MONITOR_PHASE_SESSION;
	fd_close(&m->socket_fd);
	buf_clear(&m->packet_state);
	buf_clear(&m->kex_state);
}

/* ---- its requests ------------------------------------------------------- */

/* State of the loop that waits for requests of the user's process and for
 * signals to end. */
struct user_wait {
	struct monitor *m;
	struct loop *loop;
	int error;
	bool asked; /* a request was answered */
	bool end_requested;
};

static void
on_request(void *arg, int fd, int events)
{
	struct user_wait *w = arg;

	(void)fd;
	(void)events;
	if ((w->error = monitor_step(w->m)) != 0)
		loop_stop(w->loop);
	else
		w->asked = true;
}

static void
on_end_signal(void *arg, int signo)
{
	struct user_wait *w = arg;

	(void)signo;
	w->end_requested = true;
	loop_stop(w->loop);
}

/* Answers the requests of the user's process until it ends or a signal comes.
 * The loop's signal handlers stay until records and the PAM session are closed:
 * without them a signal would end this process before. */
static int
answer_user(struct monitor *m, struct loop *loop)
{
	struct user_wait w = { .m = m, .loop = loop };
	struct loop_fd *watch;
	bool gave_way, told;
	int r;

	watch = loop_watch(w.loop, m->fd, LOOP_READ, on_request, &w);
	if (watch == NULL ||
	    loop_on_signal(w.loop, SIGTERM, on_end_signal, &w) != 0 ||
	    loop_on_signal(w.loop, SIGHUP, on_end_signal, &w) != 0)
		fatal("out of memory");
	monitor_counts_run(monitor_events_counts(m->events), w.loop);
	monitor_tickets_begin(m, loop);
	monitor_survive_begin(m, loop);
	monitor_granted_begin(m, loop);
	monitor_shares_begin(m, loop);
	r = loop_run(w.loop);
	monitor_shares_end(m);
	monitor_survive_end(m);
	gave_way = monitor_tickets_gave_way(m) || monitor_granted_over(m);
	monitor_granted_end(m);
	if (w.error != 0 && w.error != ERR_EOF)
		r = w.error;
	if (r != 0)
		log_error("user's process is stopped: %s", err_text(r));
	monitor_tickets_stop(m, w.end_requested || r != 0);
	told = w.end_requested || r != 0 || gave_way;
	if (told)
		kill(m->child, SIGTERM);
	loop_unwatch(loop, watch);
	fd_close(&m->fd);
	/* A process that its user has stopped (SIGSTOP) does not act on the
	 * signal, so the wait for it has a limit. */
	r = monitor_reap(m, m->child, "session", told ? TOLD_END_MS : 0);
	/* The child ended without reading its state, so the file of that name
	 * is another program: that is an error even if it ended well. */
	if (m->left_unread && !w.asked)
		log_error("%s for %s has ended without a look at its state",
		    m->state.programs[PROGRAM_USER].path,
		    m->peer_text);
	monitor_logout_all(m);
	delegated_remove(m->login);
	return r;
}

int
monitor_serve_user(struct monitor *m, struct loop *loop)
{
	start_user(m, loop);
	/* An hpnsshd-auth that was taken over might never end. While this
	 * process waits for it, no signal would end this process, so the wait
	 * has a limit. */
	if (monitor_reap(m, m->auth, "hpnsshd-auth", AUTH_END_MS) != 0)
		log_error("hpnsshd-auth for %s failed at its end",
		    m->peer_text);
	/* Gives memory that authentication has used back to the system. */
	mem_give_back();
	return answer_user(m, loop);
}
