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
	return name.len % 2 == 0;
}

static const struct channel_ops ops = { .request = on_request };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	int *null_fd = arg;

	(void)chs;
	(void)data;
	channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);
	channel_set_fds(c, -1, *null_fd, -1, -1);
	return 0;
}

static void
feed(struct channels *chs, const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);
	bool more;

	while (in.len >= 2) {
		struct span msg = fuzz_piece(&in);

		if (msg.len == 0 ||
		    channels_input(chs, rd_from_span(msg)) != 0 ||
		    channels_turn(chs, &more) != 0)
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
	int fd[2], null_fd;

	if (len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if ((l = loop_new()) == NULL)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		goto out;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	p = packet_new(fd[1], fd[1], true);
	if (p != NULL && channels_new(&chs, p, l) == 0 &&
	    channels_on_open(chs, "session", on_open, &null_fd) == 0 &&
	    channel_open(&c, chs, "session", NULL, &ops, NULL, 1000, 1000) == 0)
		feed(chs, data, len);
	channels_free(chs);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	close(null_fd);
out:
	loop_free(l);
	return 0;
}
