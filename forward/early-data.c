/* SPDX-License-Identifier: ISC */
#include "forward/early-data.h"

#include "base/fd.h"
#include "base/mem.h"

/* Sends what one read of the socket gives; a second read could block. End of
 * file or an error is seen again by the next reader. */
static void
on_readable(void *arg, int fd, int events)
{
	struct early_data *e = arg;
	uint8_t bytes[CHANNEL_EARLY_MAX];
	ssize_t n;

	(void)events;
	n = fd_read(fd, bytes, MIN(channel_early_room(e->channel),
			sizeof bytes));
	/* If sending fails, the connection ends, and the data is lost in any
	 * case. */
	if (n > 0)
		(void)!channel_send_early(e->channel, bytes, (size_t)n);
	early_data_end(e);
}

void
early_data_begin(struct early_data *e, struct loop *l, int fd,
    struct channel *c)
{
	*e = (struct early_data){ .loop = l, .channel = c };
	if (fd != -1 && channel_early_room(c) > 0)
		e->watch = loop_watch(l, fd, LOOP_READ, on_readable, e);
}

void
early_data_end(struct early_data *e)
{
	loop_unwatch(e->loop, e->watch);
	e->watch = NULL;
}
