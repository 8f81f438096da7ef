/* SPDX-License-Identifier: ISC */
/* Sources and sinks of channels: data read from a source is put into packets,
 * and data from the peer is written to a sink. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"

enum {
	SINK_WRITE_MAX = 4096, /* to a blocking descriptor, per poll */
	DATAGRAM_MAX = 65536 + 64,
	DATAGRAM_USUAL = 2048,
	/* OpenSSH takes 4 bytes more off its window for each datagram that it
	 * gets than the sender does, until it gives them back: the window is
	 * narrower than we think. So this much of it is left unused. */
	DATAGRAM_RESERVE_MAX = 256 * 1024,
};

bool
channel_has_datagrams(const struct channel *c)
{
	return c->io != NULL && c->io->datagrams;
}

/* The part of the peer's window that datagrams may use. It is 0 if a datagram
 * of the usual size would not fit: waiting is better than losing it. */
static uint32_t
datagram_window(const struct channel *c)
{
	uint32_t reserve = MIN(c->peer_window_top / 8,
	    (uint32_t)DATAGRAM_RESERVE_MAX);
	uint32_t usual = MIN(c->peer_window_top - reserve,
	    (uint32_t)DATAGRAM_USUAL);
	uint32_t left = c->peer_window > reserve ? c->peer_window - reserve :
						   0;

	usual = MIN(usual, c->peer_max_packet);
	return left >= usual ? MIN(left, (uint32_t)DATAGRAM_MAX) : 0;
}

/* The most bytes of data that one message may carry now. */
static size_t
room_at_peer(const struct channel *c)
{
	return MIN(channel_has_datagrams(c) ? datagram_window(c) :
					      c->peer_window,
	    c->peer_max_packet);
}

void
channel_init_io(struct channel *c)
{
	for (int i = 0; i < 2; i++) {
		c->source[i].fd = -1;
		c->sink[i].fd = -1;
	}
	buf_init(&c->send);
}

static void
drop_source(struct channel *c, struct source *s)
{
	loop_unwatch(c->chs->loop, s->watch);
	s->watch = NULL;
	s->fd = -1;
	s->ready = false;
	s->ended = true;
}

void
channel_drop_sources(struct channel *c)
{
	for (int i = 0; i < 2; i++)
		if (!c->source[i].ended)
			drop_source(c, &c->source[i]);
}

void
channel_mark_sources_readable(struct channel *c)
{
	channel_touch(c);
	for (int i = 0; i < 2; i++)
		if (!c->source[i].ended && !c->source[i].blocks)
			c->source[i].ready = true;
}

void
channel_drop_watches(struct channel *c)
{
	for (int i = 0; i < 2; i++) {
		loop_unwatch(c->chs->loop, c->source[i].watch);
		c->source[i].watch = NULL;
		loop_unwatch(c->chs->loop, c->sink[i].watch);
		c->sink[i].watch = NULL;
	}
}

void
channel_clear_io(struct channel *c)
{
	channel_drop_watches(c);
	for (int i = 0; i < 2; i++)
		queue_clear(&c->sink[i].queue, &c->chs->pool);
}

/* False for files and devices like /dev/null, on which a read or write never
 * waits. Only other descriptors are made non-blocking. */
static bool
can_block(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1 || (flags & O_NONBLOCK) != 0 || fstat(fd, &st) == -1)
		return false;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd);
}

static void
on_source_ready(void *arg, int fd, int events)
{
	struct channel *c = arg;

	(void)events;
	channel_touch(c);
	for (int i = 0; i < 2; i++)
		if (c->source[i].fd == fd)
			c->source[i].ready = true;
}

static void sink_failed(struct channel *c, int which, int error);

/* Writes the queue of a sink. False: the sink takes no more now. */
static bool
drain_sink(struct channel *c, int which, size_t max)
{
	struct sink *s = &c->sink[which];
	struct span front;
	ssize_t n;

	while (s->queue.len > 0 && !s->broken) {
		front = queue_front(&s->queue);
		n = fd_write(s->fd, front.p, MIN(front.len, max));
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return false;
		if (n == -1) {
			sink_failed(c, which, errno);
			break;
		}
		c->clock.used = true;
		queue_consume(&s->queue, &c->chs->pool, (size_t)n);
		recv_window_consume(&c->window, (uint32_t)n);
		if (s->blocks)
			return false;
	}
	return true;
}

