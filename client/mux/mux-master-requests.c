/* SPDX-License-Identifier: ISC */
/*
 * The table of the requests that mux clients can make, and the handling of
 * those that are answered at once.
 */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels.h"
#include "client/forwards/forwards.h"
#include "client/mux/connection-identity.h"
#include "client/mux/mux-master-internal.h"
#include "client/session/conn-info.h"

enum { INFO_NO, INFO_YES };

static int
check(struct mux_client *c, uint32_t id, struct rd *r)
{
	struct buf b = { 0 };

	mux_begin_request(&b, MUX_ALIVE, id);
	buf_put_u32(&b, (uint32_t)getpid());
	mux_client_send(c, &b);
	buf_clear(&b);
	return rd_end(r);
}

static void
on_end_allowed(struct mux_client *c, bool allowed)
{
	if (!allowed) {
		mux_client_deny(c);
		return;
	}
	log_verbose("A passenger ends the shared connection.");
	mux_client_answer(c, MUX_OK, c->request);
	c->ends_master = true;
	mux_client_finish(c);
}

static int
end_master(struct mux_client *c, uint32_t id, struct rd *r)
{
	c->request = id;
	mux_client_ask(c, on_end_allowed, "Terminate shared connection to %s? ",
	    c->m->p.session.conf->host.hostname);
	return rd_end(r);
}

static void
on_stop_allowed(struct mux_client *c, bool allowed)
{
	if (!allowed) {
		mux_client_deny(c);
		return;
	}
	mux_client_answer(c, MUX_OK, c->request);
	mux_master_stop(c->m);
}

static int
stop_listening(struct mux_client *c, uint32_t id, struct rd *r)
{
	c->request = id;
	mux_client_ask(c, on_stop_allowed,
	    "Disable further multiplexing on shared connection to %s? ",
	    c->m->p.session.conf->host.hostname);
	return rd_end(r);
}

/* Appends the text as a string, in lines that end with CR LF, as OpenSSH's
 * master sends them. */
static void
put_lines(struct buf *b, const struct buf *text)
{
	const char *at = (const char *)buf_data(text);
	struct buf lines = { 0 };

	for (size_t i = 0; i < buf_len(text); i++) {
		if (at[i] == '\n')
			buf_put_u8(&lines, '\r');
		buf_put_u8(&lines, (uint8_t)at[i]);
	}
	buf_put_string_buf(b, &lines);
	buf_clear(&lines);
}

static void
list_channels(const struct channels *chs, struct buf *text)
{
	buf_printf(text, "The following connections are open:\n");
	channels_describe(chs, text);
}

/* Appends the identity of the connection, for a copy that may make further
 * connections. It is binary, not text for users. Nothing is appended if there
 * is no identity to tell. */
static void
put_identity(const struct mux_master_params *m, struct buf *out)
{
	struct connection_identity identity = { 0 };

	if (m->tell_identity != NULL &&
	    m->tell_identity(m->arg, &identity) == 0)
		connection_identity_put(out, &identity);
	connection_identity_clear(&identity);
}

static int
inform(struct mux_client *c, uint32_t id, struct rd *r)
{
	const struct session_params *s = &c->m->p.session;
	struct span what = rd_string(r);
	struct buf b = { 0 }, text = { 0 };
	bool is_text = true;
	int err = rd_end(r);

	if (err != 0)
		return err;
	if (span_equals(what, "connection"))
		conn_info_put(&text, s);
	else if (span_equals(what, "channels"))
		list_channels(s->channels, &text);
	else if (span_equals(what, CONNECTION_IDENTITY_NAME)) {
		is_text = false;
		put_identity(&c->m->p, &text);
	}
	mux_begin_request(&b, MUX_INFO_TEXT, id);
	buf_put_u32(&b, buf_len(&text) > 0 ? INFO_YES : INFO_NO);
	if (buf_len(&text) == 0)
		buf_put_cstring(&b, "info request type not supported");
	else if (is_text)
		put_lines(&b, &text);
	else
		buf_put_string_buf(&b, &text);
	mux_client_send(c, &b);
	buf_clear(&text);
	buf_clear(&b);
	return 0;
}

static const struct row {
	uint32_t type;
	int (*handle)(struct mux_client *c, uint32_t id, struct rd *r);
	bool alone; /* a client may make only one such request */
	uint8_t fds; /* number of descriptors that follow the request */
	bool forwards; /* refused where the host's forwards are refused */
} rows[] = {
	{ MUX_SESSION, mux_client_wants_session, true, MUX_SESSION_FDS, false },
	{ MUX_STDIO, mux_client_wants_stdio, true, MUX_STDIO_FDS, true },
	{ MUX_PROXY, mux_client_wants_proxy, true, 0, true },
	{ MUX_CHECK, check, false, 0, false },
	{ MUX_EXIT, end_master, false, 0, false },
	{ MUX_STOP, stop_listening, false, 0, false },
	{ MUX_INFO, inform, false, 0, false },
	{ MUX_ADD_FORWARD, mux_client_wants_forward, false, 0, false },
	{ MUX_CANCEL_FORWARD, mux_client_cancels_forward, false, 0, false },
};

/* The reason to refuse a request; NULL: the request may be handled. */
static const char *
refusal(const struct mux_client *c, const struct row *row)
{
	if (row->alone && c->state != MUX_CLIENT_READY)
		return "Multiple sessions not supported";
	return row->forwards && c->m->p.forwards != NULL ?
	    forwards_refusal(c->m->p.forwards) : NULL;
}

int
mux_client_request(struct mux_client *c, uint32_t type, struct rd *r)
{
	const char *why;
	uint32_t id = rd_u32(r);
	int err = rd_err(r);

	if (err != 0)
		return err;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].type != type)
			continue;
		if ((why = refusal(c, &rows[i])) == NULL)
			return rows[i].handle(c, id, r);
		mux_client_refuse(c, MUX_FAILURE, id, why);
		/* The client sends the descriptors all the same: they must not
		 * be read as messages. */
		mux_transport_await_fds(c->transport, rows[i].fds);
		return 0;
	}
	mux_client_refuse(c, MUX_FAILURE, id, "unsupported request");
	return 0;
}
