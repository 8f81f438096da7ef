/* SPDX-License-Identifier: ISC */
/* Any bytes as what a program says to a forwarded port that speaks SOCKS: at
 * once, and in pieces whose size is the first byte. */
#include "regress/fuzz/fuzz.h"

#include <string.h>

#include "base/mem.h"
#include "forward/socks.h"

static enum socks_result
feed(struct socks *s, const uint8_t *p, size_t len, size_t step, size_t *total)
{
	enum socks_result r = SOCKS_NEED_MORE;
	size_t used;

	for (*total = 0; *total < len;) {
		r = socks_feed(s, p + *total, MIN(step, len - *total), &used);
		*total += used;
		ENSURE(*total <= len && s->reply_len <= sizeof s->reply);
		ENSURE(used > 0);
		if (r == SOCKS_DONE || r == SOCKS_BAD)
			break;
	}
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct socks a = { 0 }, b = { 0 };
	enum socks_result r;
	size_t used_a, used_b;

	if (len == 0)
		return 0;
	r = feed(&a, data + 1, len - 1, len, &used_a);
	ENSURE(feed(&b, data + 1, len - 1, (size_t)data[0] + 1, &used_b) == r);
	ENSURE(used_a == used_b && a.port == b.port);
	ENSURE((a.host == NULL) == (b.host == NULL));
	if (r == SOCKS_DONE) {
		ENSURE(strcmp(a.host, b.host) == 0 && a.host[0] != '\0');
		ENSURE(strlen(a.host) <= SOCKS_NAME_MAX);
	}
	socks_clear(&a);
	socks_clear(&b);
	return 0;
}
