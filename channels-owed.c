/* SPDX-License-Identifier: ISC */
/*
 * Answers to the peer's global requests. Only their order tells which request
 * an answer is for (RFC 4254 section 4), so an answer that takes time holds
 * back the answers to all later requests.
 */
#include <stdlib.h>

#include "channels-internal.h"

struct channels_owed {
	TAILQ_ENTRY(channels_owed) entry;
	bool wanted; /* the peer asked for an answer */
	bool given;
	struct buf msg;
};

void
channels_global_answer(struct buf *msg, bool ok, const struct buf *data)
{
	buf_init_secret(msg);
	buf_put_u8(msg,
	    ok ? SSH_MSG_REQUEST_SUCCESS : SSH_MSG_REQUEST_FAILURE);
	if (ok && data != NULL)
		buf_put_buf(msg, data);
}

static int
add(struct channels *chs, struct channels_owed **out)
{
	struct channels_owed *o;

	if (chs->owed_count >= CHANNEL_REPLIES_MAX)
		return ERR_LIMIT;
	if ((o = calloc(1, sizeof *o)) == NULL)
		return ERR_NOMEM;
	TAILQ_INSERT_TAIL(&chs->owed, o, entry);
	chs->owed_count++;
	*out = o;
	return 0;
}

static void
drop_first(struct channels *chs)
{
	struct channels_owed *o = TAILQ_FIRST(&chs->owed);

	TAILQ_REMOVE(&chs->owed, o, entry);
	chs->owed_count--;
	buf_clear(&o->msg);
	free(o);
}

void
channels_clear_owed(struct channels *chs)
{
	while (!TAILQ_EMPTY(&chs->owed))
		drop_first(chs);
}

int
channels_send_reply(struct channels *chs, struct buf *msg)
{
	struct channels_owed *o;
	int r = buf_err(msg);

	if (TAILQ_EMPTY(&chs->owed))
		return channels_send(chs, msg);
	if (r == 0 && (r = add(chs, &o)) == 0) {
		o->wanted = o->given = true;
		o->msg = *msg;
		return 0;
	}
	buf_clear(msg);
	return r;
}

bool
channels_reply_wanted(const struct channels *chs)
{
	return chs->reply_wanted;
}

bool
channels_are_owing(const struct channels *chs)
{
	return !TAILQ_EMPTY(&chs->owed);
}

int
channels_owe(struct channels *chs, struct channels_owed **out)
{
	int r = add(chs, out);

	if (r == 0)
		(*out)->wanted = chs->reply_wanted;
	return r;
}

int
channels_give_owed(struct channels *chs, struct channels_owed *o, bool ok,
    const struct buf *data)
{
	struct channels_owed *first;
	int r = 0;

	o->given = true;
	channels_global_answer(&o->msg, ok, data);
	while (r == 0 && (first = TAILQ_FIRST(&chs->owed)) != NULL &&
	    first->given) {
		if (first->wanted)
			r = channels_send(chs, &first->msg);
		drop_first(chs);
	}
	return r;
}
