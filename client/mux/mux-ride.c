/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-ride.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-link.h"
#include "client/session/standard-streams.h"

enum { STATUS_UNKNOWN = 255 };

struct mux_ride {
	struct mux_call call;  /* its socket is the link's */
	struct mux_link *link; /* NULL: not yet */
	enum { ASKED, OPEN, OVER } state;
	enum log_level level;
	uint32_t channel;
	int status;
};

/* ---- what the master says ----------------------------------------------- */

static int
on_answer(struct mux_ride *ride, struct rd message)
{
	int r = mux_call_take(&ride->call, &message);

	if (r == 0) {
		ride->channel = rd_u32(&message);
		r = rd_end(&message);
	}
	if (r == 0 && ride->call.type != MUX_OPENED)
		r = ERR_PROTOCOL;
	if (r == 0)
		ride->state = OPEN;
	return r;
}

static int
on_status(struct mux_ride *ride, struct rd message)
{
	uint32_t type = rd_u32(&message), channel = rd_u32(&message);
	uint32_t status = rd_u32(&message);
	int r = rd_end(&message);

	if (r != 0)
		return r;
	if (type != MUX_STATUS || channel != ride->channel)
		return ERR_PROTOCOL;
	ride->status = (int)(status & 0xff);
	return 0;
}

static int
on_message(void *arg, struct rd message)
{
	struct mux_ride *ride = arg;

	return ride->state == ASKED ? on_answer(ride, message) :
				      on_status(ride, message);
}

static int
on_descriptor(void *arg, int fd)
{
	(void)arg;
	fd_close(&fd);
	return ERR_PROTOCOL; /* none was awaited */
}

static void
on_link_ended(void *arg, int err)
{
	struct mux_ride *ride = arg;

	if (ride->state == ASKED)
		mux_request_report(&ride->call, ride->level, err);
	else if (err != ERR_CLOSED)
		log_msg(ride->level, "The master of the shared connection: %s",
		    err_text(err));
	ride->state = OVER;
}

/* ---- life --------------------------------------------------------------- */

/* Errors of the server's program are for the user. A master may set O_NONBLOCK,
 * which belongs to the open file, so it gets one of its own where that can be
 * had: the line that shows the progress goes to the same terminal. */
static int
open_errors(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd != -1)
		(void)stdio_reopen_nonblock(fd);
	return fd;
}

static int
ask(struct mux_ride *ride, const struct mux_wanted *wanted, int in, int out)
{
	struct buf b = { 0 };
	int fds[MUX_SESSION_FDS] = { in, out, open_errors() };
	int r = fds[2] == -1 ? ERR_SYSTEM : 0;

	if (r == 0)
		r = mux_request_session(&ride->call, &b, wanted);
	stdio_note_blocking();
	if (r == 0)
		r = mux_call_send(&ride->call, &b, fds, MUX_SESSION_FDS);
	fd_close(&fds[2]);
	buf_clear(&b);
	return r;
}

static int
begin(struct mux_ride *ride, const struct mux_ride_params *params, int in,
    int out)
{
	const struct mux_link_hooks hooks = {
		.arg = ride,
		.message = on_message,
		.descriptor = on_descriptor,
		.ended = on_link_ended,
	};
	int r = ask(ride, &params->wanted, in, out), fd = ride->call.fd;

	if (r != 0) {
		mux_request_report(&ride->call, ride->level, r);
		return r;
	}
	ride->call.fd = -1;
	return mux_link_new(&ride->link, params->loop, fd, &hooks);
}

int
mux_ride_new(struct mux_ride **out, const struct mux_ride_params *params,
    struct mux_call *call, int fds[2])
{
	struct mux_ride *ride = xcalloc(1, sizeof *ride);
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, r;

	ride->call = *call;
	ride->status = STATUS_UNKNOWN;
	ride->level = params->quiet ? LOG_LVL_DEBUG1 : LOG_LVL_ERROR;
	if ((r = child_pipe(to)) == 0 && (r = child_pipe(from)) == 0)
		r = begin(ride, params, to[0], from[1]);
	fd_close(&to[0]);
	fd_close(&from[1]);
	if (r != 0) {
		fd_close(&to[1]);
		fd_close(&from[0]);
		mux_ride_free(ride);
		return r;
	}
	fds[0] = from[0];
	fds[1] = to[1];
	*out = ride;
	return 0;
}

void
mux_ride_free(struct mux_ride *ride)
{
	if (ride == NULL)
		return;
	mux_link_free(ride->link);
	mux_call_close(&ride->call);
	free(ride);
	stdio_restore_blocking();
}

bool
mux_ride_is_asked(const struct mux_ride *ride)
{
	return ride->state == ASKED;
}

bool
mux_ride_is_open(const struct mux_ride *ride)
{
	return ride->state == OPEN;
}

int
mux_ride_status(const struct mux_ride *ride)
{
	return ride->state == OPEN && ride->status == STATUS_UNKNOWN ?
	    0 : ride->status;
}
