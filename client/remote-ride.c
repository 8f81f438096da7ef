/* SPDX-License-Identifier: ISC */
/*
 * A remote host by the connection of a master (ControlPath): each stream is a
 * session of it.
 *
 * DESIGN. With a master there are no connections of our own beside its. A
 * further one has to lead to the address and the host key of the first, and
 * what those of the master are only the master knows: a name that means another
 * host by now would get some ranges of a file. So -j makes sessions of the
 * master.
 */
#include "client/remote-internal.h"

#include <string.h>

#include "base/log.h"
#include "client/mux-ride.h"
#include "client/sharing.h"

/* Only who makes a connection can have it unencrypted; and what is to be made
 * again when it is lost must not depend on another process. */
static bool
is_wanted(const struct remote *r)
{
	return !r->p.clear && !r->p.watched;
}

static int
new_ride(struct remote *r, const struct sharing *sharing,
    struct mux_ride **out, int fds[2])
{
	const char *server = r->p.subsystem != NULL ? r->p.subsystem : "sftp";
	const struct mux_ride_params params = {
		.loop = r->p.loop,
		.wanted = { .conf = &r->conf,
			.command = server,
			.subsystem = strchr(server, '/') == NULL },
		.quiet = r->conns != NULL,
	};
	struct mux_call call;
	int err;

	if (sharing->path == NULL)
		return ERR_NOT_FOUND;
	if ((err = sharing_call(sharing, &call)) != 0)
		return err;
	return mux_ride_new(out, &params, &call, fds);
}

/* Without a master there is no connection in the list either. */
static int
add_ride(struct remote *r, struct stream **out)
{
	struct sharing sharing;
	struct mux_ride *ride;
	struct conn *conn;
	int fds[2], err;

	if ((err = sharing_init(&sharing, &r->conf)) == 0)
		err = new_ride(r, &sharing, &ride, fds);
	sharing_clear(&sharing);
	if (err != 0)
		return err;
	conn = remote_conn_add(r);
	conn->ride = ride;
	return remote_stream_add_piped(out, conn, fds);
}

int
remote_ride_add(struct remote *r, struct stream **out)
{
	return remote_conn_limit_reached(r) ? ERR_LIMIT : add_ride(r, out);
}

/* Waits for the master's answer. */
static bool
is_made(const struct conn *conn)
{
	while (mux_ride_is_asked(conn->ride))
		if (loop_turn(conn->r->p.loop, -1) != 0)
			return false;
	return mux_ride_is_open(conn->ride);
}

bool
remote_ride_begin(struct remote *r)
{
	struct stream *stream;

	if (!is_wanted(r))
		return false;
	if (add_ride(r, &stream) == 0) {
		if (is_made(stream->conn))
			return true;
		remote_stream_remove(stream);
		remote_conn_remove(r->conns);
	}
	/* As if it had not been tried. */
	r->conn_count = 0;
	r->status = 0;
	return false;
}

int
remote_ride_status(const struct conn *conn)
{
	return mux_ride_status(conn->ride);
}

void
remote_ride_free(struct mux_ride *ride)
{
	mux_ride_free(ride);
}
