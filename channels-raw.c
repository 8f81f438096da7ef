/* SPDX-License-Identifier: ISC */
#include "channels-raw.h"

#include "base/mem.h"
#include "channels-internal.h"

int
channel_new_raw(struct channel **out, struct channels *chs, const char *type,
    const struct channel_raw_ops *ops, void *arg)
{
	int r = channel_new(out, chs, type);

	if (r != 0)
		return r;
	(*out)->state = CHANNEL_RAW;
	(*out)->raw = ops;
	(*out)->raw_arg = arg;
	return 0;
}

void
channel_make_raw(struct channel *c, const struct channel_raw_ops *ops,
    void *arg)
{
	ENSURE(c->state == CHANNEL_INCOMING);
	c->state = CHANNEL_RAW;
	c->raw = ops;
	c->raw_arg = arg;
}

void
channel_confirm_raw(struct channel *c, uint32_t peer_number)
{
	c->peer_id = peer_number;
}

struct channel_raw_open
channel_raw_open(const struct channel *c)
{
	return (struct channel_raw_open){ .number = c->peer_id,
		.window = c->peer_window, .max_packet = c->peer_max_packet };
}

void
channel_end_raw(struct channel *c)
{
	c->state = CHANNEL_DEAD;
	channel_touch(c);
	loop_again(c->chs->loop);
}

void
channel_free_raw(struct channel *c)
{
	const struct channel_raw_ops *ops = c->raw;

	c->raw = NULL;
	if (ops != NULL)
		ops->freed(c->raw_arg);
}

void *
channel_raw_arg(const struct channel *c)
{
	return c->raw_arg;
}

struct channel *
channels_find_raw(const struct channels *chs, uint8_t type, struct rd r)
{
	uint32_t id = rd_u32(&r);

	if (type < SSH_MSG_CHANNEL_OPEN_CONFIRMATION ||
	    type > SSH_MSG_CHANNEL_FAILURE || rd_err(&r) != 0 ||
	    id >= chs->n || chs->v[id] == NULL ||
	    chs->v[id]->state != CHANNEL_RAW)
		return NULL;
	return chs->v[id];
}

struct channel *
channels_next_raw(const struct channels *chs, uint32_t *number)
{
	while (*number < chs->n) {
		struct channel *c = chs->v[(*number)++];

		if (c != NULL && c->state == CHANNEL_RAW)
			return c;
	}
	return NULL;
}

int
channel_input_raw(struct channel *c, uint8_t type, struct rd r)
{
	int err = c->raw->input(c->raw_arg, c, type, r);

	if (err == 0 && type == SSH_MSG_CHANNEL_CLOSE)
		channel_note_close(c);
	return err;
}

int
channels_send_raw(struct channels *chs, struct buf *b)
{
	return channels_send(chs, b);
}

bool
channels_have_room(const struct channels *chs)
{
	return packet_has_room(chs->packet);
}

void
channels_set_raw(struct channels *chs, const struct channels_raw_ops *ops,
    void *arg)
{
	ENSURE(chs->raw == NULL);
	chs->raw = ops;
	chs->raw_arg = arg;
}

void *
channels_raw_arg(const struct channels *chs)
{
	return chs->raw_arg;
}

int
channel_offer_raw(struct channel *c, const char *type, struct rd r)
{
	const struct channels *chs = c->chs;

	return chs->raw != NULL ? chs->raw->offer(chs->raw_arg, c, type, r) :
				  CHANNEL_FAILURE;
}

void
channels_clear_raw(struct channels *chs)
{
	if (chs->raw != NULL)
		chs->raw->freed(chs->raw_arg);
}
