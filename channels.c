/* SPDX-License-Identifier: ISC */
#include "channels.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "compat/bsd-mem.h"
#include "compat/bsd.h"

int
channels_new(struct channels **out, struct packet *p, struct loop *l)
{
	struct channels *chs = calloc(1, sizeof *chs);

	if (chs == NULL)
		return ERR_NOMEM;
	chs->packet = p;
	chs->loop = l;
	channels_rate_init(chs);
	*out = chs;
	return 0;
}

static int
replies_push(struct replies *q, channels_reply_fn fn, void *arg)
{
	struct reply_slot *s;

	if (q->count >= CHANNEL_REPLIES_MAX)
		return ERR_LIMIT;
	if ((s = malloc(sizeof *s)) == NULL)
		return ERR_NOMEM;
	*s = (struct reply_slot){ .fn = fn, .arg = arg };
	TAILQ_INSERT_TAIL(&q->list, s, entry);
	q->count++;
	return 0;
}

bool
replies_pop(struct replies *q, channels_reply_fn *fn, void **arg)
{
	struct reply_slot *s = TAILQ_FIRST(&q->list);

	if (s == NULL)
		return false;
	*fn = s->fn;
	*arg = s->arg;
	TAILQ_REMOVE(&q->list, s, entry);
	q->count--;
	free(s);
	return true;
}

static void
replies_clear(struct replies *q)
{
	channels_reply_fn fn;
	void *arg;

	while (replies_pop(q, &fn, &arg))
		;
}

/* The name of a channel in the log. */
static const char *
name_of(const struct channel *c)
{
	if (strcmp(c->type, "session") != 0)
		return c->type;
	return packet_is_server(c->chs->packet) ? "server-session" :
						  "client-session";
}

void
channel_free(struct channel *c)
{
	struct channels *chs = c->chs;

	log_debug("channel %u: free: %s, nchannels %zu", c->id, name_of(c),
	    chs->count);
	channel_clear_io(c);
	channel_free_raw(c);
	buf_clear(&c->send);
	replies_clear(&c->replies);
	channel_forget_touch(c);
	channel_forget_waits(c);
	channel_forget_use(c);
	channel_forget_early(c);
	channel_rate_end(c);
	chs->offered -= c->offered;
	chs->v[c->id] = NULL;
	chs->free_from = MIN(chs->free_from, (size_t)c->id);
	chs->count--;
	free(c->name);
	free(c);
}

void
channels_free(struct channels *chs)
{
	if (chs == NULL)
		return;
	for (size_t i = 0; i < chs->n; i++) {
		if (chs->v[i] == NULL)
			continue;
		chs->v[i]->active = false; /* chs->active is not used again */
		channel_free(chs->v[i]);
	}
	queue_pool_clear(&chs->pool);
	channels_stop_clock(chs);
	channels_rate_end(chs);
	for (size_t i = 0; i < chs->open_count; i++)
		free(chs->opens[i].type);
	for (size_t i = 0; i < chs->global_count; i++)
		free(chs->globals[i].name);
	free(chs->v);
	free(chs->opens);
	free(chs->globals);
	replies_clear(&chs->replies);
	channels_clear_owed(chs);
	channels_clear_raw(chs);
	channels_clear_early(chs);
	free(chs);
}

static void
forget_reply(void *arg, bool ok, struct rd data)
{
	(void)arg;
	(void)ok;
	(void)data;
}

int
channels_on_open(struct channels *chs, const char *type, channel_open_fn fn,
    void *arg)
{
	struct named_open *v;

	v = reallocarray(chs->opens, chs->open_count + 1, sizeof *v);
	if (v == NULL)
		return ERR_NOMEM;
	chs->opens = v;
	v += chs->open_count;
	*v = (struct named_open){ .type = strdup(type), .fn = fn, .arg = arg };
	if (v->type == NULL)
		return ERR_NOMEM;
	chs->open_count++;
	return 0;
}

