/* SPDX-License-Identifier: ISC */
/*
 * A mux client that speaks the connection protocol itself (-O proxy). After the
 * master's answer each message in both directions is: its length, a byte that
 * tells how many bytes of padding are at its end, a message of the connection
 * protocol, the padding.
 */
#include "base/log.h"
#include "client/mux/mux-foreign.h"
#include "client/mux/mux-master-internal.h"

enum {
	/* Bytes of a message: shorter ones are padded, because OpenSSH does not
	 * take them. */
	MESSAGE_MIN = 4,
	/* Limits of bytes that are queued for clients that do not read. The
	 * windows of a client's channels limit how many can come. Our own
	 * clients always read, and keep in their memory what their channels
	 * cannot take yet. */
	BACKLOG_MAX = 64 * 1024 * 1024, /* of one client */
	BACKLOG_MAX_ALL = 256 * 1024 * 1024,
};

static size_t
backlog_of_all(const struct mux_master *m)
{
	const struct mux_client *c;
	size_t sum = 0;

	TAILQ_FOREACH(c, &m->clients, entry)
		sum += mux_transport_backlog(c->transport);
	return sum;
}

static bool
is_too_slow(const struct mux_client *c)
{
	return mux_transport_is_full(c->transport) &&
	    (mux_transport_backlog(c->transport) > BACKLOG_MAX ||
		backlog_of_all(c->m) > BACKLOG_MAX_ALL);
}

static void
on_message(void *arg, const struct buf *message)
{
	static const uint8_t zeros[MESSAGE_MIN];
	struct mux_client *c = arg;
	struct buf b = { 0 };
	size_t len = buf_len(message);
	uint8_t padding = len < MESSAGE_MIN ? (uint8_t)(MESSAGE_MIN - len) : 0;

	buf_put_u8(&b, padding);
	buf_put_buf(&b, message);
	buf_put(&b, zeros, padding);
	mux_client_send(c, &b);
	buf_clear(&b);
	if (is_too_slow(c)) {
		log_info("A passenger does not read what comes for it.");
		mux_transport_fail(c->transport, ERR_LIMIT);
	}
}

/* Reads from the client again, once the connection takes its messages. Until
 * then its data waits at its own end. */
static bool
on_turn(void *arg)
{
	struct mux_client *c = arg;

	if (c->held && foreign_has_room(c->foreign)) {
		c->held = false;
		mux_transport_pause(c->transport, false);
	}
	return false;
}

int
mux_client_relay(struct mux_client *c, struct rd message)
{
	uint8_t padding = rd_u8(&message);
	int r = rd_err(&message);

	if (r == 0 && padding > message.len)
		r = ERR_PROTOCOL;
	message.len -= r == 0 ? padding : 0;
	if (r != 0 || (r = foreign_input(c->foreign, message)) != 0)
		return r;
	if (!foreign_has_room(c->foreign)) {
		c->held = true;
		mux_transport_pause(c->transport, true);
	}
	return 0;
}

/* Prepares c to speak the connection protocol. First the connection leaves the
 * cipher none, because c may open terminals, which only c knows. Returns the
 * reason why c may not; NULL: it may. */
static const char *
start(struct mux_client *c)
{
	struct mux_master *m = c->m;
	const struct foreign_hooks hooks = { .arg = c,
		.message = on_message };

	if (m->p.leave_none != NULL && !m->p.leave_none(m->p.arg))
		return "a terminal is not possible just now";
	if (foreign_new(&c->foreign, m->p.session.channels, &hooks) != 0 ||
	    loop_on_turn(m->p.session.loop, on_turn, c) != 0)
		return "no resources";
	return NULL;
}

static void
on_answered(struct mux_client *c, bool allowed)
{
	const char *why = NULL;

	if (!allowed)
		mux_client_deny(c);
	else if ((why = start(c)) != NULL)
		mux_client_refuse(c, MUX_FAILURE, c->request, why);
	if (!allowed || why != NULL) {
		mux_client_finish(c);
		return;
	}
	c->state = MUX_CLIENT_OPEN;
	mux_client_answer(c, MUX_PROXY_OK, c->request);
}

int
mux_client_wants_proxy(struct mux_client *c, uint32_t id, struct rd *r)
{
	c->request = id;
	c->state = MUX_CLIENT_OPENING;
	mux_client_ask(c, on_answered, "Allow multiplex proxy connection?");
	return rd_end(r);
}

void
mux_client_leave_proxy(struct mux_client *c)
{
	loop_off_turn(c->m->p.session.loop, on_turn, c);
	foreign_free(c->foreign);
	c->foreign = NULL;
}
