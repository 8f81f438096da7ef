/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-piped.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-transport.h"
#include "client/session/standard-streams.h"

enum { STATUS_UNKNOWN = 255 };

struct mux_piped {
	struct mux_conn conn;  /* its fd is -1 once transport has the socket */
	struct mux_transport *transport; /* NULL: not made yet */
	enum { ASKED, OPEN, OVER } state;
	enum log_level level;
	uint32_t channel;
	int status;
};

/* ---- what the master says ----------------------------------------------- */

static int
on_answer(struct mux_piped *piped, struct rd message)
{
	int r = mux_conn_take(&piped->conn, &message);

	if (r == 0) {
		piped->channel = rd_u32(&message);
		r = rd_end(&message);
	}
	if (r == 0 && piped->conn.type != MUX_OPENED)
		r = ERR_PROTOCOL;
	if (r == 0)
		piped->state = OPEN;
	return r;
}

static int
on_status(struct mux_piped *piped, struct rd message)
{
	uint32_t type = rd_u32(&message), channel = rd_u32(&message);
	uint32_t status = rd_u32(&message);
	int r = rd_end(&message);

	if (r != 0)
		return r;
	if (type != MUX_STATUS || channel != piped->channel)
		return ERR_PROTOCOL;
	piped->status = (int)(status & 0xff);
	return 0;
}

static int
on_message(void *arg, struct rd message)
{
	struct mux_piped *piped = arg;

	return piped->state == ASKED ? on_answer(piped, message) :
				      on_status(piped, message);
}

static void
on_transport_ended(void *arg, int err)
{
	struct mux_piped *piped = arg;

	if (piped->state == ASKED)
		mux_request_report(&piped->conn, piped->level, err);
	else if (err != ERR_CLOSED)
		log_msg(piped->level, "The master of the shared connection: %s",
		    err_text(err));
	piped->state = OVER;
}

/* ---- life --------------------------------------------------------------- */

/* Returns a duplicate of standard error, for the program that the server runs;
 * -1: errno. The master may set O_NONBLOCK, which belongs to the open file, and
 * the progress is shown on the same terminal: so the file is opened again where
 * that is possible. */
static int
open_errors(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd != -1)
		(void)stdio_reopen_nonblock(fd);
	return fd;
}

static int
ask(struct mux_piped *piped, const struct mux_wanted *wanted, int in, int out)
{
	struct buf b = { 0 };
	int fds[MUX_SESSION_FDS] = { in, out, open_errors() };
	int r = fds[2] == -1 ? ERR_SYSTEM : 0;

	if (r == 0)
		r = mux_request_session(&piped->conn, &b, wanted);
	stdio_note_blocking();
	if (r == 0)
		r = mux_conn_send(&piped->conn, &b, fds, MUX_SESSION_FDS);
	fd_close(&fds[2]);
	buf_clear(&b);
	return r;
}

static int
begin(struct mux_piped *piped, const struct mux_piped_params *params, int in,
    int out)
{
	const struct mux_transport_hooks hooks = {
		.arg = piped,
		.message = on_message,
		.ended = on_transport_ended,
	};
	int r = ask(piped, &params->wanted, in, out), fd = piped->conn.fd;

	if (r != 0) {
		mux_request_report(&piped->conn, piped->level, r);
		return r;
	}
	piped->conn.fd = -1;
	return mux_transport_new(&piped->transport, params->loop, fd, &hooks);
}

int
mux_piped_new(struct mux_piped **out, const struct mux_piped_params *params,
    struct mux_conn *conn, int fds[2])
{
	struct mux_piped *piped = xcalloc(1, sizeof *piped);
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, r;

	piped->conn = *conn;
	piped->status = STATUS_UNKNOWN;
	piped->level = params->quiet ? LOG_LVL_DEBUG1 : LOG_LVL_ERROR;
	if ((r = child_pipe(to)) == 0 && (r = child_pipe(from)) == 0)
		r = begin(piped, params, to[0], from[1]);
	fd_close(&to[0]);
	fd_close(&from[1]);
	if (r != 0) {
		fd_close(&to[1]);
		fd_close(&from[0]);
		mux_piped_free(piped);
		return r;
	}
	fds[0] = from[0];
	fds[1] = to[1];
	*out = piped;
	return 0;
}

void
mux_piped_free(struct mux_piped *piped)
{
	if (piped == NULL)
		return;
	mux_transport_free(piped->transport);
	mux_conn_close(&piped->conn);
	free(piped);
	stdio_restore_blocking();
}

bool
mux_piped_is_asked(const struct mux_piped *piped)
{
	return piped->state == ASKED;
}

bool
mux_piped_is_open(const struct mux_piped *piped)
{
	return piped->state == OPEN;
}

int
mux_piped_status(const struct mux_piped *piped)
{
	return piped->state == OPEN && piped->status == STATUS_UNKNOWN ?
	    0 : piped->status;
}