int
channels_on_global(struct channels *chs, const char *name,
    channels_global_fn fn, void *arg)
{
	struct named_global *v;

	v = reallocarray(chs->globals, chs->global_count + 1, sizeof *v);
	if (v == NULL)
		return ERR_NOMEM;
	chs->globals = v;
	v += chs->global_count;
	*v = (struct named_global){ .name = strdup(name), .fn = fn,
		.arg = arg };
	if (v->name == NULL)
		return ERR_NOMEM;
	chs->global_count++;
	return 0;
}

/* Sets *id to the lowest free number for a new channel. */
static int
take_number(struct channels *chs, size_t *id)
{
	struct channel **v;
	size_t n;

	while (chs->free_from < chs->n && chs->v[chs->free_from] != NULL)
		chs->free_from++;
	if (chs->free_from >= CHANNELS_MAX)
		return ERR_LIMIT;
	if (chs->free_from == chs->n) {
		n = MAX(chs->n * 2, (size_t)8);
		v = recallocarray(chs->v, chs->n, n, sizeof *v);
		if (v == NULL)
			return ERR_NOMEM;
		chs->v = v;
		chs->n = n;
	}
	*id = chs->free_from;
	return 0;
}

int
channel_new(struct channel **out, struct channels *chs, const char *type)
{
	struct channel *c;
	size_t id;
	int r;

	if ((r = take_number(chs, &id)) != 0)
		return r;
	if ((c = calloc(1, sizeof *c)) == NULL)
		return ERR_NOMEM;
	c->chs = chs;
	c->id = (uint32_t)id;
	strlcpy(c->type, type, sizeof c->type);
	channel_init_io(c);
	chs->v[id] = c;
	chs->count++;
	channel_touch(c);
	log_debug("channel %u: new %s [%s]", c->id, c->type, name_of(c));
	*out = c;
	return 0;
}

void
channel_msg(const struct channel *c, struct buf *b, uint8_t type)
{
	buf_init(b);
	buf_put_u8(b, type);
	buf_put_u32(b, c->peer_id);
}

int
channels_send(struct channels *chs, struct buf *b)
{
	int r = packet_put(chs->packet, b);

	buf_clear(b);
	return r;
}

static uint32_t
first_window(const struct channel *c, uint32_t wanted)
{
	const struct channels *chs = c->chs;

	/* c is part of count, and its window so far (0) is part of offered. */
	wanted = recv_window_first(wanted, chs->offered, chs->count - 1,
	    chs->fixed_windows);
	return MIN(wanted, channel_rate_window(c));
}

void
channel_offer(struct channel *c, uint32_t window, uint32_t max_packet)
{
	uint32_t first;

	window = first_window(c, window);
	first = channel_rate_first(c, window);
	recv_window_init(&c->window, first);
	recv_window_grant(&c->window, window - first, false);
	channel_rate_give_window(c, first);
	channel_count_offered(c);
	c->max_packet = max_packet;
	if (max_packet == CHANNEL_PACKET_DEFAULT && !c->chs->exact_windows &&
	    !c->chs->fixed_windows)
		c->max_packet = CHANNEL_PACKET_LARGE;
}

int
channel_open(struct channel **out, struct channels *chs, const char *type,
    const struct buf *extra, const struct channel_ops *ops, void *arg,
    uint32_t window, uint32_t max_packet)
{
	struct channel *c;
	struct buf b;
	int r;

	if ((r = channel_new(&c, chs, type)) != 0)
		return r;
	c->ops = ops;
	c->arg = arg;
	channel_offer(c, window, max_packet);
	channel_expect_early(c);
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, type);
	buf_put_u32(&b, c->id);
	buf_put_u32(&b, c->window.left);
	buf_put_u32(&b, c->max_packet);
	if (extra != NULL)
		buf_put_buf(&b, extra);
	if ((r = channels_send(chs, &b)) != 0) {
		channel_free(c);
		return r;
	}
	*out = c;
	return 0;
}

