/* SPDX-License-Identifier: ISC */
#include "server/session/metrics-reply.h"

#include "base/tcp.h"

static int
on_request(void *arg, struct rd *data, struct buf *reply)
{
	const struct packet *p = arg;
	struct tcp_numbers numbers;
	struct buf blob = { 0 };
	int err = rd_end(data);

	if (err != 0)
		return err;
	if (tcp_measure(packet_fd_in(p), &numbers) != 0)
		return CHANNEL_FAILURE;
	tcp_numbers_put(&blob, &numbers);
	if ((err = buf_err(&blob)) == 0)
		buf_put_string_buf(reply, &blob);
	buf_clear(&blob);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

int
metrics_serve(struct channels *chs, struct packet *p)
{
	return channels_on_global(chs, "stack-metrics@hpnssh.org", on_request,
	    p);
}
