/* SPDX-License-Identifier: ISC */
/* What somebody at a master's socket tells of its connection. What is believed
 * is put in the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "client/mux/mux-anchor.h"
#include "regress/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mux_anchor a;
	struct rd r = rd_from(data, len);
	struct buf b = { 0 };

	if (mux_anchor_read(&r, &a) == 0) {
		if (a.port == 0 || *a.user == '\0' || *a.login == '\0')
			abort();
		mux_anchor_put(&b, &a);
		if (buf_len(&b) != len || memcmp(buf_data(&b), data, len) != 0)
			abort();
	}
	mux_anchor_clear(&a);
	buf_clear(&b);
	return 0;
}
