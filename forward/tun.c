/* SPDX-License-Identifier: ISC */
#include "forward/tun.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "forward/forwarded.h"

enum {
	/* In front of each IP packet the protocol has its address family, in 4
	 * bytes, with the numbers of OpenBSD. */
	FAMILY_BYTES = 4,
	FAMILY_IPV4 = 2,
	FAMILY_IPV6 = 24,
	/* Bytes that are read from an interface at once. */
	PACKET_LEN_MAX = 65536,
	BAD_MAX = 64, /* packets in a row that are dropped in one call */
};

struct tun {
	struct tun_device device;
	struct tun_params p;
	struct channel *channel; /* NULL: not open yet, or closed */
	struct loop_fd *watch;
};

/* ---- packets ------------------------------------------------------------ */

/* The protocol's address family of a packet, from its first byte; 0: it is no
 * IP packet. */
static uint32_t
family_of(uint8_t first)
{
	switch (first >> 4) {
	case 4:
		return FAMILY_IPV4;
	case 6:
		return FAMILY_IPV6;
	default:
		return 0;
	}
}

/* Reads one packet into p, behind the address family. 0: it was dropped,
 * because it is longer than max bytes, or no IP packet. Too long a packet is
 * read into spill. */
static ssize_t
read_packet(const struct tun *t, uint8_t *p, size_t max)
{
	static uint8_t spill[PACKET_LEN_MAX];
	size_t head = t->device.ethernet ? 0 : FAMILY_BYTES;
	struct iovec v[2];
	uint32_t family;
	ssize_t n;

	if (max <= head) /* no room: reads the packet only to drop it */
		head = max = 0;
	v[0] = (struct iovec){ p + head, max - head };
	v[1] = (struct iovec){ spill, sizeof spill };
	n = readv(t->device.fd, v, 2);
	if (n <= 0)
		return n == 0 ? ERR_EOF : ERR_SYSTEM;
	if (max == 0 || (size_t)n > max - head)
		return 0;
	if (t->device.ethernet)
		return n;
	if ((family = family_of(p[head])) == 0)
		return 0;
	wire_put_u32(p, family);
	return n + (ssize_t)head;
}

static ssize_t
on_read(void *arg, uint8_t *p, size_t max)
{
	struct tun *t = arg;
	ssize_t n;

	for (int i = 0; i < BAD_MAX; i++) {
		if ((n = read_packet(t, p, max)) > 0)
			return n;
		if (n == 0 || (n == ERR_SYSTEM && errno == EINTR))
			continue;
		if (n == ERR_EOF || errno != EAGAIN)
			return 0; /* the interface was removed */
		break;
	}
	loop_fd_want(t->watch, LOOP_READ);
	return ERR_AGAIN;
}

/* Writes a packet. If the interface does not take it, because it is down or the
 * packet is wrong, it is dropped. */
static ssize_t
on_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	const struct tun *t = arg;
	size_t head = t->device.ethernet ? 0 : FAMILY_BYTES;

	(void)ext;
	if (len > head && write(t->device.fd, p + head, len - head) == -1)
		log_debug3("%s: a packet is dropped: errno %d",
		    t->device.name, errno);
	return (ssize_t)len;
}

static const struct channel_io io = {
	.read = on_read,
	.write = on_write,
	.datagrams = true,
};

/* Stops watching the interface until on_read() has read it empty: the channel
 * may have no room now, and the loop would call this again and again. */
static void
on_readable(void *arg, int fd, int events)
{
	struct tun *t = arg;

	(void)fd;
	(void)events;
	loop_fd_want(t->watch, 0);
	channel_wake(t->channel);
}

/* ---- the channel -------------------------------------------------------- */

static void
drop_watch(struct tun *t)
{
	loop_unwatch(t->p.loop, t->watch);
	t->watch = NULL;
}

static int
tie(struct tun *t)
{
	t->watch = loop_watch(t->p.loop, t->device.fd, LOOP_READ, on_readable,
	    t);
	if (t->watch == NULL)
		return ERR_NOMEM;
	channel_set_io(t->channel, &io, t);
	return 0;
}

static void
end(struct tun *t)
{
	drop_watch(t);
	fd_close(&t->device.fd);
	t->channel = NULL;
}

static void
on_opened(void *arg, struct channel *c)
{
	struct tun *t = arg;

	if (tie(t) != 0)
		channel_close(c, false);
	else if (t->p.answered != NULL)
		t->p.answered(t->p.arg, true);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct tun *t = arg;

	log_info("channel %u: open failed: %s%s%s", channel_id(c),
	    forwarded_reason(reason), *text != '\0' ? ": " : "", text);
	end(t);
	if (t->p.answered != NULL)
		t->p.answered(t->p.arg, false);
}

/* Closes the channel when either of its directions ends: a tunnel needs
 * both. */
static void
on_over(void *arg, struct channel *c)
{
	(void)arg;
	channel_close(c, false);
}

static void
on_closed(void *arg, struct channel *c)
{
	struct tun *t = arg;

	(void)c;
	end(t);
	if (t->p.ended != NULL)
		t->p.ended(t->p.arg);
}

static const struct channel_ops ops = {
	.opened = on_opened,
	.refused = on_refused,
	.eof = on_over,
	.source_end = on_over,
	.closed = on_closed,
};

/* ---- life --------------------------------------------------------------- */

int
tun_new(struct tun **out, const struct tun_device *device,
    const struct tun_params *params)
{
	struct tun *t = calloc(1, sizeof *t);
	int fd = device->fd;

	if (t == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	t->device = *device;
	t->p = *params;
	*out = t;
	return 0;
}

void
tun_free(struct tun *t)
{
	if (t == NULL)
		return;
	if (t->channel != NULL)
		channel_leave(t->channel);
	end(t);
	free(t);
}

const char *
tun_name(const struct tun *t)
{
	return t->device.name;
}

int
tun_accept(struct tun *t, struct channel *c)
{
	int r = channel_accept(c, &ops, t, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);

	if (r != 0)
		return r;
	t->channel = c;
	return tie(t);
}

int
tun_open(struct tun *t, struct channels *chs, int64_t unit)
{
	struct buf extra = { 0 };
	int r;

	buf_put_u32(&extra,
	    t->device.ethernet ? TUN_ETHERNET : TUN_POINT_TO_POINT);
	buf_put_u32(&extra,
	    unit == TUN_UNIT_ANY ? TUN_WIRE_ANY : (uint32_t)unit);
	r = channel_open(&t->channel, chs, TUN_CHANNEL, &extra, &ops, t,
	    CHANNEL_WINDOW_DEFAULT, CHANNEL_PACKET_DEFAULT);
	buf_clear(&extra);
	return r;
}
