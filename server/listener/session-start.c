/* SPDX-License-Identifier: ISC */
#include "server/listener/session-start.h"

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
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

/* How hpnsshd-session is executed. socket is the connection or, for a spare
 * process, a socket over which it will arrive. */
static struct program_start
how(const struct session_program *p, char *const *argv, int socket, int startup)
{
	const struct program *programs = p->programs;

	return (struct program_start){ .program = &programs[PROGRAM_SESSION],
		.argv = argv, .env = environ, .n = STATE_FD_COUNT,
		.fds = { socket, p->state_fd, startup,
		    programs[PROGRAM_AUTH].fd, programs[PROGRAM_USER].fd },
		.n_by_path = STATE_FD_AUTH - PROGRAM_FD_FIRST,
		.leads = p->leads };
}

/* An administrator learns that there is something to restart. */
static void
tell_replaced(struct session_program *p)
{
	for (size_t i = 0; i < PROGRAMS && !p->told; i++) {
		if (!program_is_replaced(&p->programs[i]))
			continue;
		log_info("%s was replaced: connections get the one with which "
			 "this process was started, until it is restarted",
		    p->programs[i].path);
		p->told = true;
	}
}

/* name is argv[0], which ps(1) shows. */
static int
start(struct session_program *p, char *name, int socket,
    struct session_process *out)
{
	char *argv[] = { name, NULL };
	struct program_start s;
	int ends[2], r;

	tell_replaced(p);
	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return errno;
	s = how(p, argv, socket, ends[1]);
	/* Only the listener's end does not block. */
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1 ? errno :
	    program_start(&s, &out->pid);
	fd_close(&ends[1]);
	out->reports = ends[0];
	if (r != 0)
		fd_close(&out->reports);
	return r;
}

int
session_start(struct session_program *p, int connection,
    struct session_process *out)
{
	return start(p, p->programs[PROGRAM_SESSION].path, connection, out);
}

int
session_become(const struct session_program *p, int connection, int startup)
{
	char *argv[] = { p->programs[PROGRAM_SESSION].path, NULL };
	struct program_start s = how(p, argv, connection, startup);

	return program_become(&s);
}

void
session_spare_fill(struct session_spare *s, struct session_program *p)
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
		log_debug("no spare %s: %s", p->programs[PROGRAM_SESSION].path,
		    strerror(r));
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
