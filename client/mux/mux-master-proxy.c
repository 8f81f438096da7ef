/* SPDX-License-Identifier: ISC */
/*
 * A passenger that is a client of its own on the shared connection (-O proxy):
 * behind the answer each message is, after its length, a byte that tells how
 * many bytes of padding are at the end, and a message of the connection
 * protocol, in both directions.
 */
#include "base/log.h"
#include "client/mux/mux-foreign.h"
#include "client/mux/mux-master-internal.h"

enum {
	/* Bytes of a message; OpenSSH takes no shorter one. */
	MESSAGE_MIN = 4,
	/* Bytes that wait because passengers do not read. As many may come as
	 * a passenger has opened its windows for; one that keeps its channels'
	 * data in itself, as clients do, reads all the time. */
	BACKLOG_MAX = 64 * 1024 * 1024, /* of one */
	BACKLOG_MAX_ALL = 256 * 1024 * 1024,
};

static size_t
backlog_of_all(const struct mux_master *m)
{
	size_t sum = 0;

	for (const struct passenger *p = m->passengers; p != NULL; p = p->next)
		sum += mux_link_backlog(p->link);
	return sum;
}

static bool
is_too_slow(const struct passenger *p)
{
	return mux_link_is_full(p->link) &&
	    (mux_link_backlog(p->link) > BACKLOG_MAX ||
		backlog_of_all(p->m) > BACKLOG_MAX_ALL);
}

static void
on_message(void *arg, const struct buf *message)
{
	static const uint8_t zeros[MESSAGE_MIN];
	struct passenger *p = arg;
	struct buf b = { 0 };
	size_t len = buf_len(message);
	uint8_t padding = len < MESSAGE_MIN ? (uint8_t)(MESSAGE_MIN - len) : 0;

	buf_put_u8(&b, padding);
	buf_put_buf(&b, message);
	buf_put(&b, zeros, padding);
	passenger_send(p, &b);
	buf_clear(&b);
	if (is_too_slow(p)) {
		log_info("A passenger does not read what comes for it.");
		mux_link_fail(p->link, ERR_LIMIT);
	}
}

/* What the server does not take has to wait at the passenger. */
static bool
on_turn(void *arg)
{
	struct passenger *p = arg;

	if (p->held && foreign_has_room(p->foreign)) {
		p->held = false;
		mux_link_pause(p->link, false);
	}
	return false;
}

int
passenger_relay(struct passenger *p, struct rd message)
{
	uint8_t padding = rd_u8(&message);
	int r = rd_err(&message);

	if (r == 0 && padding > message.len)
		r = ERR_PROTOCOL;
	message.len -= r == 0 ? padding : 0;
	if (r != 0 || (r = foreign_input(p->foreign, message)) != 0)
		return r;
	if (!foreign_has_room(p->foreign)) {
		p->held = true;
		mux_link_pause(p->link, true);
	}
	return 0;
}

/* Channels of it may be terminals: nobody here knows. */
static const char *
start(struct passenger *p)
{
	struct mux_master *m = p->m;
	const struct foreign_hooks hooks = { .arg = p,
		.message = on_message };

	if (m->p.leave_none != NULL && !m->p.leave_none(m->p.arg))
		return "a terminal is not possible just now";
	if (foreign_new(&p->foreign, m->p.session.channels, &hooks) != 0 ||
	    loop_on_turn(m->p.session.loop, on_turn, p) != 0)
		return "no resources";
	return NULL;
}

static void
on_answered(struct passenger *p, bool allowed)
{
	const char *why = NULL;

	if (!allowed)
		passenger_deny(p);
	else if ((why = start(p)) != NULL)
		passenger_refuse(p, MUX_FAILURE, p->request, why);
	if (!allowed || why != NULL) {
		passenger_finish(p);
		return;
	}
	p->state = PASSENGER_OPEN;
	passenger_answer(p, MUX_PROXY_OK, p->request);
}

int
passenger_wants_proxy(struct passenger *p, uint32_t id, struct rd *r)
{
	p->request = id;
	p->state = PASSENGER_OPENING;
	passenger_ask(p, on_answered, "Allow multiplex proxy connection?");
	return rd_end(r);
}

void
passenger_leave_proxy(struct passenger *p)
{
	loop_off_turn(p->m->p.session.loop, on_turn, p);
	foreign_free(p->foreign);
	p->foreign = NULL;
}
