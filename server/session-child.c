/* SPDX-License-Identifier: ISC */
/*
 * Between fork and exec of a session's process.
 */
#include "server/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/defaults.h"
#include "server/internal-sftp.h"
#include "server/privs.h"

#define NOLOGIN_FILE "/etc/nologin"

enum { TEXT_FILE_MAX = 64 * 1024, EXIT_NOLOGIN = 254 };

/* Straight to the user's screen; a terminal in its cooked mode needs no CR. */
static void
show_file(const char *path, int fd)
{
	struct buf b = { 0 };

	if (file_read(path, &b, TEXT_FILE_MAX) == 0)
		(void)!fd_write_all(fd, buf_data(&b), buf_len(&b));
	buf_clear(&b);
}

bool
session_nologin(const struct user *u)
{
	return u->uid != 0 && getuid() == u->uid &&
	    access(NOLOGIN_FILE, F_OK) == 0;
}

static void
check_nologin(const struct user *u)
{
	if (!session_nologin(u))
		return;
	show_file(NOLOGIN_FILE, STDERR_FILENO);
	_exit(EXIT_NOLOGIN);
}

static void
greet(const struct session_start *s)
{
	const struct serve_params *p = s->params;
	char *hush = user_path(p->user, ".hushlogin");

	if (access(hush, F_OK) == -1) {
		if (s->greeting != NULL)
			(void)!write(STDOUT_FILENO, s->greeting,
			    strlen(s->greeting));
		if (p->conf->print_motd)
			show_file("/etc/motd", STDOUT_FILENO);
	}
	free(hush);
}

/* ~/.ssh/rc, or else the system's sshrc: run and waited for. */
static void
run_rc(const struct session_start *s, char **env)
{
	static const char system_rc[] = SYSCONFDIR "/sshrc";
	const struct serve_params *p = s->params;
	char *user_rc = user_path(p->user, ".ssh/rc");
	const char *rc = NULL;
	pid_t pid;

	if (p->conf->permit_user_rc && p->key->user_rc &&
	    access(user_rc, R_OK) == 0)
		rc = user_rc;
	else if (access(system_rc, R_OK) == 0)
		rc = system_rc;
	if (rc != NULL && (pid = fork()) == 0) {
		int null = open("/dev/null", O_RDONLY);

		if (null != -1)
			dup2(null, STDIN_FILENO);
		execle("/bin/sh", "sh", rc, (char *)NULL, env);
		_exit(127);
	} else if (rc != NULL && pid > 0) {
		while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
			;
	}
	free(user_rc);
}

static void
take_descriptors(const struct session_start *s)
{
	if (dup2(s->fd_in, STDIN_FILENO) == -1 ||
	    dup2(s->fd_out, STDOUT_FILENO) == -1 ||
	    dup2(s->fd_err, STDERR_FILENO) == -1)
		_exit(255);
	closefrom(STDERR_FILENO + 1);
}

static void
go_home(const struct serve_params *p)
{
	const char *home = p->user->home;

	if (chdir(home) == 0)
		return;
	/* In a root directory of their own, few have one. */
	if (p->conf->chroot_directory == NULL)
		fprintf(stderr,
		    "Could not chdir to home directory %s: %s\n", home,
		    strerror(errno));
	if (chdir("/") == -1)
		_exit(255);
}

static _Noreturn void
execute(const struct session_start *s, char **env)
{
	const struct user *u = s->params->user;
	const char *base = strrchr(u->shell, '/');
	char *name;

	base = base != NULL ? base + 1 : u->shell;
	if (s->command == NULL) {
		xasprintf(&name, "-%s", base);
		execle(u->shell, name, (char *)NULL, env);
	} else {
		execle(u->shell, base, "-c", s->command, (char *)NULL, env);
	}
	fprintf(stderr, "%s: %s\n", u->shell, strerror(errno));
	_exit(126);
}

void
session_child(const struct session_start *s)
{
	char **env;

	/* The loop's handlers write to a pipe that is shared with the
	 * parent: none may run here. */
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (s->tty != NULL) {
		if (pty_make_controlling(s->fd_in) != 0)
			_exit(255);
	} else if (setsid() == -1 && errno != EPERM) {
		_exit(255);
	}
	take_descriptors(s);
	log_to_stderr();
	check_nologin(s->params->user);
	go_home(s->params);
	if (s->internal_sftp) {
		log_init("internal-sftp", LOG_LVL_ERROR);
		log_to_syslog(LOG_AUTH);
		_exit(internal_sftp_run(s->command, s->params->user));
	}
	env = session_environment(s);
	if (s->tty != NULL && s->command == NULL)
		greet(s);
	if (s->subsystem == NULL)
		run_rc(s, env);
	execute(s, env);
}
