/* SPDX-License-Identifier: ISC */
/*
 * Fakes of the connections and sessions of a remote host, and of a master that
 * has one, for the tests of client/copy/remote-conn.c and remote-stream.c. They
 * replace client/sshclient.c, client/session/client-session.c,
 * client/copy/remote-master.c and what is used of channels; so they are a part
 * of each test, and in no library.
 */
#ifndef HPN_REGRESS_UNIT_REMOTE_FAKES_H
#define HPN_REGRESS_UNIT_REMOTE_FAKES_H

#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/auth/login-tickets.h"
#include "client/copy/remote-internal.h"
#include "compat/sock.h"
#include "peer-version.h"
#include "xfer/sftp/sftp-engine.h"

enum { FAKES_MAX = 256 };

/* ---- fake connections --------------------------------------------------- */

struct sshclient {
	struct sshclient_params p;
	bool expected, ready, ended, refused;
};

struct session {
	struct session_params p;
	bool has_channel, optimistic, attached, finished;
};

static struct {
	struct loop *loop;
	struct strlist options;
	/* Slots of those that were freed are NULL. */
	struct sshclient *clients[FAKES_MAX];
	struct session *sessions[FAKES_MAX];
	unsigned clients_made, sessions_made, woken;
	enum sshclient_further more;
	bool answered;
	bool fail_client, fail_release, fail_session; /* the next one */
	bool master; /* of a shared connection is there */
	bool identity; /* it tells of that */
	bool lost_root; /* a ticket that was shown has ended meanwhile */
	unsigned piped, connections; /* that the user asks for */
	uint64_t bulk;
} f;

