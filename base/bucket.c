/* SPDX-License-Identifier: ISC */
#include "base/bucket.h"

#include "base/mem.h"

/* DEBT_S: longest time for which a debt is kept when the rate changes, so that
 * a rate that was high a moment ago does not block one that is low now.
 * RATE_MAX: more is no limit in practice, and would not fit the arithmetic. */
enum { US_PER_S = 1000 * 1000, DEBT_S = 1 };
#define RATE_MAX (UINT64_C(1) << 40)

static int64_t
room(const struct bucket *b)
{
	return MAX((int64_t)(b->rate / 1000 * BUCKET_MS),
	    (int64_t)BUCKET_LEAST);
}

void
bucket_set(struct bucket *b, uint64_t rate, uint64_t now_us)
{
	if (b->rate != BUCKET_NO_LIMIT && b->rate != 0)
		(void)bucket_may(b, now_us);
	b->filled_us = now_us;
	if (rate == BUCKET_NO_LIMIT) {
		b->rate = rate;
		b->left = 0;
		return;
	}
	b->rate = MIN(MAX(rate, (uint64_t)1), RATE_MAX);
	b->left = MIN(b->left, room(b));
	b->left = MAX(b->left, -(int64_t)b->rate * DEBT_S);
}

bool
bucket_may(struct bucket *b, uint64_t now_us)
{
	uint64_t passed = now_us - b->filled_us, full_us, more;

	if (b->rate == BUCKET_NO_LIMIT)
		return true;
	full_us = (uint64_t)(room(b) - MIN(b->left, room(b))) * US_PER_S;
	full_us = full_us / b->rate + 1;
	if (passed >= full_us) {
		b->left = room(b);
		b->filled_us = now_us;
	} else {
		/* A fraction of a byte is not added; the time for it stays for
		 * the next call. */
		more = b->rate * passed / US_PER_S;
		b->left += (int64_t)more;
		b->filled_us += more * US_PER_S / b->rate;
	}
	return b->left > 0;
}

void
bucket_take(struct bucket *b, uint64_t bytes)
{
	if (b->rate != BUCKET_NO_LIMIT)
		b->left -= (int64_t)MIN(bytes, RATE_MAX);
}

void
bucket_give(struct bucket *b, uint64_t bytes)
{
	if (b->rate != BUCKET_NO_LIMIT)
		b->left = MIN(b->left + (int64_t)MIN(bytes, RATE_MAX), room(b));
}

uint64_t
bucket_wait_us(const struct bucket *b)
{
	if (b->rate == BUCKET_NO_LIMIT || b->left > 0)
		return 0;
	return (uint64_t)(1 - b->left) * US_PER_S / b->rate + 1;
}
