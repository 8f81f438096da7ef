/* SPDX-License-Identifier: ISC */
#include "server/listener/inetd-pipes.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"

enum { CHUNK = 64 * 1024 };

bool
inetd_pipes_needed(void)
{
	struct stat in, out;

	return fstat(STDIN_FILENO, &in) == -1 || !S_ISSOCK(in.st_mode) ||
	    fstat(STDOUT_FILENO, &out) == -1 || in.st_dev != out.st_dev ||
	    in.st_ino != out.st_ino;
}

/* Copies what one read() returns. False: the input ended, or an error. */
static bool
carry(int from, int to)
{
	static uint8_t bytes[CHUNK];
	ssize_t n;

	n = fd_read(from, bytes, sizeof bytes);
	return n > 0 && fd_write_all(to, bytes, (size_t)n) == 0;
}

static _Noreturn void
carry_all(int sock)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = sock, .events = POLLIN } };

	for (;;) {
		if (poll(p, ARRAY_LEN(p), -1) <= 0)
			continue;
		if (p[0].revents != 0 && !carry(STDIN_FILENO, sock)) {
			/* The end of the input: the other direction goes on. */
			shutdown(sock, SHUT_WR);
			p[0].fd = -1;
			p[0].revents = 0;
		}
		if (p[1].revents != 0 && !carry(sock, STDOUT_FILENO))
			_exit(0);
	}
}

int
inetd_pipes_start(void)
{
	int pair[2];
	pid_t pid;

	if (sock_pair(SOCK_STREAM, pair) == -1)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		carry_all(pair[1]);
	}
	close(pair[1]);
	if (pid == -1)
		fd_close(&pair[0]);
	return pair[0];
}
