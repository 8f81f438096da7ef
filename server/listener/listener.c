/* SPDX-License-Identifier: ISC */
#include "server/listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/proc.h"
#include "compat/queue.h"
#include "compat/sock.h"
#include "conf/auth-method-table.h"
#include "crypto/rand.h"
#include "server/listener/admission.h"
#include "server/listener/hash-survey.h"
#include "server/listener/inetd-pipes.h"
#include "server/listener/penalties.h"
#include "server/listener/turned-away.h"
#include "server/listener/listen-addresses.h"
#include "server/listener/reload.h"
#include "server/listener/session-start.h"
#include "server/oom.h"
#include "server/peer.h"

enum {
	PAUSE_MS = 100, /* until accept(2) is tried again after descriptors or
			 * memory ran out */
	/* How many descriptors must be free: three for the loop and the survey
	 * of hashes, three for a new connection and both ends of the pipe of
	 * its reports, one for a copy while its program is started, and one
	 * for each of two others that are about to log in. */
	DESCRIPTORS_LEAST = 9,
	SPARE_WAITS_MS = 2000, /* at most for the survey of hashes */
};

/* Environment variable for the program that replaces this one at SIGHUP: it is
 * in the background already and must not go there again. */
#define RESTARTED "HPNSSHD_RESTARTED"

/* A connection that is not authenticated yet. */
struct startup {
	struct listener *listener;
	TAILQ_ENTRY(startup) entry;
	pid_t pid;
	/* Pipe with reports of hpnsshd-session; STATE_FD_STARTUP in
	 * server/state.h. */
	int fd;
	struct loop_fd *watch; /* NULL: the pipe has ended */
	struct admission_peer peer;
	struct sockaddr_storage from, to; /* addresses of the connection */
	/* The class of the peer's penalty if the process ends now. */
	enum penalty_class why;
};

struct listener {
	struct server_state *state;
	const struct listener_opts *opts;
	struct loop *loop;
	struct session_program session;
	struct session_spare spare;
	struct listen_set sockets;
	struct loop_fd *watches[LISTEN_MAX];
	TAILQ_HEAD(startup_list, startup) startups;
	int startup_count;
	struct admission *admission;
	struct turned_away *away; /* NULL: connections that are turned away are
				   * not recorded */
	struct reload reload;
	struct hash_survey *survey; /* NULL: there is none */
	struct loop_timer *spare_timer; /* the spare process waits for it */
	char title[256]; /* the command line, for ps(1) */
	/* accept(2) has failed for want of descriptors or memory, and this was
	 * logged. */
	bool is_short;
	bool restart;
	bool pid_written;
	int status;
};

/* ---- the title of the process ------------------------------------------- */

/* Shows the count in the title for ps(1) and for monitoring. */
static void
show_startups(const struct listener *l)
{
	const struct server_startups *max = &l->state->conf.listen.max_startups;

	proc_title("%s [listener] %d of %d-%d startups", l->title,
	    l->startup_count, max->begin, max->full);
}

static void
make_title(struct listener *l)
{
	char **argv = l->opts->argv;

	for (size_t i = 0; argv[i] != NULL; i++) {
		strlcat(l->title, i > 0 ? " " : "", sizeof l->title);
		strlcat(l->title, argv[i], sizeof l->title);
	}
	show_startups(l);
}

/* ---- connections that are not authenticated ------------------------------ */

static void
startup_over(struct startup *s)
{
	TAILQ_REMOVE(&s->listener->startups, s, entry);
	s->listener->startup_count--;
	show_startups(s->listener);
	loop_unwatch(s->listener->loop, s->watch);
	fd_close(&s->fd);
	free(s);
}

/* Starts a spare process, unless it waits for the survey. */
static void
fill_spare(struct listener *l)
{
	if (l->spare_timer == NULL)
		session_spare_fill(&l->spare, &l->session);
}

/* A login has succeeded or failed: now there is time to start a spare process
 * for the next one. */
static void
startup_leaves(struct startup *s)
{
	struct listener *l = s->listener;

	startup_over(s);
	fill_spare(l);
}

