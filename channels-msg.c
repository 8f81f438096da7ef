/* SPDX-License-Identifier: ISC */
/* Takes the peer's messages of the connection protocol (RFC 4254). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "channels-internal.h"

enum { NAME_MAX_LEN = 255, TEXT_MAX_LEN = 1024 };

/* Touches the channel that a message is for: any message may give it something
 * to do in the next turn. */
static struct channel *
found(struct channel *c, uint32_t id)
{
	if (c == NULL || c->state == CHANNEL_DEAD) {
		log_debug("message for an unknown channel %u", id);
		return NULL;
	}
	channel_touch(c);
	return c;
}

static struct channel *
find(struct channels *chs, struct rd *r)
{
	uint32_t id = rd_u32(r);

	return found(rd_err(r) == 0 && id < chs->n ? chs->v[id] : NULL, id);
}

/* The channel that a message with data or a request is for; the message may be
 * an early one. NULL with *early set: we refused that channel, and the message
 * is to be ignored. */
static struct channel *
find_early(struct channels *chs, struct rd *r, bool *early)
{
	struct rd ahead = *r;
	uint32_t id = rd_u32(&ahead);

	*early = channels_is_early(chs, id);
	if (!*early)
		return find(chs, r);
	*r = ahead;
	return found(channels_find_early(chs, id), id);
}

static int
send_open_failure(struct channels *chs, uint32_t peer_id, uint32_t reason,
    const char *text)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN_FAILURE);
	buf_put_u32(&b, peer_id);
	buf_put_u32(&b, reason);
	buf_put_cstring(&b, text);
	buf_put_cstring(&b, "");
	return channels_send(chs, &b);
}

static const char *
failure_text(enum channel_open_failure reason)
{
	switch (reason) {
	case CHANNEL_OPEN_PROHIBITED:
		return "open failed: not permitted";
	case CHANNEL_OPEN_CONNECT_FAILED:
		return "open failed: connection failed";
	case CHANNEL_OPEN_UNKNOWN_TYPE:
		return "open failed: unknown channel type";
	default:
		return "open failed: no resources";
	}
}