void
channel_open_optimistically(struct channel *c, uint32_t peer_id)
{
	ENSURE(c->state == CHANNEL_OPENING);
	c->state = CHANNEL_OPEN;
	c->optimistic = true;
	c->peer_id = peer_id;
	channel_start_clock(c);
	if (c->ops->opened != NULL)
		c->ops->opened(c->arg, c);
}

void
channel_grant_window(struct channel *c, uint32_t window)
{
	uint32_t first;
	struct buf b;

	window = first_window(c, window);
	first = channel_rate_first(c, window);
	/* The peer is told now and not at the end of the turn: its data may
	 * be on the way already, and needs the window. */
	if (c->state == CHANNEL_OPEN) {
		channel_msg(c, &b, SSH_MSG_CHANNEL_WINDOW_ADJUST);
		buf_put_u32(&b, first);
		if (channels_send(c->chs, &b) == 0) {
			recv_window_grant(&c->window, first, true);
			channel_rate_give_window(c, first);
			window -= first;
		}
	}
	/* The peer learns of the rest of the window by the adjust at the end of
	 * a turn. */
	recv_window_grant(&c->window, window, false);
	channel_count_offered(c);
	channel_touch(c);
}

static const struct channel_ops no_ops = { .closed = NULL };

bool
channel_is_left(const struct channel *c)
{
	return c->ops == &no_ops;
}

void
channel_leave(struct channel *c)
{
	struct reply_slot *s;

	c->ops = &no_ops;
	c->io = NULL;
	channel_set_fds(c, -1, -1, -1, -1); /* the owner may close them now */
	TAILQ_FOREACH(s, &c->replies.list, entry)
		s->fn = forget_reply;
	channel_hold_close(c, false);
	channel_close(c, false);
}

void
channel_set_ops(struct channel *c, const struct channel_ops *ops, void *arg)
{
	ENSURE(c->state == CHANNEL_OPEN);
	c->ops = ops;
	c->arg = arg;
}

bool
channel_is_accepted(const struct channel *c)
{
	return c->state == CHANNEL_OPEN;
}

void
channel_set_interactive(struct channel *c, bool interactive)
{
	c->interactive = interactive;
	channel_touch(c);
}

int
channel_request(struct channel *c, const char *name, const struct buf *data,
    channels_reply_fn done, void *arg)
{
	struct buf b;
	int r;

	if ((c->state != CHANNEL_OPEN && !channel_is_early(c)) ||
	    c->sending == SENDING_CLOSED)
		return ERR_CLOSED;
	if (done != NULL && (r = replies_push(&c->replies, done, arg)) != 0)
		return r;
	channel_msg(c, &b, SSH_MSG_CHANNEL_REQUEST);
	buf_put_cstring(&b, name);
	buf_put_bool(&b, done != NULL);
	if (data != NULL)
		buf_put_buf(&b, data);
	return channels_send(c->chs, &b);
}

int
channels_global_request(struct channels *chs, const char *name,
    const struct buf *data, channels_reply_fn done, void *arg)
{
	struct buf b;
	int r;

	if (done != NULL && (r = replies_push(&chs->replies, done, arg)) != 0)
		return r;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_GLOBAL_REQUEST);
	buf_put_cstring(&b, name);
	buf_put_bool(&b, done != NULL);
	if (data != NULL)
		buf_put_buf(&b, data);
	return channels_send(chs, &b);
}

void
channels_trim(struct channels *chs)
{
	queue_pool_clear(&chs->pool);
}

uint32_t
channel_id(const struct channel *c)
{
	return c->id;
}

uint32_t
channel_peer_window_top(const struct channel *c)
{
	return c->peer_window_top;
}

size_t
channels_count(const struct channels *chs)
{
	size_t count = 0;

	for (size_t i = 0; i < chs->n; i++)
		count += chs->v[i] != NULL && chs->v[i]->state != CHANNEL_DEAD;
	return count;
}
