/* SPDX-License-Identifier: ISC */
/*
 * Answers to the peer's global requests, which are told apart by nothing but
 * their order (RFC 4254 section 4): one that takes time holds back those
 * behind it.
 */
#include <stdlib.h>

#include "channels-internal.h"

struct channels_owed {
	struct channels_owed *next;
	bool wanted; /* else nobody waits for it */
	bool given;
	struct buf msg;
};

void
channels_global_answer(struct buf *msg, bool ok, const struct buf *data)
{
	buf_init(msg);
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
	if (chs->owed_last != NULL)
		chs->owed_last->next = o;
	else
		chs->owed = o;
	chs->owed_last = o;
	chs->owed_count++;
	*out = o;
	return 0;
}

static void
drop_first(struct channels *chs)
{
	struct channels_owed *o = chs->owed;

	if ((chs->owed = o->next) == NULL)
		chs->owed_last = NULL;
	chs->owed_count--;
	buf_clear(&o->msg);
	free(o);
}

void
channels_clear_owed(struct channels *chs)
{
	while (chs->owed != NULL)
		drop_first(chs);
}

int
channels_send_reply(struct channels *chs, struct buf *msg)
{
	struct channels_owed *o;
	int r = buf_err(msg);

	if (chs->owed == NULL)
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
	int r = 0;

	o->given = true;
	channels_global_answer(&o->msg, ok, data);
	while (r == 0 && chs->owed != NULL && chs->owed->given) {
		if (chs->owed->wanted)
			r = channels_send(chs, &chs->owed->msg);
		drop_first(chs);
	}
	return r;
}