/* Reads the reports of hpnsshd-session so far. True: the user is
 * authenticated. */
static bool
is_authenticated(struct startup *s)
{
	uint8_t report[16];
	ssize_t n;

	while ((n = read(s->fd, report, sizeof report)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (report[i] == STATE_AUTHENTICATED)
				return true;
			if (report[i] < PENALTY_CLASSES && report[i] > s->why)
				s->why = (enum penalty_class)report[i];
		}
	if (n == 0) {
		loop_unwatch(s->listener->loop, s->watch);
		s->watch = NULL;
	}
	return false;
}

/* An unauthenticated process counts as a startup until it has ended, not only
 * until its reports end: only its exit status says whether it crashed. */
static void
on_startup_report(void *arg, int fd, int events)
{
	struct startup *s = arg;

	(void)fd;
	(void)events;
	if (is_authenticated(s))
		startup_leaves(s);
}

/* The process was killed by its own alarm(2), which acts where its other time
 * limits do not: in a call that does not return, of a name server or a
 * module. */
static void
log_timeout(const struct startup *s)
{
	uint16_t port;
	char *from = peer_format_address((const struct sockaddr *)&s->from,
	    sizeof s->from, &port);
	char *to = peer_format_address((const struct sockaddr *)&s->to,
	    sizeof s->to, &port);

	log_info("Timeout before authentication for connection from %s to %s, "
		 "pid = %ld",
	    from, to, (long)s->pid);
	free(from);
	free(to);
}

/* The process of s has ended; wait_status is from waitpid(2). */
static void
startup_ended(struct startup *s, int wait_status)
{
	struct listener *l = s->listener;

	if (!is_authenticated(s)) {
		if (child_crashed(wait_status))
			s->why = PENALTY_CRASH;
		else if (WIFSIGNALED(wait_status) &&
		    WTERMSIG(wait_status) == SIGALRM) {
			log_timeout(s);
			s->why = MAX(s->why, PENALTY_GRACE);
		}
		admission_penalise(l->admission, &s->peer, s->why,
		    (int64_t)clock_us());
	}
	startup_leaves(s);
}

static void
start_connection(struct listener *l, int connection,
    const struct sockaddr_storage *from, const struct admission_peer *peer)
{
	struct session_process process;
	struct startup *s;
	socklen_t len = sizeof s->to;
	int r;

	if (!session_spare_take(&l->spare, connection, &process) &&
	    (r = session_start(&l->session, connection, &process)) != 0) {
		log_error("cannot start %s: %s",
		    l->state->programs[PROGRAM_SESSION].path, strerror(r));
		return;
	}
	log_debug("Forked child %ld.", (long)process.pid);
	s = xcalloc(1, sizeof *s);
	s->listener = l;
	s->pid = process.pid;
	s->fd = process.reports;
	s->peer = *peer;
	s->from = *from;
	(void)getsockname(connection, (struct sockaddr *)&s->to, &len);
	s->why = PENALTY_NOAUTH;
	s->watch = loop_watch(l->loop, s->fd, LOOP_READ, on_startup_report, s);
	if (s->watch == NULL)
		fatal("out of memory");
	TAILQ_INSERT_HEAD(&l->startups, s, entry);
	l->startup_count++;
	show_startups(l);
}

/* ---- accepting ---------------------------------------------------------- */

static int
count_source(const struct listener *l, const struct startups_source *source)
{
	const struct startup *s;
	int n = 0;

	TAILQ_FOREACH(s, &l->startups, entry)
		n += startups_same_source(&s->peer.source, source);
	return n;
}

static bool
is_refused(struct listener *l, int connection, const struct sockaddr *sa,
    socklen_t len, const struct admission_peer *peer)
{
	const struct admission_load load = { .startups = l->startup_count,
		.same_source = count_source(l, &peer->source),
		.chance = rand_uniform(100) };
	const char *keyword = admission_refuses(l->admission, connection, sa,
	    len, peer, &load, (int64_t)clock_us());

	if (keyword == NULL)
		return false;
	turned_away_note(l->away, keyword, sa, len);
	return true;
}

static void
resume_accepting(void *arg)
{
	struct listener *l = arg;

	for (size_t i = 0; i < l->sockets.n; i++)
		loop_fd_want(l->watches[i], LOOP_READ);
}

static void
pause_accepting(struct listener *l)
{
	for (size_t i = 0; i < l->sockets.n; i++)
		loop_fd_want(l->watches[i], 0);
	if (loop_after(l->loop, PAUSE_MS, resume_accepting, l) == NULL)
		fatal("out of memory");
}

/* -d and -i: this process becomes the hpnsshd-session of the only
 * connection. */
static _Noreturn void
become_session(const struct listener *l, int connection)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1)
		fatal("/dev/null: %s", strerror(errno));
	fatal("cannot start %s: %s", l->state->programs[PROGRAM_SESSION].path,
	    strerror(session_become(&l->session, connection, null)));
}