static inline bool
take_flag(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

int
sshclient_new(struct sshclient **out, const struct sshclient_params *params)
{
	struct sshclient *c;

	if (take_flag(&f.fail_client))
		return ERR_SYSTEM;
	assert_true(f.clients_made < FAKES_MAX);
	c = xcalloc(1, sizeof *c);
	c->p = *params;
	f.clients[f.clients_made++] = c;
	*out = c;
	return 0;
}

bool
sshclient_was_refused(const struct sshclient *c)
{
	return c->refused;
}

void
sshclient_free(struct sshclient *c)
{
	for (unsigned i = 0; i < f.clients_made; i++)
		if (f.clients[i] == c)
			f.clients[i] = NULL;
	free(c);
}

bool
sshclient_is_predictable(const struct sshclient *c)
{
	(void)c;
	return false;
}

bool
sshclient_expects_tickets(const struct sshclient *c)
{
	(void)c;
	return false;
}

int
sshclient_log_in(struct sshclient *c)
{
	assert_true(c->p.keys_only);
	if (take_flag(&f.fail_release))
		return ERR_HOSTKEY;
	c->p.keys_only = false;
	return 0;
}

bool
sshclient_is_answered(const struct sshclient *c)
{
	assert_non_null(c);
	return f.answered;
}

enum sshclient_further
sshclient_further(struct sshclient *c)
{
	assert_non_null(c);
	return f.more;
}

/* Reports are made by other tests. */
bool
sshclient_back(const struct sshclient *c, struct login_ticket *out)
{
	(void)c;
	*out = (struct login_ticket){ .kind = 0 };
	return false;
}

bool
sshclient_is_root(const struct sshclient *c)
{
	(void)c;
	return false;
}

bool
sshclient_lost_its_root(struct sshclient *c)
{
	(void)c;
	return f.lost_root;
}

bool
sshclient_measure(const struct sshclient *c, struct why_slow *out, bool limits)
{
	(void)c;
	(void)out;
	(void)limits;
	return false;
}

const char *
sshclient_peer(const struct sshclient *c)
{
	(void)c;
	return NULL;
}

uint32_t
sshclient_peer_traits(const struct sshclient *c)
{
	(void)c;
	return 0;
}

void
sshclient_forget_answer(struct sshclient *c)
{
	assert_true(c->p.first == NULL); /* only that one has one */
}

struct channels *
sshclient_channels(const struct sshclient *c)
{
	assert_non_null(c);
	return NULL;
}

int
sshclient_fd(const struct sshclient *c)
{
	assert_non_null(c);
	return -1;
}

void
sshclient_fill(const struct sshclient *c, struct session_params *s)
{
	s->loop = c->p.loop;
	s->peer_traits = PEER_TAKES_AHEAD | PEER_KNOWS_EOW;
}

int
session_new(struct session **out, const struct session_params *params)
{
	struct session *s;

	if (take_flag(&f.fail_session))
		return ERR_SYSTEM;
	assert_true(f.sessions_made < FAKES_MAX);
	s = xcalloc(1, sizeof *s);
	s->p = *params;
	s->has_channel = true;
	f.sessions[f.sessions_made++] = s;
	*out = s;
	return 0;
}

void
session_open_optimistically(struct session *s)
{
	s->optimistic = true;
}

void
session_attach(struct session *s)
{
	s->attached = true;
}

void
session_free(struct session *s)
{
	for (unsigned i = 0; i < f.sessions_made; i++)
		if (f.sessions[i] == s)
			f.sessions[i] = NULL;
	free(s);
}

/* Never followed by what is tested. */
struct channel *
session_channel(const struct session *s)
{
	return s->has_channel ? (struct channel *)(uintptr_t)s : NULL;
}

int
session_status(const struct session *s)
{
	(void)s;
	return 7;
}

struct channels_times
channels_times(const struct channels *cs)
{
	(void)cs;
	return (struct channels_times){ .window_ms = 0 };
}

void
channel_mark_readable(struct channel *c)
{
	assert_non_null(c);
	f.woken++;
}

void
channel_end_source(struct channel *c)
{
	assert_non_null(c);
}

uint32_t
channel_peer_window_top(const struct channel *c)
{
	assert_non_null(c);
	return 1;
}

/* ---- the fake master of a shared connection ----------------------------- */

struct mux_piped {
	int in, out; /* the server's ends */
};

bool
remote_master_begin(struct remote *r)
{
	struct stream *stream;

	const struct sshclient_params stands = { .loop = f.loop };

	assert_null(remote_first(r));
	if (!f.master || remote_master_add(r, &stream) != 0)
		return false;
	if (f.identity) {
		r->master_rtt_us = 30000;
		assert_int_equal(sshclient_new(&remote_first(r)->client,
				     &stands), 0);
	}
	return true;
}

static inline int
make_piped(struct remote *r, struct conn **out, int fds[2])
{
	struct mux_piped *piped;
	int up[2], down[2];

	if (!f.master)
		return ERR_NOT_FOUND;
	piped = xcalloc(1, sizeof *piped);
	assert_int_equal(sock_pipe(up, SOCK_WAITS), 0);
	assert_int_equal(sock_pipe(down, SOCK_WAITS), 0);
	piped->in = up[0];
	piped->out = down[1];
	*out = remote_conn_add(r);
	(*out)->piped = piped;
	f.piped++;
	fds[0] = down[0];
	fds[1] = up[1];
	return 0;
}

int
remote_master_add(struct remote *r, struct stream **out)
{
	struct conn *conn;
	int fds[2], err = make_piped(r, &conn, fds);

	return err != 0 ? err : remote_stream_add_piped(out, conn, fds);
}

int
remote_master_carry(struct stream *stream)
{
	struct conn *conn;
	int fds[2], err = make_piped(stream->r, &conn, fds);

	return err != 0 ? err : remote_stream_use_pipe(stream, conn, fds);
}

int
remote_master_status(const struct conn *conn)
{
	return conn->piped->out == -1 ? 9 : 0;
}

void
remote_master_free(struct mux_piped *piped)
{
	if (piped == NULL)
		return;
	fd_close(&piped->in);
	fd_close(&piped->out);
	free(piped);
	f.piped--;
}

/* ---- what is done to them ----------------------------------------------- */

static inline void
client_end(struct sshclient *c)
{
	c->ended = true;
	c->p.ended(c->p.arg, ERR_CLOSED);
}

static inline void
client_login(struct sshclient *c)
{
	c->ready = true;
	if (c->p.ready(c->p.arg) != 0 && !c->ended)
		client_end(c);
}

static inline void
session_close(struct session *s)
{
	s->has_channel = false;
	if (!s->finished) {
		s->finished = true;
		s->p.ended(s->p.arg);
	}
}

static inline struct remote *
begin(enum sshclient_further more)
{
	struct remote_params params = { .loop = f.loop, .host = "there",
		.options = &f.options,
		.connections = f.connections,
		.bulk = f.bulk };
	struct remote *r;

	f.clients_made = f.sessions_made = f.woken = 0;
	f.more = more;
	f.answered = f.fail_client = f.fail_release = f.fail_session = false;
	assert_int_equal(remote_open(&r, &params), 0);
	return r;
}

static inline int
finish(struct remote *r)
{
	int status;

	f.answered = false;
	status = remote_close(r);
	for (unsigned i = 0; i < f.clients_made; i++)
		assert_null(f.clients[i]);
	for (unsigned i = 0; i < f.sessions_made; i++)
		assert_null(f.sessions[i]);
	assert_int_equal(f.piped, 0);
	return status;
}

static inline void
turn(void)
{
	assert_int_equal(loop_turn(f.loop, 0), 0);
}

static inline struct sftp *
open_stream(struct remote *r, enum xfer_stream_kind kind)
{
	struct xfer_streams streams = remote_streams(r);
	struct sftp *s = NULL;

	return streams.ops->open(streams.arg, kind, 0, &s) == 0 ? s : NULL;
}

static inline void
close_stream(struct remote *r, struct sftp *s)
{
	struct xfer_streams streams = remote_streams(r);

	streams.ops->close(streams.arg, s);
}

static inline struct conn *
conn_number(const struct remote *r, unsigned number)
{
	struct conn *c;

	TAILQ_FOREACH(c, &r->conns, entry)
		if (c->number == number)
			return c;
	return NULL;
}

static inline void
assert_state(const struct remote *r, unsigned number, enum conn_state state)
{
	const struct conn *c = conn_number(r, number);

	assert_non_null(c);
	assert_int_equal(c->state, state);
}

/* ---- a test ------------------------------------------------------------- */

static inline int
setup(void **state)
{
	static const char *const options[] = { "-F", "none",
		"-oLogLevel=QUIET" };

	(void)state;
	log_init("test", LOG_LVL_QUIET);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		assert_int_equal(strlist_add(&f.options, options[i]), 0);
	f.loop = loop_new();
	return f.loop == NULL;
}

static inline int
teardown(void **state)
{
	(void)state;
	loop_free(f.loop);
	strlist_clear(&f.options);
	return 0;
}

#endif