int
channel_accept(struct channel *c, const struct channel_ops *ops, void *arg,
    uint32_t window, uint32_t max_packet)
{
	uint32_t offered;
	struct buf b;
	int r;

	ENSURE(c->state == CHANNEL_INCOMING);
	c->ops = ops;
	c->arg = arg;
	channel_offer(c, window, max_packet);
	/* The peer subtracts its early data from the window that it is told;
	 * offered was taken first, so it is the whole window. */
	offered = c->window.left;
	if ((r = channel_count_early(c)) != 0)
		return r;
	c->state = CHANNEL_OPEN;
	channel_start_clock(c);
	channel_msg(c, &b, SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
	buf_put_u32(&b, c->id);
	buf_put_u32(&b, offered);
	buf_put_u32(&b, c->max_packet);
	return channels_send(c->chs, &b);
}

int
channel_refuse(struct channel *c, enum channel_open_failure reason,
    const char *text)
{
	ENSURE(c->state == CHANNEL_INCOMING);
	c->state = CHANNEL_DEAD;
	channel_touch(c);
	return send_open_failure(c->chs, c->peer_id, reason,
	    text != NULL ? text : failure_text(reason));
}

void
channel_defer(struct channel *c, const struct channel_ops *ops, void *arg)
{
	ENSURE(c->state == CHANNEL_INCOMING);
	c->ops = ops;
	c->arg = arg;
}

/* Checks that the return value of an open's handler agrees with what the
 * handler did. */
static int
finish_open(struct channel *c, int answer)
{
	if (answer < 0) {
		c->state = CHANNEL_DEAD;
		return answer;
	}
	switch ((enum channel_answer)answer) {
	case CHANNEL_SUCCESS:
		ENSURE(c->state == CHANNEL_OPEN);
		return 0;
	case CHANNEL_LATER:
		ENSURE(c->ops != NULL);
		return 0;
	case CHANNEL_FAILURE:
		break;
	}
	ENSURE(c->state != CHANNEL_OPEN);
	return c->state == CHANNEL_DEAD ?
	    0 : channel_refuse(c, CHANNEL_OPEN_PROHIBITED, NULL);
}

static int
handle_open(struct channels *chs, const char *type, struct channel *c,
    struct rd *r)
{
	int answer = channel_offer_raw(c, type, *r);

	if (answer != CHANNEL_FAILURE)
		return MIN(answer, 0);
	for (size_t i = 0; i < chs->open_count; i++)
		if (strcmp(chs->opens[i].type, type) == 0)
			return finish_open(c,
			    chs->opens[i].fn(chs->opens[i].arg, chs, c, r));
	return channel_refuse(c, CHANNEL_OPEN_UNKNOWN_TYPE, NULL);
}

static int
on_open(struct channels *chs, struct rd r)
{
	char *type = rd_cstring(&r, CHANNEL_TYPE_MAX - 1);
	uint32_t peer_id = rd_u32(&r), window = rd_u32(&r);
	uint32_t max_packet = rd_u32(&r);
	struct channel *c;
	int err;

	if ((err = rd_err(&r)) != 0)
		goto out;
	err = channel_new(&c, chs, type);
	if (err == ERR_LIMIT) {
		err = send_open_failure(chs, peer_id,
		    CHANNEL_OPEN_RESOURCE_SHORTAGE,
		    failure_text(CHANNEL_OPEN_RESOURCE_SHORTAGE));
	} else if (err == 0) {
		c->state = CHANNEL_INCOMING;
		c->peer_id = peer_id;
		c->peer_window = window;
		c->peer_max_packet = max_packet;
		if ((err = channel_note_early(c)) == 0)
			err = handle_open(chs, type, c, &r);
	}
out:
	free(type);
	return err;
}

static bool
is_awaited(const struct channel *c)
{
	return c->state == CHANNEL_OPENING || c->optimistic;
}

static int
on_confirmation(struct channels *chs, struct rd r)
{
	struct channel *c = find(chs, &r);
	uint32_t peer_id = rd_u32(&r), window;
	int err;

	if (c == NULL || !is_awaited(c))
		return ERR_PROTOCOL;
	c->peer_window = 0;
	window = rd_u32(&r);
	c->peer_max_packet = rd_u32(&r);
	if ((err = rd_err(&r)) != 0)
		return err;
	if (!channel_widen(c, window))
		return ERR_PROTOCOL;
	if (c->optimistic) {
		c->optimistic = false;
		return peer_id == c->peer_id ? 0 : ERR_PROTOCOL;
	}
	c->peer_id = peer_id;
	c->state = CHANNEL_OPEN;
	channel_start_clock(c);
	if (c->ops->opened != NULL)
		c->ops->opened(c->arg, c);
	return 0;
}

static int
on_refusal(struct channels *chs, struct rd r)
{
	struct channel *c = find(chs, &r);
	char escaped[TEXT_MAX_LEN], *text;
	uint32_t reason;
	int err;

	if (c == NULL || !is_awaited(c))
		return ERR_PROTOCOL;
	reason = rd_u32(&r);
	text = rd_cstring(&r, TEXT_MAX_LEN);
	if ((err = rd_err(&r)) == 0) {
		str_escape(escaped, sizeof escaped, text);
		c->state = CHANNEL_DEAD;
		if (c->ops->refused != NULL)
			c->ops->refused(c->arg, c, reason, escaped);
	}
	free(text);
	return err;
}

static int
on_window_adjust(struct channels *chs, struct rd r)
{
	struct channel *c = find(chs, &r);
	uint32_t more = rd_u32(&r);
	int err = rd_end(&r);

	if (c == NULL || c->state == CHANNEL_INCOMING)
		return ERR_PROTOCOL;
	if (err != 0)
		return err;
	return channel_widen(c, more) ? 0 : ERR_PROTOCOL;
}

static int
on_data(struct channels *chs, struct rd r, bool extended)
{
	bool early;
	struct channel *c = find_early(chs, &r, &early);
	uint32_t ext = extended ? rd_u32(&r) : 0;
	struct span data = rd_string(&r);
	int err = rd_end(&r);

	if (err != 0)
		return err;
	if (c == NULL)
		return early ? 0 : ERR_PROTOCOL;
	if (c->state == CHANNEL_INCOMING && early && !extended)
		return channel_keep_early(c, data);
	if (c->state == CHANNEL_RAW && early && !extended)
		return c->raw->early(c->raw_arg, c, data);
	if (c->state != CHANNEL_OPEN || channel_got_eof(c))
		return ERR_PROTOCOL;
	/* The peer did not wait for our answer to a request that would have
	 * opened the window, and we refused the request. Its data is ignored:
	 * an end of the connection would hide the refusal's reason. */
	if (c->window.max == 0)
		return 0;
	if (data.len > UINT32_MAX ||
	    !recv_window_receive(&c->window, (uint32_t)data.len)) {
		log_info("channel %u: peer sent more than its window", c->id);
		return ERR_PROTOCOL;
	}
	channel_rate_arrived(c, data.len);
	return channel_deliver(c, ext, data);
}

static int
on_eof(struct channels *chs, struct rd r)
{
	struct channel *c = find(chs, &r);
	int err = rd_end(&r);

	if (c == NULL || c->state != CHANNEL_OPEN)
		return ERR_PROTOCOL;
	channel_note_eof(c);
	return err;
}

static int
on_close(struct channels *chs, struct rd r)
{
	struct channel *c = find(chs, &r);
	int err = rd_end(&r);

	if (c == NULL || c->state != CHANNEL_OPEN || channel_got_close(c))
		return ERR_PROTOCOL;
	if (err != 0)
		return err;
	channel_note_close(c);
	if (c->ops->peer_closed != NULL)
		c->ops->peer_closed(c->arg, c);
	return 0;
}

static int
on_request(struct channels *chs, struct rd r)
{
	bool early;
	struct channel *c = find_early(chs, &r, &early);
	struct span name = rd_string(&r);
	bool want_reply = rd_bool(&r);
	struct buf b;
	int answer = CHANNEL_FAILURE, err;

	if (c == NULL && early)
		return 0;
	if (c == NULL || c->state != CHANNEL_OPEN)
		return ERR_PROTOCOL;
	if ((err = rd_err(&r)) != 0)
		return err;
	if (c->ops->request != NULL)
		answer = c->ops->request(c->arg, c, name, &r);
	if (answer < 0)
		return answer;
	ENSURE(answer != CHANNEL_LATER);
	if (!want_reply || c->sending == SENDING_CLOSED)
		return 0;
	channel_msg(c, &b,
	    answer == CHANNEL_SUCCESS ? SSH_MSG_CHANNEL_SUCCESS :
					SSH_MSG_CHANNEL_FAILURE);
	return channels_send(chs, &b);
}

static int
on_reply(struct channels *chs, struct rd r, bool ok)
{
	struct channel *c = find(chs, &r);
	channels_reply_fn fn;
	void *arg;
	int err = rd_end(&r);

	if (c == NULL || err != 0 || !replies_pop(&c->replies, &fn, &arg))
		return ERR_PROTOCOL;
	fn(arg, ok, r);
	return 0;
}

static int
handle_global(struct channels *chs, struct span name, struct rd *r,
    struct buf *reply)
{
	for (size_t i = 0; i < chs->global_count; i++)
		if (span_equals(name, chs->globals[i].name))
			return chs->globals[i].fn(chs->globals[i].arg, r,
			    reply);
	return CHANNEL_FAILURE;
}

static int
on_global_request(struct channels *chs, struct rd r)
{
	struct span name = rd_string(&r);
	bool want_reply = rd_bool(&r);
	struct buf reply, b;
	int answer, err;

	if ((err = rd_err(&r)) != 0)
		return err;
	buf_init_secret(&reply); /* it may have tickets, which are secret */
	chs->reply_wanted = want_reply;
	answer = handle_global(chs, name, &r, &reply);
	err = MIN(answer, 0);
	if (err == 0 && want_reply && answer != CHANNEL_LATER) {
		channels_global_answer(&b, answer == CHANNEL_SUCCESS, &reply);
		err = channels_send_reply(chs, &b);
	}
	buf_clear(&reply);
	return err;
}

static int
on_global_reply(struct channels *chs, struct rd r, bool ok)
{
	channels_reply_fn fn;
	void *arg;

	if (!replies_pop(&chs->replies, &fn, &arg))
		return ERR_PROTOCOL;
	fn(arg, ok, r);
	return 0;
}

int
channels_input(struct channels *chs, struct rd payload)
{
	struct rd r = payload;
	uint8_t type = rd_u8(&r);
	struct channel *raw = channels_find_raw(chs, type, r);

	if (raw != NULL)
		return channel_input_raw(raw, type, r);
	switch (type) {
	case SSH_MSG_GLOBAL_REQUEST:
		return on_global_request(chs, r);
	case SSH_MSG_REQUEST_SUCCESS:
		return on_global_reply(chs, r, true);
	case SSH_MSG_REQUEST_FAILURE:
		return on_global_reply(chs, r, false);
	case SSH_MSG_CHANNEL_OPEN:
		return on_open(chs, r);
	case SSH_MSG_CHANNEL_OPEN_CONFIRMATION:
		return on_confirmation(chs, r);
	case SSH_MSG_CHANNEL_OPEN_FAILURE:
		return on_refusal(chs, r);
	case SSH_MSG_CHANNEL_WINDOW_ADJUST:
		return on_window_adjust(chs, r);
	case SSH_MSG_CHANNEL_DATA:
		return on_data(chs, r, false);
	case SSH_MSG_CHANNEL_EXTENDED_DATA:
		return on_data(chs, r, true);
	case SSH_MSG_CHANNEL_EOF:
		return on_eof(chs, r);
	case SSH_MSG_CHANNEL_CLOSE:
		return on_close(chs, r);
	case SSH_MSG_CHANNEL_REQUEST:
		return on_request(chs, r);
	case SSH_MSG_CHANNEL_SUCCESS:
		return on_reply(chs, r, true);
	case SSH_MSG_CHANNEL_FAILURE:
		return on_reply(chs, r, false);
	default:
		return ERR_PROTOCOL;
	}
}