static void
on_connection(void *arg, int fd, int events)
{
	static const char refusal[] = "Not allowed at this time\r\n";
	struct listener *l = arg;
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;
	struct admission_peer peer;
	int connection;

	(void)events;
	connection = sock_accept(fd, (struct sockaddr *)&ss, &len, SOCK_WAITS);
	if (connection == -1) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS) {
			/* Once only: accept(2) is tried ten times a second. */
			if (!l->is_short)
				log_error("accept: %s", strerror(errno));
			l->is_short = true;
			pause_accepting(l);
		}
		return;
	}
	l->is_short = false;
	if (l->opts->debug) {
		log_debug("Server will not fork when running in debugging "
			  "mode.");
		become_session(l, connection);
	}
	hash_survey_look(l->survey, clock_ms());
	peer = admission_peer_of(l->admission, (struct sockaddr *)&ss, len);
	if (is_refused(l, connection, (struct sockaddr *)&ss, len, &peer))
		(void)!send(connection, refusal, sizeof refusal - 1,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		start_connection(l, connection, &ss, &peer);
	fd_close(&connection);
}

/* ---- signals, pid file ------------------------------------------------- */

static struct startup *
find_startup(const struct listener *l, pid_t pid)
{
	struct startup *s;

	TAILQ_FOREACH(s, &l->startups, entry)
		if (s->pid == pid)
			break;
	return s;
}

/* A child has ended that is no connection's: perhaps the check of a new
 * configuration. */
static void
check_ended(struct listener *l, pid_t pid, int status)
{
	switch (reload_child_ended(&l->reload, pid, status)) {
	case RELOAD_YES:
		log_info("Received SIGHUP; restarting.");
		l->restart = true;
		loop_stop(l->loop);
		break;
	case RELOAD_NO:
		notify_ready(); /* systemd was told that we reload: that is
				 * over */
		break;
	case RELOAD_WAIT:
	case RELOAD_NOT_MINE:
		break;
	}
}

static void
on_child(void *arg, int signo)
{
	struct listener *l = arg;
	struct startup *s;
	pid_t pid;
	int status;

	(void)signo;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if ((s = find_startup(l, pid)) != NULL)
			startup_ended(s, status);
		else if (!session_spare_ended(&l->spare, pid))
			check_ended(l, pid, status);
}

static void
on_hangup(void *arg, int signo)
{
	struct listener *l = arg;

	(void)signo;
	notify_reloading();
	reload_ask(&l->reload);
}

static void
on_terminate(void *arg, int signo)
{
	struct listener *l = arg;

	log_info("Received signal %d; terminating.", signo);
	l->status = signo == SIGTERM ? 0 : 255;
	l->restart = false; /* also if SIGHUP came first */
	loop_stop(l->loop);
}

static void
write_pid_file(struct listener *l)
{
	const char *path = l->state->conf.listen.pid_file;
	char text[24];
	int n;

	if (path == NULL || l->opts->debug)
		return;
	n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (file_replace(path, text, (size_t)n, 0644) == 0)
		l->pid_written = true;
	else if (geteuid() == 0)
		log_error("Couldn't create pid file \"%s\": %s", path,
		    strerror(errno));
	else
		log_verbose("no pid file \"%s\": %s", path, strerror(errno));
}

