/* SPDX-License-Identifier: ISC */
/*
 * The child process of a session, from fork() to the execution of its program.
 */
#include "base/child.h"
#include "compat/proc.h"
#include "server/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/owners.h"
#include "base/path.h"
#include "compat/sock.h"
#include "conf/defaults.h"
#include "server/privs.h"
#include "server/session/forward-x11.h"
#include "server/session/internal-sftp.h"

#define NOLOGIN_FILE "/etc/nologin"
#define SYSTEM_RC SYSCONFDIR "/sshrc"
#define USER_RC ".ssh/rc" /* in the home directory */
#define PASSWD_PROGRAM "/usr/bin/passwd"

enum {
	TEXT_FILE_MAX = 64 * 1024,
	EXIT_NOLOGIN = 254,
	FD_OWNERS = STDERR_FILENO + 1, /* socket of owners_start(); see
					* keep_descriptors() */
};

static const char *
shell_name(const struct user *u)
{
	return path_last(u->shell);
}

/* Writes a file to the user's terminal, which is in cooked mode and so adds the
 * carriage returns itself. */
static void
show_file(const char *path, int fd)
{
	struct buf b = { 0 };

	if (file_read(path, &b, TEXT_FILE_MAX) == 0)
		(void)!fd_write_all(fd, buf_data(&b), buf_len(&b));
	buf_clear(&b);
}

char *
session_nologin(const struct user *u)
{
	struct buf b = { 0 };
	char *text = NULL;

	if (u->uid == 0 || access(NOLOGIN_FILE, F_OK) == -1)
		return NULL;
	if (file_read(NOLOGIN_FILE, &b, TEXT_FILE_MAX) == 0)
		text = buf_dup_string(&b);
	buf_clear(&b);
	return text != NULL ? text : xstrdup("");
}

static _Noreturn void
turn_away(const char *text)
{
	(void)!fd_write_all(STDERR_FILENO, text, strlen(text));
	_exit(EXIT_NOLOGIN);
}

static void
greet(const struct session_start *s)
{
	const struct serve_params *p = s->params;
	char *hushlogin = user_path(p->user, ".hushlogin");

	if (access(hushlogin, F_OK) == -1) {
		if (s->greeting != NULL)
			(void)!write(STDOUT_FILENO, s->greeting,
			    strlen(s->greeting));
		if (p->conf->session.print_motd)
			show_file("/etc/motd", STDOUT_FILENO);
	}
	free(hushlogin);
}

/* ---- what runs before the session's command ----------------------------- */

bool
session_has_system_rc(void)
{
	return access(SYSTEM_RC, R_OK) == 0;
}

