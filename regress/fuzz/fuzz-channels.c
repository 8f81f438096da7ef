/* SPDX-License-Identifier: ISC */
/*
 * Messages 80-127 from an authenticated peer: the input is a row of
 * messages, each behind a 16 bit length. One channel is open from the start.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "channels.h"
#include "regress/fuzz/fuzz.h"

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	(void)arg;
	(void)c;
	(void)rd_u32(data);
	return name.len % 2 == 0 ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

static const struct channel_ops ops = { .request = on_request };

/* Answers the requests of the peer to open channels: some at once, others when
 * the next message has come. */
struct opener {
	int null_fd;
	struct channel *pending;
	unsigned count;
};

static int
accept_open(struct opener *o, struct channel *c)
{
	int err = channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);

	channel_set_fds(c, -1, o->null_fd, -1, -1);
	return err;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	struct opener *o = arg;
	int err;

	(void)chs;
	(void)data;
	if (o->count++ % 2 == 1 && o->pending == NULL) {
		channel_defer(c, &ops, NULL);
		o->pending = c;
		return CHANNEL_LATER;
	}
	err = accept_open(o, c);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

/* Accepts, refuses, or leaves the channel that waits for an answer. */
static int
answer_pending(struct opener *o)
{
	struct channel *c = o->pending;

	if (c == NULL)
		return 0;
	o->pending = NULL;
	switch (o->count / 2 % 3) {
	case 0:
		return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, NULL);
	case 1:
		channel_leave(c);
		return 0;
	default:
		return accept_open(o, c);
	}
}

static void
feed(struct channels *chs, struct opener *o, const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);
	bool more;

	while (in.len >= 2) {
		struct span msg = fuzz_piece(&in);

		if (msg.len == 0 ||
		    channels_input(chs, rd_from_span(msg)) != 0 ||
		    channels_turn(chs, &more) != 0 || answer_pending(o) != 0)
			return;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct loop *l;
	struct packet *p = NULL;
	struct channels *chs = NULL;
	struct channel *c;
	struct opener opener = { 0 };
	int fd[2];

	if (len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if ((l = loop_new()) == NULL)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		goto out;
	opener.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	p = packet_new(fd[1], fd[1], true);
	if (p != NULL && channels_new(&chs, p, l) == 0 &&
	    channels_on_open(chs, "session", on_open, &opener) == 0 &&
	    channel_open(&c, chs, "session", NULL, &ops, NULL, 1000, 1000) == 0)
		feed(chs, &opener, data, len);
	channels_free(chs);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	close(opener.null_fd);
out:
	loop_free(l);
	return 0;
}