/* ---- the whole --------------------------------------------------------- */

/* Blocks SIGHUP while no program handles it: it would end the new program
 * before its own handler is there. The loop of the new program unblocks it. */
static void
hold_hangups(bool on)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void
set_up_loop(struct listener *l)
{
	l->loop = loop_new();
	if (l->loop == NULL ||
	    loop_on_signal(l->loop, SIGCHLD, on_child, l) != 0 ||
	    loop_on_signal(l->loop, SIGHUP, on_hangup, l) != 0 ||
	    loop_on_signal(l->loop, SIGTERM, on_terminate, l) != 0 ||
	    loop_on_signal(l->loop, SIGQUIT, on_terminate, l) != 0)
		fatal("out of memory");
	for (size_t i = 0; i < l->sockets.n; i++) {
		l->watches[i] = loop_watch(l->loop, l->sockets.fd[i], LOOP_READ,
		    on_connection, l);
		if (l->watches[i] == NULL)
			fatal("out of memory");
	}
	hold_hangups(false);
	reload_init(&l->reload, l->loop, l->opts->exe, l->opts->argv,
	    &l->sockets);
	/* Processes of connections from before a restart are children of this
	 * process: some may have ended already. */
	on_child(l, SIGCHLD);
}

static void
go_to_background(const struct listener *l)
{
	bool to_stderr = l->state->log_to_stderr;
	bool restarted = getenv(RESTARTED) != NULL;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	unsetenv(RESTARTED);
	/* So that connections inherit no terminal or pipe of whoever started
	 * this process. */
	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		fatal("/dev/null: %s", strerror(errno));
	close(null);
	if (!l->opts->foreground && !restarted && daemon(0, to_stderr) == -1)
		fatal("daemon: %s", strerror(errno));
	/* So that the file system of the working directory can be unmounted. */
	if (chdir("/") == -1)
		log_error("chdir: %s", strerror(errno));
	if (!to_stderr)
		log_to_syslog(l->state->conf.log.syslog_facility);
}

/* Whether some user may have a password checked. */
static bool
takes_passwords(const struct server_conf *c)
{
	const struct auth_method *m = auth_method_table;
	bool takes = server_conf_has_match(c);

	for (size_t i = 0; i < AUTH_METHOD_COUNT; i++)
		takes = takes || (m[i].has_secret &&
		    auth_method_served(&m[i], c));
	return takes;
}

static void
on_spare_time(void *arg)
{
	struct listener *l = arg;

	l->spare_timer = NULL;
	fill_spare(l);
}

/* hash_survey_fn: later connections get the new decoys. A spare process has
 * read the old ones, so it is replaced. */
static void
on_hashes(void *arg, const struct decoys *d)
{
	struct listener *l = arg;
	int r = d == NULL ? 0 : state_renew_decoys(&l->session.state_fd, d);

	if (r != 0)
		log_error("cannot keep how accounts are hashed: %s",
		    err_text(r));
	if (r == 0 && d != NULL) {
		log_debug("Accounts are hashed in %zu ways that count.",
		    d->settings.n);
		session_spare_drop(&l->spare);
	}
	loop_cancel(l->loop, l->spare_timer);
	on_spare_time(l);
}

/* Begins the survey, and makes the first spare process when that has answered:
 * one made before would be replaced by then. A survey that takes long does not
 * hold it up. */
static void
begin_survey(struct listener *l)
{
	if (takes_passwords(&l->state->conf))
		l->survey = hash_survey_new(l->loop, on_hashes, l);
	if (hash_survey_runs(l->survey))
		l->spare_timer = loop_after(l->loop, SPARE_WAITS_MS,
		    on_spare_time, l);
	fill_spare(l);
}

