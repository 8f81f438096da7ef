/* SPDX-License-Identifier: ISC */
#include "client/auth/keysign.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "compat/proc.h"
#include "compat/sock.h"

#define PROGRAM LIBEXECDIR "/hpnssh-keysign"

enum {
	VERSION = 2,
	CONNECTION_FD = STDERR_FILENO + 1, /* the connection's descriptor in
					    * hpnssh-keysign */
	TIME_MAX_MS = 30 * 1000,
	ANSWER_MAX = 64 * 1024, /* bytes */
};

/* The child after fork(): runs hpnssh-keysign with `talk` as its standard input
 * and output and the connection as CONNECTION_FD. Both are first copied above
 * CONNECTION_FD, because one may have the number that the other is to get. */
static _Noreturn void
run_program(int talk, int connection)
{
	static char *const argv[] = { "hpnssh-keysign", NULL };
	int above = fcntl(talk, F_DUPFD, CONNECTION_FD + 1);
	int conn = fcntl(connection, F_DUPFD, CONNECTION_FD + 1);

	if (above == -1 || conn == -1 || dup2(above, STDIN_FILENO) == -1 ||
	    dup2(above, STDOUT_FILENO) == -1 ||
	    dup2(conn, CONNECTION_FD) == -1)
		_exit(127);
	proc_close_from(CONNECTION_FD + 1);
	signal(SIGPIPE, SIG_DFL);
	execv(PROGRAM, argv);
	log_error("%s: %s", PROGRAM, err_text(ERR_SYSTEM));
	_exit(127);
}

static int
start_program(int connection, pid_t *pid, int *talk)
{
	int ends[2];

	if (sock_pair(SOCK_STREAM, ends) == -1)
		return ERR_SYSTEM;
	*pid = fork();
	if (*pid == 0)
		run_program(ends[1], connection);
	fd_close(&ends[1]);
	*talk = ends[0];
	if (*pid == -1 || fd_set_nonblock(*talk, true) != 0) {
		fd_close(talk);
		return ERR_SYSTEM;
	}
	return 0;
}

static int
send_request(int talk, struct span data, uint64_t end_ms)
{
	struct buf b = { 0 };
	size_t mark = buf_open_string(&b);
	int r;

	buf_put_u8(&b, VERSION);
	buf_put_u32(&b, CONNECTION_FD);
	buf_put_string(&b, data.p, data.len);
	buf_close_string(&b, mark);
	r = buf_err(&b);
	if (r == 0)
		r = fd_write_until(talk, buf_data(&b), buf_len(&b), end_ms);
	buf_clear(&b);
	return r;
}

static int
read_answer(int talk, struct buf *signature, uint64_t end_ms)
{
	uint8_t head[4], *room;
	struct buf b = { 0 };
	struct span found;
	uint32_t len;
	struct rd in;
	int r = fd_read_until(talk, head, sizeof head, end_ms);

	if (r != 0)
		return r;
	len = wire_get_u32(head);
	if (len > ANSWER_MAX)
		return ERR_LIMIT;
	if ((room = buf_reserve(&b, len)) == NULL)
		return buf_err(&b);
	if ((r = fd_read_until(talk, room, len, end_ms)) != 0)
		goto out;
	buf_commit(&b, len);
	in = rd_from_span((struct span){ buf_data(&b), len });
	if (rd_u8(&in) != VERSION && rd_err(&in) == 0) {
		r = ERR_FORMAT;
		goto out;
	}
	found = rd_string(&in);
	r = rd_end(&in);
	if (r == 0)
		buf_put(signature, found.p, found.len);
out:
	buf_clear(&b);
	return r;
}

int
keysign_ask(int fd, struct span data, struct buf *signature)
{
	uint64_t end_ms = clock_ms() + TIME_MAX_MS;
	pid_t pid = -1;
	int talk = -1, r = start_program(fd, &pid, &talk);

	if (r == 0)
		r = send_request(talk, data, end_ms);
	if (r == 0)
		r = read_answer(talk, signature, end_ms);
	fd_close(&talk);
	if (pid > 0) {
		/* After an error the program may hang; we may kill it, because
		 * it runs as our user. Its messages were written before it
		 * closed its end. */
		if (r != 0)
			(void)kill(pid, SIGKILL);
		(void)!child_wait(pid);
	}
	if (r != 0)
		log_error("%s does not sign: %s", PROGRAM, err_text(r));
	return r;
}
