/* SPDX-License-Identifier: ISC */
#include "client/session/standard-streams.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "client/common/tty.h"
#include "compat/file.h"
#include "compat/sock.h"

static bool changed[3]; /* descriptors on which we have set O_NONBLOCK, though
			 * others share the flag */
static bool was_blocking[3]; /* descriptors without O_NONBLOCK when
			      * stdio_note_blocking() was called */

/* The path of the open file fd: that of the descriptor itself (/proc/self/fd)
 * where the system has one, else that of the terminal. False: there is none. */
static bool
name_of(int fd, char *path, size_t size)
{
	char name[32];

	if (!file_name_of(fd, name))
		return ttyname_r(fd, path, size) == 0;
	snprintf(path, size, "%s", name);
	return true;
}

bool
stdio_reopen_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL), own;
	char path[PATH_MAX];
	struct stat st;
	bool inherited;

	if (flags == -1 || fstat(fd, &st) == -1 ||
	    (!S_ISFIFO(st.st_mode) && !isatty(fd)))
		return false;
	if (!name_of(fd, path, sizeof path))
		return false;
	own = open(path,
	    (flags & (O_ACCMODE | O_APPEND)) | O_NONBLOCK | O_NOCTTY |
		O_CLOEXEC);
	if (own == -1)
		return false;
	inherited = (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
	if ((inherited ? dup2(own, fd) : sock_copy_to(own, fd)) == -1) {
		fd_close(&own);
		return false;
	}
	fd_close(&own);
	return true;
}

static void
set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat sb;

	if (flags == -1 || (flags & O_NONBLOCK) != 0 || fstat(fd, &sb) == -1)
		return;
	if (S_ISFIFO(sb.st_mode) || isatty(fd)) {
		/* A terminal that cannot be opened again keeps blocking: it is
		 * only read after poll(2), and if its output is stopped, we may
		 * stop too. */
		if (stdio_reopen_nonblock(fd) || isatty(fd))
			return;
	} else if (!S_ISSOCK(sb.st_mode)) {
		return; /* plain files do not block */
	}
	changed[fd] = fd_set_nonblock(fd, true) == 0;
}

static void
restore(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (changed[fd])
			(void)!fd_set_nonblock(fd, false);
		changed[fd] = false;
	}
}

void
stdio_set_nonblock(void)
{
	static bool at_exit;

	if (!at_exit)
		at_exit = atexit(restore) == 0;
	for (int fd = 0; fd <= 2; fd++)
		set_nonblock(fd);
}

void
stdio_restore_blocking(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (was_blocking[fd])
			(void)!fd_set_nonblock(fd, false);
}

void
stdio_note_blocking(void)
{
	static bool at_exit;

	for (int fd = 0; fd <= 2; fd++) {
		int flags = fcntl(fd, F_GETFL);

		was_blocking[fd] = flags != -1 && (flags & O_NONBLOCK) == 0;
	}
	if (!at_exit)
		at_exit = atexit(stdio_restore_blocking) == 0;
}

void
stdio_to_null(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1)
		return;
	if (changed[fd])
		(void)!fd_set_nonblock(fd, false);
	changed[fd] = false;
	(void)dup2(null, fd);
	fd_close(&null);
}

void
stdio_leave(void)
{
	stdio_to_null(STDIN_FILENO);
	stdio_to_null(STDOUT_FILENO);
	if (log_get_level() < LOG_LVL_DEBUG1)
		stdio_to_null(STDERR_FILENO);
}

/* ---- for a session ------------------------------------------------------ */

static bool
set_standard_raw(void *arg, bool on)
{
	(void)arg;
	if (on)
		tty_enter_raw(STDIN_FILENO);
	else
		tty_leave_raw();
	return tty_is_raw();
}

static void
set_standard_nonblock(void *arg, bool on)
{
	(void)arg;
	if (on)
		stdio_set_nonblock();
	else
		restore();
}

/* Descriptor 0 becomes /dev/null instead of being closed, so that no other file
 * gets its number. */
static void
end_standard_input(void *arg)
{
	(void)arg;
	stdio_to_null(STDIN_FILENO);
}

static void
end_standard_output(void *arg)
{
	(void)arg;
	stdio_to_null(STDOUT_FILENO);
}

struct session_stdio
session_stdio_own(void)
{
	static const struct session_stdio_ops ops = {
		.set_raw = set_standard_raw,
		.set_nonblock = set_standard_nonblock,
		.end_input = end_standard_input,
		.end_output = end_standard_output,
	};

	return (struct session_stdio){
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.terminal = STDIN_FILENO,
		.term = getenv("TERM"),
		.ops = &ops,
	};
}
