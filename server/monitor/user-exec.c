/* SPDX-License-Identifier: ISC */
#include "server/monitor/user-exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/label.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/file.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "server/user-state.h"

extern char **environ;

enum {
	FD_PROGRAM = USER_FD_MONITOR + 1, /* closed when the program is
					   * executed */
	FD_ABOVE = FD_PROGRAM + 1,
};

/* The environment for the program, copied before modules of PAM ran in this
 * process. */
static char **environment;

static void
keep_environment(void)
{
	size_t n = 0;

	while (environ[n] != NULL)
		n++;
	environment = xcalloc(n + 1, sizeof *environment);
	while (n-- > 0)
		environment[n] = xstrdup(environ[n]);
}

int
user_exec_open(const char *path)
{
	int fd = open(path, FILE_PROGRAM | O_CLOEXEC);

	if (environment == NULL)
		keep_environment();
	if (fd == -1)
		fatal("%s: %s", path, strerror(errno));
	return fd;
}

int
user_exec_take_label(char **label)
{
	*label = label_of_programs();
	return *label != NULL && label_set_of_programs("") != 0 ? ERR_SYSTEM :
								  0;
}

/* ---- in the child ------------------------------------------------------- */

/* What the child needs. After vfork() it shares the parent's memory, so it may
 * make only system calls and write only to this struct. */
struct start {
	int program, socket_fd, monitor_fd; /* FD_ABOVE or higher */
	int error; /* errno of the child; 0: no error */
};

/* Signals that are ignored would stay ignored in the program that is
 * executed. */
static void
reset_signals(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
run(struct start *s)
{
	static char name[] = "hpnsshd-user";
	static char *const argv[] = { name, NULL };

	if (dup2(s->socket_fd, USER_FD_SOCKET) == -1 ||
	    dup2(s->monitor_fd, USER_FD_MONITOR) == -1 ||
	    sock_copy_to(s->program, FD_PROGRAM) == -1) {
		s->error = errno;
		return;
	}
	proc_close_from(FD_ABOVE);
	reset_signals();
	(void)fexecve(FD_PROGRAM, argv, environment);
	s->error = errno;
}

/* Uses vfork(): fork() would copy the page tables of the monitor's memory for a
 * process that leaves it at once. */
static pid_t
start_child(struct start *s)
{
	sigset_t all, before;
	pid_t pid;

	/* No signal handler may run in the child. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = vfork();
	if (pid == 0) {
		run(s);
		_exit(127);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* ---- in the parent ------------------------------------------------------ */

/* Copies the descriptors to numbers from FD_ABOVE on, so that none is at a
 * number that the program uses for another one. */
static int
make_copies(struct start *s, int program, int socket_fd, int monitor_fd)
{
	s->program = fcntl(program, F_DUPFD_CLOEXEC, FD_ABOVE);
	s->socket_fd = fcntl(socket_fd, F_DUPFD_CLOEXEC, FD_ABOVE);
	s->monitor_fd = fcntl(monitor_fd, F_DUPFD_CLOEXEC, FD_ABOVE);
	return s->program == -1 || s->socket_fd == -1 || s->monitor_fd == -1 ?
	    ERR_SYSTEM :
	    0;
}

int
user_exec(pid_t *pid, int program, int socket_fd, int monitor_fd)
{
	struct start s = { .error = 0 };
	int r = make_copies(&s, program, socket_fd, monitor_fd);

	if (r == 0 && (*pid = start_child(&s)) == -1)
		r = ERR_SYSTEM;
	fd_close(&s.program);
	fd_close(&s.socket_fd);
	fd_close(&s.monitor_fd);
	if (r == 0 && s.error != 0) {
		(void)waitpid(*pid, NULL, 0);
		errno = s.error;
		r = ERR_SYSTEM;
	}
	return r;
}