int
listener_hold_programs(struct server_state *state)
{
	int r = 0;

	for (size_t i = 0; i < PROGRAMS && r == 0; i++)
		if ((r = program_hold(&state->programs[i])) != 0)
			log_error("%s does not exist or is not executable: %s",
			    state->programs[i].path, strerror(errno));
	return r;
}

static void
prepare(struct listener *l)
{
	int r;

	session_start_reserve();
	if (!l->opts->debug) /* with -d this process becomes a session itself */
		oom_protect(OOM_FILE);
	l->state->oom_before = oom_before();
	if (listener_hold_programs(l->state) != 0)
		exit(255);
	l->session.programs = l->state->programs;
	/* With -d the process waits for the survey. Without, the survey runs
	 * later (hash_survey_new()), and until then connections use the
	 * system's standard method. */
	if (l->opts->debug && takes_passwords(&l->state->conf))
		hash_survey_once(&l->state->decoys);
	else
		decoys_choose(&l->state->decoys, NULL, 0);
	if ((r = state_to_fd(l->state, &l->session.state_fd)) != 0)
		fatal("cannot keep the configuration for connections: %s",
		    err_text(r));
	l->session.leads = !l->opts->debug;
	/* From here on the host keys are only in the file in memory. */
	hostkeys_clear(&l->state->keys);
}

/* Ends the process if too few descriptors are free for a connection: it would
 * listen and never answer. */
static void
check_descriptors(void)
{
	int fds[DESCRIPTORS_LEAST], n = 0, error = 0;
	struct rlimit limit = { 0 };

	while (n < DESCRIPTORS_LEAST && error == 0)
		if ((fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1)
			n++;
		else
			error = errno;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	if (error == 0)
		return;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	fatal("too few descriptors for a connection: %s (the limit is %llu; "
	      "ulimit -n, LimitNOFILE=)",
	    strerror(error), (unsigned long long)limit.rlim_cur);
}

int
listener_run(struct server_state *state, const struct listener_opts *opts)
{
	struct listener l = { .state = state, .opts = opts, .status = 255 };

	TAILQ_INIT(&l.startups);
	prepare(&l);
	listen_addresses_open(&state->conf, &l.sockets);
	go_to_background(&l);
	l.admission = admission_new(&state->conf);
	check_descriptors();
	set_up_loop(&l);
	l.away = turned_away_new(l.loop, &state->conf);
	write_pid_file(&l);
	listen_addresses_log(&l.sockets);
	make_title(&l);
	if (!opts->debug)
		begin_survey(&l);
	notify_ready();
	if (loop_run(l.loop) != 0)
		log_error("poll: %s", strerror(errno));
	if (l.pid_written && !l.restart)
		unlink(state->conf.listen.pid_file);
	listen_close(&l.sockets);
	while (!TAILQ_EMPTY(&l.startups))
		startup_over(TAILQ_FIRST(&l.startups));
	loop_cancel(l.loop, l.spare_timer);
	session_spare_drop(&l.spare);
	admission_free(l.admission);
	turned_away_free(l.away);
	reload_clear(&l.reload);
	hash_survey_free(l.survey);
	loop_free(l.loop);
	if (l.restart) {
		setenv(RESTARTED, "1", 1);
		hold_hangups(true);
		oom_give_back(OOM_FILE, oom_before());
		execv(opts->exe, opts->argv);
		log_error("cannot restart %s: %s", opts->exe, strerror(errno));
	}
	close(l.session.state_fd);
	return l.status;
}

void
listener_inetd(struct server_state *state)
{
	static const struct listener_opts opts = { .debug = true };
	struct listener l = { .state = state, .opts = &opts };
	int null, connection;

	TAILQ_INIT(&l.startups);
	prepare(&l);
	connection = inetd_pipes_needed() ?
	    inetd_pipes_start() :
	    fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STATE_FD_FIRST_FREE);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (connection == -1 || null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		fatal("inetd: %s", strerror(errno));
	if (!state->log_to_stderr && dup2(null, STDERR_FILENO) == -1)
		fatal("inetd: %s", strerror(errno));
	become_session(&l, connection);
}
