/* SPDX-License-Identifier: ISC */
/* Any bytes as a server's answer to stack-metrics@hpnssh.org. */
#include "regress/fuzz/fuzz.h"

#include "base/mem.h"
#include "base/tcp.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd r = rd_from(data, len), again;
	struct tcp_numbers t, back;
	struct buf b = { 0 };

	if (tcp_numbers_get(&r, &t) != 0)
		return 0;
	/* Numbers that were read can be written, and read again. */
	tcp_numbers_put(&b, &t);
	if (buf_err(&b) == 0) {
		again = rd_from_buf(&b);
		ENSURE(tcp_numbers_get(&again, &back) == 0);
		ENSURE(back.kernel == t.kernel);
		ENSURE(back.v[TCP_RTT] == t.v[TCP_RTT]);
	}
	buf_clear(&b);
	return 0;
}
