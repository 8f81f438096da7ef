/* SPDX-License-Identifier: ISC */
#include "server/listener/session-start.h"

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "server/state.h"

extern char **environ;

void
session_start_reserve(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd == -1)
			fatal("/dev/null: %s", strerror(errno));
	} while (fd < STATE_FD_FIRST_FREE);
	close(fd);
}

/* name is argv[0], which ps(1) shows. With the name STATE_NAME_WAITS, socket is
 * not the connection but a socket over which it will arrive. */
static int
spawn(const struct session_program *p, char *name, int socket, int startup,
    pid_t *pid)
{
	char *argv[] = { name, NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	short flags = POSIX_SPAWN_SETSIGMASK;
	int r;

	if (p->leads)
		flags |= PROC_SPAWN_SESSION;
	sigemptyset(&none);
	if ((r = posix_spawn_file_actions_init(&fa)) != 0)
		return r;
	if ((r = posix_spawnattr_init(&attr)) != 0)
		goto out;
	if ((r = posix_spawn_file_actions_adddup2(&fa, socket,
		 STATE_FD_SOCKET)) == 0 &&
	    (r = posix_spawn_file_actions_adddup2(&fa, p->state_fd,
		 STATE_FD_STATE)) == 0 &&
	    (r = posix_spawn_file_actions_adddup2(&fa, startup,
		 STATE_FD_STARTUP)) == 0 &&
	    (r = posix_spawnattr_setsigmask(&attr, &none)) == 0 &&
	    (r = posix_spawnattr_setflags(&attr, flags)) == 0)
		r = posix_spawn(pid, p->path, &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
out:
	posix_spawn_file_actions_destroy(&fa);
	return r;
}

static int
start(const struct session_program *p, char *name, int socket,
    struct session_process *out)
{
	int ends[2], r;

	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return errno;
	/* Only the listener's end does not block. */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1)
		r = errno;
	else
		r = spawn(p, name, socket, ends[1], &out->pid);
	fd_close(&ends[1]);
	out->reports = ends[0];
	if (r != 0)
		fd_close(&out->reports);
	return r;
}

int
session_start(const struct session_program *p, int connection,
    struct session_process *out)
{
	return start(p, p->path, connection, out);
}

void
session_spare_fill(struct session_spare *s, const struct session_program *p)
{
	static char name[] = STATE_NAME_WAITS;
	int pair[2], r;

	if (s->process.pid != 0)
		return;
	if (sock_pair(SOCK_STREAM, pair) == -1)
		return;
	r = start(p, name, pair[1], &s->process);
	fd_close(&pair[1]);
	s->sock = pair[0];
	if (r != 0) {
		/* No error yet: the next connection tries again to start a
		 * process, and logs a failure. */
		log_debug("no spare %s: %s", p->path, strerror(r));
		fd_close(&s->sock);
		s->process.pid = 0;
	}
}

bool
session_spare_take(struct session_spare *s, int connection,
    struct session_process *out)
{
	if (s->process.pid == 0)
		return false;
	if (fd_send_fds(s->sock, &connection, 1) != 0) {
		session_spare_drop(s);
		return false;
	}
	fd_close(&s->sock);
	*out = s->process;
	s->process.pid = 0;
	return true;
}

void
session_spare_drop(struct session_spare *s)
{
	if (s->process.pid == 0)
		return;
	fd_close(&s->sock);
	fd_close(&s->process.reports);
	s->process.pid = 0;
}

bool
session_spare_ended(struct session_spare *s, pid_t pid)
{
	if (pid != s->process.pid)
		return false;
	session_spare_drop(s);
	return true;
}
