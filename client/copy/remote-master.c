/* SPDX-License-Identifier: ISC */
/*
 * A remote host that is reached by the connection of a master (ControlPath).
 * The first stream is a session of the master, and other streams may be.
 *
 * DESIGN. A connection of our own beside the master's has to lead to the same
 * address, host key and account, which only the master knows: if the host's
 * name led to another host by now, that would send some ranges of a file to the
 * wrong place. So such connections are made only if the master tells the
 * identity of its connection (client/mux/connection-identity.h), and they have
 * to match it. Otherwise, and when they are refused, -j makes more sessions of
 * the master.
 */
#include "client/copy/remote-internal.h"

#include <string.h>

#include "base/log.h"
#include "client/mux/connection-identity.h"
#include "client/mux/mux-piped.h"
#include "client/mux/sharing.h"

/* True if a master's connection may be used. It may not where the copy wants no
 * encryption (-z), which only the process that makes a connection can decide;
 * nor where a lost connection is to be made again (--retry), which must not
 * depend on another process. */
static bool
is_wanted(const struct remote *r)
{
	return !r->p.clear && !r->p.watched;
}

/* True if further connections can be made beside a master's: they have to take
 * the same path, which is not known where it goes through a proxy. */
static bool
may_have_further(const struct remote *r)
{
	return r->p.connections != 1 && r->conf.tcp.proxy_command == NULL &&
	    r->conf.tcp.proxy_jump == NULL;
}

/* Asks for the identity of the master's connection. *out stays empty where the
 * master does not tell it. */
static int
ask_for_identity(const struct remote *r, struct mux_conn *conn,
    struct connection_identity *out)
{
	int err;

	*out = (struct connection_identity){ 0 };
	if (!may_have_further(r))
		return 0;
	err = connection_identity_ask(conn, out);
	return err == ERR_UNSUPPORTED ? 0 : err;
}

static void
stand_in(struct remote *r, const struct connection_identity *identity)
{
	const struct sshclient_params params = { .conf = &r->conf,
		.loop = r->p.loop };
	int err;

	if (identity->address == NULL)
		return;
	err = sshclient_new_by_identity(&remote_first(r)->client, &params,
	    identity);
	if (err != 0) {
		log_debug("no connections beside the master's: %s",
		    err_text(err));
		return;
	}
	r->master_rtt_us = identity->rtt_us;
	log_debug("further connections would lead to %s port %u",
	    identity->address, identity->port);
}

/* Asks a master for a session, and before that for the identity of its
 * connection (NULL: not for that). */
static int
new_piped(struct remote *r, const struct sharing *sharing,
    struct connection_identity *identity, struct mux_piped **out, int fds[2])
{
	const char *server = r->p.subsystem != NULL ? r->p.subsystem : "sftp";
	const struct mux_piped_params params = {
		.loop = r->p.loop,
		.wanted = { .conf = &r->conf,
			.command = server,
			.subsystem = strchr(server, '/') == NULL },
		.quiet = remote_first(r) != NULL,
	};
	struct mux_conn conn;
	int err;

	if (sharing->path == NULL)
		return ERR_NOT_FOUND;
	if ((err = sharing_connect(sharing, &conn)) != 0)
		return err;
	if (identity != NULL &&
	    (err = ask_for_identity(r, &conn, identity)) != 0) {
		mux_conn_close(&conn);
		return err;
	}
	return mux_piped_new(out, &params, &conn, fds);
}

/* Adds a connection to the list that is a session of a master. Without a master
 * nothing is added. */
static int
add_piped(struct remote *r, struct connection_identity *identity,
    struct conn **out, int fds[2])
{
	struct sharing sharing;
	struct mux_piped *piped;
	int err;

	if ((err = sharing_init(&sharing, &r->conf)) == 0)
		err = new_piped(r, &sharing, identity, &piped, fds);
	sharing_clear(&sharing);
	if (err != 0)
		return err;
	*out = remote_conn_add(r);
	(*out)->piped = piped;
	return 0;
}

int
remote_master_add(struct remote *r, struct stream **out)
{
	struct conn *conn;
	int fds[2], err;

	if (remote_conn_limit_reached(r))
		return ERR_LIMIT;
	if ((err = add_piped(r, NULL, &conn, fds)) != 0)
		return err;
	return remote_stream_add_piped(out, conn, fds);
}

int
remote_master_carry(struct stream *stream)
{
	struct conn *conn;
	int fds[2], err;

	if ((err = add_piped(stream->r, NULL, &conn, fds)) != 0)
		return err;
	return remote_stream_use_pipe(stream, conn, fds);
}

/* Waits for the master's answer. True: the master made the session. */
static bool
is_made(const struct conn *conn)
{
	while (mux_piped_is_asked(conn->piped))
		if (loop_turn(conn->r->p.loop, -1) != 0)
			return false;
	return mux_piped_is_open(conn->piped);
}

static bool
begin(struct remote *r, struct connection_identity *identity)
{
	struct stream *stream;
	struct conn *conn;
	int fds[2];

	if (add_piped(r, identity, &conn, fds) == 0 &&
	    remote_stream_add_piped(&stream, conn, fds) == 0) {
		if (is_made(conn))
			return true;
		remote_stream_remove(stream);
		remote_conn_remove(remote_first(r));
	}
	/* The caller's own connection shall be number 0, with status 0. */
	r->conn_count = 0;
	r->status = 0;
	return false;
}

bool
remote_master_begin(struct remote *r)
{
	struct connection_identity identity = { 0 };
	bool begun = is_wanted(r) && begin(r, &identity);

	if (begun)
		stand_in(r, &identity);
	connection_identity_clear(&identity);
	return begun;
}

int
remote_master_status(const struct conn *conn)
{
	return mux_piped_status(conn->piped);
}

void
remote_master_free(struct mux_piped *piped)
{
	mux_piped_free(piped);
}
