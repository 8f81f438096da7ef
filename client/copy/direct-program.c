/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/common/ssh-command.h"

enum { HELLO_MAX = 1024 }; /* bytes */

/* ---- what it says -------------------------------------------------------- */

bool
direct_program_hello(struct direct_program *p)
{
	struct rd size = rd_from_buf(&p->got), r = size, body;
	uint32_t len = rd_u32(&size);

	if (rd_err(&size) != 0)
		return false;
	body = rd_from_span(rd_string(&r));
	if (len <= HELLO_MAX && rd_err(&r) != 0)
		return false;
	if (len <= HELLO_MAX && rd_u8(&body) == DIRECT_VERSION)
		p->key = rd_string(&body);
	if (rd_err(&body) != 0)
		p->key = (struct span){ NULL, 0 };
	else if (buf_len(&p->got) > sizeof len + len)
		buf_put(&p->told, buf_data(&p->got) + sizeof len + len,
		    buf_len(&p->got) - sizeof len - len);
	return true;
}

/* Reads what the program tells behind its hello. */
static void
read_told(struct direct_program *p)
{
	while (!p->deaf && buf_len(&p->told) >= sizeof(uint32_t)) {
		struct rd r = rd_from_buf(&p->told);
		uint32_t len = rd_u32(&r);
		struct span m = rd_bytes(&r, len);

		if (len > DIRECT_TOLD_MAX)
			p->deaf = true;
		if (p->deaf || rd_err(&r) != 0)
			break;
		p->take(p->arg, m);
		buf_consume(&p->told, sizeof len + len);
	}
	if (p->deaf)
		buf_clear(&p->told);
}

static void
close_input(struct direct_program *p)
{
	if (p->watch != NULL)
		loop_unwatch(p->loop, p->watch);
	p->watch = NULL;
	fd_close(&p->in);
}

static void
on_input(void *arg, int fd, int events)
{
	struct direct_program *p = arg;
	uint8_t bytes[4096];
	ssize_t n = read(fd, bytes, sizeof bytes);

	(void)events;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !p->deaf)
		buf_put(p->key.len == 0 ? &p->got : &p->told, bytes,
		    (size_t)n);
	if (p->listens)
		read_told(p);
	else if (buf_len(&p->told) > DIRECT_TOLD_MAX)
		p->deaf = true; /* there is nothing to tell yet */
	if (n <= 0 || buf_err(&p->got) != 0 || buf_err(&p->told) != 0) {
		p->ended = true;
		close_input(p);
	}
}

/* ---- its life ------------------------------------------------------------ */

void
direct_program_start(struct direct_program *p, const struct strlist *options,
    const struct xfer_target *at, int port)
{
	char *program = ssh_command_find();
	const struct ssh_command c = { .program = program,
		.purpose = SSH_COMMAND_CARRY,
		.options = options,
		.port = at->port != 0 ? at->port : port,
		.user = at->user,
		.host = at->host,
		.command = "hpnscp --direct-end" };
	struct strlist argv = { 0 };
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };

	if (ssh_command_line(&argv, &c) != 0 || child_pipe(to) != 0 ||
	    child_pipe(from) != 0 || fd_set_nonblock(from[0], true) != 0 ||
	    child_spawn(&p->child, argv.v, to[0], from[1]) != 0)
		fatal("%s: %s", program, strerror(errno));
	fd_close(&to[0]);
	fd_close(&from[1]);
	p->out = to[1];
	p->in = from[0];
	p->watch = loop_watch(p->loop, p->in, LOOP_READ, on_input, p);
	if (p->watch == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	strlist_clear(&argv);
	free(program);
}

int
direct_program_send(struct direct_program *p, const struct direct_job *job)
{
	struct buf b = { 0 };
	int r;

	p->listens = true;
	direct_job_put(&b, job);
	if ((r = buf_err(&b)) == 0)
		r = fd_send_msg(p->out, &b);
	buf_clear(&b);
	return r;
}

int
direct_program_end(struct direct_program *p)
{
	int status = 0;

	fd_close(&p->out);
	close_input(p);
	if (p->child != 0)
		status = child_wait(p->child);
	p->child = 0;
	return status;
}

void
direct_program_clear(struct direct_program *p)
{
	/* A child that still runs has nothing left to do, and may not notice
	 * the end of its standard input. */
	if (p->child != 0)
		(void)kill(p->child, SIGTERM);
	(void)direct_program_end(p);
	buf_clear(&p->got);
	buf_clear(&p->told);
	p->key = (struct span){ NULL, 0 };
}