static void
on_sink_ready(void *arg, int fd, int events)
{
	struct channel *c = arg;

	(void)events;
	channel_touch(c);
	for (int i = 0; i < 2; i++)
		if (c->sink[i].fd == fd)
			(void)drain_sink(c, i,
			    c->sink[i].blocks ? SINK_WRITE_MAX : SIZE_MAX);
}

/* Throws the queue of a sink away. Its bytes count as consumed, so that the
 * peer gets its window back. */
static void
drop_queue(struct channel *c, struct sink *s)
{
	recv_window_consume(&c->window, (uint32_t)s->queue.len);
	queue_clear(&s->queue, &c->chs->pool);
}

static void
sink_failed(struct channel *c, int which, int error)
{
	struct sink *s = &c->sink[which];

	log_debug2("channel %u: output failed: %s", c->id, strerror(error));
	loop_unwatch(c->chs->loop, s->watch);
	s->watch = NULL;
	s->broken = true;
	drop_queue(c, s);
	if (c->ops->sink_failed != NULL)
		c->ops->sink_failed(c->arg, c,
		    which == 0 ? 0 : CHANNEL_EXT_STDERR, error);
}

static void
set_source(struct channel *c, struct source *in, int fd)
{
	loop_unwatch(c->chs->loop, in->watch);
	/* After EOF no more data may be sent: no source is needed. */
	*in = (struct source){ .fd = channel_sent_eof(c) ? -1 : fd };
	in->ended = in->fd == -1;
	if (in->fd == -1)
		return;
	in->blocks = can_block(in->fd);
	/* The loop takes regular files as ready, as poll(2) does. */
	in->watch = loop_watch(c->chs->loop, in->fd, LOOP_READ,
	    on_source_ready, c);
}

static void
set_sink(struct channel *c, struct sink *out, int fd)
{
	loop_unwatch(c->chs->loop, out->watch);
	out->fd = fd;
	out->watch = NULL;
	out->broken = false;
	if (fd == -1) {
		/* The queue for data belongs to struct channel_io, if there
		 * is one. */
		if (c->io == NULL || out != &c->sink[0])
			drop_queue(c, out);
		return;
	}
	out->blocks = can_block(fd);
	out->watch = loop_watch(c->chs->loop, fd, 0, on_sink_ready, c);
}

void
channel_set_fds(struct channel *c, int source, int sink, int ext_source,
    int ext_sink)
{
	channel_touch(c);
	set_source(c, &c->source[0], source);
	set_source(c, &c->source[1], ext_source);
	set_sink(c, &c->sink[0], sink);
	set_sink(c, &c->sink[1], ext_sink);
}

void
channel_set_io(struct channel *c, const struct channel_io *io, void *arg)
{
	channel_touch(c);
	c->io = io;
	c->io_arg = arg;
	c->io_write_blocked = false;
	if (io == NULL)
		return;
	c->source[0].ended = false;
	c->source[0].ready = true;
	c->source[1].ended = true;
}

void
channel_mark_readable(struct channel *c)
{
	channel_touch(c);
	if (!c->source[0].ended)
		c->source[0].ready = true;
}

bool
channel_sources_ended(const struct channel *c)
{
	return c->source[0].ended && c->source[1].ended;
}

bool
channel_sinks_done(const struct channel *c)
{
	return c->sink[0].queue.len == 0 && c->sink[1].queue.len == 0;
}

/* Gives bytes to the struct channel_io of c; returns how many it took. A
 * channel_wake() that write() itself leads to counts, too: then it is called
 * again. */
static size_t
io_write(struct channel *c, uint32_t ext, const uint8_t *p, size_t len)
{
	size_t taken = 0;
	ssize_t n;

	c->io_writing = true;
	while (taken < len && !c->io_write_blocked && !c->sink[0].broken) {
		c->io_woken = false;
		n = c->io->write(c->io_arg, ext, p + taken, len - taken);
		if (n == ERR_AGAIN || n == 0)
			c->io_write_blocked = !c->io_woken;
		else if (n < 0)
			c->sink[0].broken = true;
		else
			taken += (size_t)n;
		c->clock.used = c->clock.used || n > 0;
	}
	c->io_writing = false;
	return c->sink[0].broken ? len : taken;
}

