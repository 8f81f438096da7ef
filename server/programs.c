/* SPDX-License-Identifier: ISC */
#include "server/programs.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "conf/defaults.h"

/* ---- where they are ------------------------------------------------------ */

static const char *const names[PROGRAMS] = {
	[PROGRAM_SESSION] = "hpnsshd-session",
	[PROGRAM_AUTH] = "hpnsshd-auth",
	[PROGRAM_USER] = "hpnsshd-user",
};

static char *
find_path(const char *configured, const char *name)
{
	char exe[PATH_MAX], *installed, *beside;

	xasprintf(&installed, "%s/%s", LIBEXECDIR, name);
	if (configured != NULL && strcmp(configured, installed) != 0) {
		free(installed);
		return xstrdup(configured);
	}
	if (proc_self_path(exe, sizeof exe) != 0)
		return installed;
	*strrchr(exe, '/') = '\0';
	xasprintf(&beside, "%s/%s", exe, name);
	if (strcmp(exe, SBINDIR) == 0 || access(beside, X_OK) != 0) {
		free(beside);
		return installed;
	}
	free(installed);
	return beside;
}

void
program_find(struct program *p, enum program_kind kind, const char *configured)
{
	*p = (struct program){ .path = find_path(configured, names[kind]) };
}

/* The descriptor, or a copy of it, at a number above all that a program gets,
 * so that it is not overwritten while these are put in place. -1: error. */
static int
keep_above(int fd)
{
	const int above = PROGRAM_FD_FIRST + PROGRAM_FDS_MAX + 1;

	return fd >= above ? fd : fcntl(fd, F_DUPFD_CLOEXEC, above);
}

int
program_hold(struct program *p)
{
	int low, fd;

	if (p->fd != 0)
		return 0;
	if (access(p->path, X_OK) == -1)
		return ERR_SYSTEM;
	low = open(p->path, FILE_PROGRAM | O_CLOEXEC);
	fd = low != -1 ? keep_above(low) : -1;
	if (low != fd)
		fd_close(&low);
	if (fd == -1)
		return ERR_SYSTEM;
	p->fd = fd;
	return 0;
}

void
program_take(struct program *p, int fd)
{
	p->fd = fd_set_cloexec(fd, true) == 0 ? fd : 0;
}

bool
program_is_replaced(const struct program *p)
{
	struct stat held, there;

	return p->fd != 0 && fstat(p->fd, &held) == 0 &&
	    (stat(p->path, &there) == -1 || there.st_dev != held.st_dev ||
		there.st_ino != held.st_ino);
}

void
program_let_go(struct program *p)
{
	if (p->fd != 0)
		(void)close(p->fd);
	p->fd = 0;
}

void
program_clear(struct program *p)
{
	program_let_go(p);
	free(p->path);
	*p = (struct program){ 0 };
}

/* ---- executing ----------------------------------------------------------- */

/* What the process needs that executes the program. After vfork() it shares the
 * parent's memory, so it may make only system calls and write only to this
 * struct. */
struct start {
	const struct program_start *how;
	/* By keep_above(). -1: none. */
	int program, fds[PROGRAM_FDS_MAX];
	int error; /* errno; 0: none */
};

static int
put_in_place(const struct start *s, int program)
{
	for (size_t i = 0; i < s->how->n; i++) {
		int to = PROGRAM_FD_FIRST + (int)i;

		if (s->fds[i] == -1)
			(void)close(to);
		else if (dup2(s->fds[i], to) == -1)
			return -1;
	}
	if (s->program == -1)
		(void)close(program);
	else if (sock_copy_to(s->program, program) == -1)
		return -1;
	proc_close_from(program + 1);
	return 0;
}

static void
execute(struct start *s)
{
	const struct program_start *how = s->how;
	int program = PROGRAM_FD_FIRST + (int)how->n;

	if (put_in_place(s, program) == -1) {
		s->error = errno;
		return;
	}
	proc_reset_signals();
	if (how->leads)
		(void)setsid();
	if (s->program != -1) {
		(void)fexecve(program, how->argv, how->env);
		if (how->n_by_path == 0) {
			s->error = errno;
			return;
		}
		proc_close_from(PROGRAM_FD_FIRST + (int)how->n_by_path);
	}
	/* The parent reads the error where this succeeds, too: there is none
	 * before. */
	(void)execve(how->program->path, how->argv, how->env);
	s->error = errno;
}

/* Returns 0 or an errno number. */
static int
make_copies(struct start *s)
{
	const struct program *p = s->how->program;
	bool ok = true;

	s->program = p->fd != 0 ? keep_above(p->fd) : -1;
	ok = p->fd == 0 || s->program != -1;
	for (size_t i = 0; i < s->how->n; i++) {
		int fd = s->how->fds[i];

		s->fds[i] = fd != -1 ? keep_above(fd) : -1;
		ok = ok && (fd == -1 || s->fds[i] != -1);
	}
	return ok ? 0 : errno;
}

static void
close_copies(struct start *s)
{
	if (s->program != s->how->program->fd)
		fd_close(&s->program);
	for (size_t i = 0; i < s->how->n; i++)
		if (s->fds[i] != s->how->fds[i])
			fd_close(&s->fds[i]);
}

/* Uses vfork(): fork() would copy the page tables of this process's memory for
 * a process that leaves it at once. */
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
		execute(s);
		_exit(127);
	}
	if (pid == -1)
		s->error = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int
program_start(const struct program_start *how, pid_t *pid)
{
	struct start s = { .how = how };
	pid_t child;

	s.error = make_copies(&s);
	if (s.error == 0) {
		child = start_child(&s);
		if (s.error == 0)
			*pid = child;
		else if (child != -1)
			(void)waitpid(child, NULL, 0);
	}
	close_copies(&s);
	return s.error;
}

int
program_become(const struct program_start *how)
{
	struct start s = { .how = how };

	s.error = make_copies(&s);
	if (s.error == 0)
		execute(&s);
	return s.error;
}