static bool
has_user_rc(const struct user *u)
{
	char *path = user_path(u, USER_RC);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* Executes the rc file in the home directory. The user's own file is run by the
 * user's shell: if that shell runs no commands, or only some, the file must not
 * be a way to run others. */
static _Noreturn void
execute_rc(const struct user *u, bool of_user, char **env)
{
	static const char command[] = "/bin/sh " USER_RC;

	if (of_user)
		execle(u->shell, shell_name(u), "-c", command, (char *)NULL,
		    env);
	else
		execle("/bin/sh", "sh", SYSTEM_RC, (char *)NULL, env);
	_exit(127);
}

static _Noreturn void
execute_xauth(const char *program, char **env)
{
	execle(program, program, "-q", "-", (char *)NULL, env);
	_exit(127);
}

enum before { BEFORE_NOTHING, BEFORE_USER_RC, BEFORE_SYSTEM_RC, BEFORE_XAUTH };

/* The program that runs before the session's command. There is only one: a rc
 * file must do itself what xauth would do. */
static enum before
what_goes_before(const struct session_start *s)
{
	if (s->plan.user_rc && has_user_rc(s->params->user))
		return BEFORE_USER_RC;
	if (session_has_system_rc())
		return BEFORE_SYSTEM_RC;
	return s->display != NULL && s->plan.runs != SESSION_RUNS_SFTP ?
	    BEFORE_XAUTH : BEFORE_NOTHING;
}

/* Writes the standard input for the program that runs before: the cookie of the
 * forwarded display, if there is one. */
static void
compose_input(const struct session_start *s, enum before what, struct buf *b)
{
	const struct display_names *d = s->display;

	if (d == NULL)
		return;
	if (what == BEFORE_XAUTH)
		buf_printf(b, "remove %s\nadd %s ", d->entry, d->entry);
	buf_printf(b, "%s %s\n", d->protocol, d->cookie);
}

/* A descriptor to read the text from, which the caller owns; -1: error. The
 * text must fit into a pipe as a whole, so that nobody waits if the program
 * does not read it. */
static int
input_of(const struct buf *text)
{
	int ends[2];

	if (buf_len(text) == 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return -1;
	if (fd_set_nonblock(ends[1], true) != 0 ||
	    fd_write(ends[1], buf_data(text), buf_len(text)) !=
		(ssize_t)buf_len(text))
		fd_close(&ends[0]);
	fd_close(&ends[1]);
	return ends[0];
}

/* Runs the program of what_goes_before(), if there is one, and waits for its
 * end. */
static void
run_before(const struct session_start *s, char **env)
{
	enum before what = what_goes_before(s);
	struct buf text;
	pid_t pid;
	int in;

	if (what == BEFORE_NOTHING)
		return;
	buf_init_secret(&text);
	compose_input(s, what, &text);
	in = buf_err(&text) == 0 ? input_of(&text) : -1;
	buf_clear(&text);
	if (in == -1)
		return;
	pid = fork();
	if (pid == 0) {
		if (dup2(in, STDIN_FILENO) == -1)
			_exit(255);
		if (what == BEFORE_XAUTH)
			execute_xauth(s->params->conf->forward.xauth_location,
			    env);
		execute_rc(s->params->user, what == BEFORE_USER_RC, env);
	}
	fd_close(&in);
	if (pid > 0)
		(void)!child_reap(pid, NULL);
}

/* ---- the session's command ---------------------------------------------- */

static void
take_descriptors(const struct session_start *s)
{
	if (dup2(s->fd_in, STDIN_FILENO) == -1 ||
	    dup2(s->fd_out, STDOUT_FILENO) == -1 ||
	    dup2(s->fd_err, STDERR_FILENO) == -1)
		_exit(255);
}

/* Closes all descriptors above 2, except for our own SFTP server one end of a
 * socket: the names of owners and groups come over it from another process. */
static struct owners *
keep_descriptors(const struct session_start *s)
{
	struct owners *o = NULL;
	int fd = -1;

	if (s->plan.runs == SESSION_RUNS_SFTP && (o = owners_new()) != NULL)
		fd = owners_start(o);
	if (fd != -1 && fd != FD_OWNERS)
		fd = sock_copy_to(fd, FD_OWNERS);
	if (fd != -1)
		owners_moved(o, fd);
	proc_close_from(fd != -1 ? FD_OWNERS + 1 : STDERR_FILENO + 1);
	return o;
}

static void
go_home(const struct serve_params *p)
{
	const char *home = p->user->home;

	if (chdir(home) == 0)
		return;
	/* Below a ChrootDirectory few users have a home directory, so its
	 * absence is no error. */
	if (p->conf->session.chroot_directory == NULL)
		fprintf(stderr,
		    "Could not chdir to home directory %s: %s\n", home,
		    strerror(errno));
	if (chdir("/") == -1)
		_exit(255);
}

/* Runs passwd instead of the session's command, because the password has
 * expired. */
static _Noreturn void
change_password(const struct session_start *s)
{
	char *term, *env[] = { NULL, NULL };

	fputs("WARNING: Your password has expired.\n", stderr);
	if (s->tty == NULL) {
		fputs("Password change required but no TTY available.\n",
		    stderr);
		_exit(1);
	}
	fputs("You must change your password now and log in again!\n",
	    stderr);
	xasprintf(&term, "TERM=%s", s->term != NULL ? s->term : "");
	env[0] = term;
	execle(PASSWD_PROGRAM, "passwd", (char *)NULL, env);
	fprintf(stderr, "%s: %s\n", PASSWD_PROGRAM, strerror(errno));
	_exit(1);
}

static _Noreturn void
run_shell(const struct session_start *s, char **env)
{
	const struct user *u = s->params->user;
	char *name;

	if (s->plan.runs == SESSION_RUNS_LOGIN_SHELL) {
		xasprintf(&name, "-%s", shell_name(u));
		execle(u->shell, name, (char *)NULL, env);
	} else {
		execle(u->shell, shell_name(u), "-c", s->plan.command,
		    (char *)NULL, env);
	}
	fprintf(stderr, "%s: %s\n", u->shell, strerror(errno));
	_exit(126);
}

static _Noreturn void
run_sftp(const struct session_start *s, struct owners *owners)
{
	log_init("internal-sftp", LOG_LVL_ERROR);
	log_to_syslog(LOG_AUTH);
	_exit(internal_sftp_run(s->plan.command, s->params->user,
	    s->params->peer->address, owners));
}

static _Noreturn void
refuse(void)
{
	static const char text[] =
	    "This service allows sftp connections only.\n";

	(void)!fd_write_all(STDOUT_FILENO, text, sizeof text - 1);
	_exit(1);
}

static _Noreturn void
run(const struct session_start *s, char **env, struct owners *owners)
{
	switch (s->plan.runs) {
	case SESSION_RUNS_SFTP:
		run_sftp(s, owners);
	case SESSION_RUNS_REFUSAL:
		refuse();
	case SESSION_RUNS_LOGIN_SHELL:
	case SESSION_RUNS_COMMAND:
		break;
	}
	run_shell(s, env);
}

void
session_child(const struct session_start *s)
{
	struct owners *owners;
	char **env;

	/* The loop's signal handlers write to a pipe that this process shares
	 * with its parent, so none of them may run here. */
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (s->tty != NULL) {
		if (pty_make_controlling(s->fd_in) != 0)
			_exit(255);
	} else if (setsid() == -1 && errno != EPERM) {
		_exit(255);
	}
	take_descriptors(s);
	owners = keep_descriptors(s);
	fd_restore_limit();
	log_to_stderr();
	if (s->nologin != NULL)
		turn_away(s->nologin);
	if (s->params->must_change)
		change_password(s);
	go_home(s->params);
	env = session_environment(s);
	if (s->tty != NULL && s->plan.runs == SESSION_RUNS_LOGIN_SHELL)
		greet(s);
	run_before(s, env);
	run(s, env, owners);
}