static size_t
fd_write_now(struct channel *c, int which, struct span data)
{
	struct sink *s = &c->sink[which];
	ssize_t n;

	if (s->fd == -1 || s->broken)
		return data.len; /* thrown away */
	if (s->blocks || s->queue.len > 0)
		return 0;
	n = fd_write(s->fd, data.p, data.len);
	if (n >= 0) {
		c->clock.used = true;
		return (size_t)n;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return 0;
	sink_failed(c, which, errno);
	return data.len;
}

int
channel_deliver(struct channel *c, uint32_t ext, struct span data)
{
	int which = ext == 0 ? 0 : 1;
	struct queue *queue = &c->sink[which].queue;
	size_t taken;

	if (ext > CHANNEL_EXT_STDERR)
		taken = data.len; /* RFC 4254 defines only stderr */
	else if (c->io == NULL || ext != 0)
		taken = fd_write_now(c, which, data);
	else if (queue->len > 0)
		taken = 0;
	else
		taken = io_write(c, ext, data.p, data.len);
	recv_window_consume(&c->window, (uint32_t)taken);
	if (channel_has_datagrams(c) && ext == 0) {
		recv_window_consume(&c->window, (uint32_t)(data.len - taken));
		return 0;
	}
	return queue_put(queue, &c->chs->pool,
	    (struct span){ data.p + taken, data.len - taken });
}

static void
drain_sinks(struct channel *c)
{
	struct queue *queue = &c->sink[0].queue;
	struct span front;
	size_t taken;

	if (c->io == NULL)
		return;
	do {
		front = queue_front(queue);
		taken = io_write(c, 0, front.p, front.len);
		queue_consume(queue, &c->chs->pool, taken);
		recv_window_consume(&c->window, (uint32_t)taken);
	} while (front.len > 0 && taken == front.len);
}

void
channel_wake(struct channel *c)
{
	channel_mark_readable(c);
	c->io_write_blocked = false;
	c->io_woken = true;
	if (!c->io_writing)
		drain_sinks(c);
	loop_again(c->chs->loop);
}

static bool
may_send(const struct channel *c)
{
	return c->state == CHANNEL_OPEN && !channel_sent_eof(c) &&
	    !channel_got_close(c) && room_at_peer(c) > 0;
}

bool
channel_has_output(const struct channel *c)
{
	bool readable = (c->source[0].ready && !c->source[0].ended) ||
	    (c->source[1].ready && !c->source[1].ended);

	return may_send(c) && (readable || buf_len(&c->send) > 0);
}

/* Reads up to max bytes into p: their number, 0 at the end of the source, or
 * ERR_AGAIN. */
static ssize_t
read_source(struct channel *c, struct source *s, uint8_t *p, size_t max)
{
	ssize_t n;

	if (c->io != NULL && s == &c->source[0])
		return c->io->read(c->io_arg, p, max);
	n = fd_read(s->fd, p, max);
	if (n == -1)
		/* EIO is the end of a pty whose other side is closed. */
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN : 0;
	return n;
}

static size_t
put_head(const struct channel *c, int which, uint8_t *p, size_t len)
{
	size_t at = 5;

	p[0] = which == 0 ? SSH_MSG_CHANNEL_DATA :
			    SSH_MSG_CHANNEL_EXTENDED_DATA;
	wire_put_u32(p + 1, c->peer_id);
	if (which != 0) {
		wire_put_u32(p + at, CHANNEL_EXT_STDERR);
		at += 4;
	}
	wire_put_u32(p + at, (uint32_t)len);
	return at + 4;
}

static int
pump_source(struct channel *c, int which, bool *moved)
{
	struct source *s = &c->source[which];
	size_t head = which == 0 ? CHANNEL_DATA_HEAD : CHANNEL_EXT_HEAD;
	size_t most = room_at_peer(c), max;
	bool filters = which == 0 && c->ops->filter != NULL;
	uint8_t *p;
	ssize_t n;

	if (!s->ready || s->ended || !may_send(c) || most == 0)
		return 0;
	if (!channel_has_datagrams(c))
		most = MIN(most, c->interactive ?
			(size_t)CHANNEL_PACKET_DEFAULT :
			packet_bulk_max(c->chs->packet));
	max = most;
	/* The filter may add up to CHANNEL_FILTER_ROOM bytes. */
	if (filters)
		max = most > CHANNEL_FILTER_ROOM ? most - CHANNEL_FILTER_ROOM :
						   (most + 1) / 2;
	if (c->chs->turn_bytes >= CHANNEL_TURN_MAX ||
	    (p = packet_bulk_begin(c->chs->packet, head + most)) == NULL) {
		c->chs->tx_blocked++;
		return 0;
	}
	s->ready = false; /* a channel_wake() that read() leads to sets it */
	n = read_source(c, s, p + head, max);
	if (n > 0 && !s->blocks && ((size_t)n == max || channel_closes(c)))
		s->ready = true;
	if (n <= 0) {
		/* A source with no data now is not waited for if the channel
		 * closes: another process may hold its far end open for
		 * ever. */
		if (n != ERR_AGAIN || channel_closes(c))
			drop_source(c, s);
		return packet_bulk_commit(c->chs->packet, 0);
	}
	c->chs->turn_bytes += (size_t)n;
	c->clock.used = true;
	if (c->io != NULL)
		s->ready = true;
	if (filters)
		n = (ssize_t)c->ops->filter(c->arg, c, p + head, (size_t)n,
		    most);
	*moved = true; /* even if the filter removed all bytes */
	if (n == 0)
		return packet_bulk_commit(c->chs->packet, 0);
	(void)put_head(c, which, p, (size_t)n);
	c->peer_window -= (uint32_t)n;
	channel_count_sent(c, (size_t)n);
	return packet_bulk_commit(c->chs->packet, head + (size_t)n);
}

/* Sends bytes that channel_send_data() had to queue. */
static int
pump_queued(struct channel *c, bool *moved)
{
	size_t len = MIN(buf_len(&c->send),
	    (size_t)MIN(c->peer_window, c->peer_max_packet));
	struct buf b;
	int r;

	if (len == 0 || !may_send(c))
		return 0;
	channel_msg(c, &b, SSH_MSG_CHANNEL_DATA);
	buf_put_string(&b, buf_data(&c->send), len);
	if ((r = channels_send(c->chs, &b)) != 0)
		return r;
	buf_consume(&c->send, len);
	c->peer_window -= (uint32_t)len;
	channel_count_sent(c, len);
	*moved = true;
	return 0;
}

int
channel_pump(struct channel *c, bool *moved)
{
	int r;

	*moved = false;
	if (buf_len(&c->send) > 0)
		return pump_queued(c, moved);
	/* stderr first: it is short, and often gives the reason for the end. */
	if ((r = pump_source(c, 1, moved)) != 0)
		return r;
	return pump_source(c, 0, moved);
}

int
channel_send_data(struct channel *c, uint32_t ext, const void *p, size_t len)
{
	struct buf b;

	if (channel_sent_eof(c) || channel_got_close(c))
		return ERR_CLOSED;
	channel_touch(c);
	if (ext == 0) {
		if (buf_len(&c->send) + len > CHANNEL_SEND_MAX)
			return ERR_LIMIT;
		buf_put(&c->send, p, len);
		return buf_err(&c->send);
	}
	/* Text for stderr is short. It is not queued: without window it is
	 * lost. */
	if (c->state != CHANNEL_OPEN ||
	    len > MIN(c->peer_window, c->peer_max_packet))
		return ERR_AGAIN;
	channel_msg(c, &b, SSH_MSG_CHANNEL_EXTENDED_DATA);
	buf_put_u32(&b, ext);
	buf_put_string(&b, p, len);
	c->peer_window -= (uint32_t)len;
	return channels_send(c->chs, &b);
}

void
channel_update_watches(struct channel *c)
{
	for (int i = 0; i < 2; i++) {
		struct source *in = &c->source[i];
		struct sink *out = &c->sink[i];

		if (in->watch != NULL)
			loop_fd_want(in->watch,
			    !in->ready && may_send(c) ? LOOP_READ : 0);
		if (out->watch != NULL)
			loop_fd_want(out->watch,
			    out->queue.len > 0 ? LOOP_WRITE : 0);
	}
}
