/* SPDX-License-Identifier: ISC */
#include "regress/unit/channels-side.h"

#include "regress/unit/hex.h"

#include "base/err.h"

struct packet *
side_new(int fd, bool server, struct loop *loop, struct channels **chs)
{
	struct packet *p = packet_new(fd, fd, server);

	assert_non_null(p);
	assert_int_equal(channels_new(chs, p, loop), 0);
	assert_int_equal(packet_authenticated(p), 0);
	return p;
}

void
side_step(struct packet *p, struct channels *chs)
{
	struct rd payload;
	bool more;
	int r = packet_fill(p);

	assert_true(r >= 0 || r == ERR_AGAIN);
	while (packet_next(p, &payload) == 1)
		assert_int_equal(channels_input(chs, payload), 0);
	assert_int_equal(channels_turn(chs, &more), 0);
	r = packet_flush(p);
	assert_true(r == 0 || r == ERR_AGAIN);
}
