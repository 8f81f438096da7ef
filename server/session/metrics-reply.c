/* SPDX-License-Identifier: ISC */
#include "server/session/metrics-reply.h"

#include "base/tcp.h"

int
metrics_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	struct tcp_numbers numbers;
	struct buf blob = { 0 };
	int err = rd_end(data);

	if (err != 0)
		return err;
	if (tcp_measure(packet_fd_in(o->packet), &numbers) != 0)
		return CHANNEL_FAILURE;
	tcp_numbers_put(&blob, &numbers);
	if ((err = buf_err(&blob)) == 0)
		buf_put_string_buf(reply, &blob);
	buf_clear(&blob);
	return err != 0 ? err : CHANNEL_SUCCESS;
}
