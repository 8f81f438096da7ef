/* SPDX-License-Identifier: ISC */
#include "xfer/block-sum.h"

#include <string.h>

#include "base/wire.h"
#include "crypto/digest.h"

bool
block_sum_size_valid(uint32_t block)
{
	return block >= BLOCK_SUM_MIN && block <= BLOCK_SUM_MAX &&
	    (block & (block - 1)) == 0;
}

uint32_t
block_sum_factor(const uint8_t seed[BLOCK_SUM_SEED])
{
	return (wire_get_u32(seed) & ~UINT32_C(7)) | 5;
}

/* Eight bytes at a time, because a product has to wait for the one before: of
 * eight products only one does. */
uint32_t
block_sum_weak(uint32_t factor, uint32_t before, const uint8_t *p, size_t len)
{
	const uint32_t f2 = factor * factor, f3 = f2 * factor, f4 = f2 * f2,
	    f5 = f4 * factor, f6 = f4 * f2, f7 = f4 * f3, f8 = f4 * f4;
	uint32_t sum = before;

	for (; len >= 8; len -= 8, p += 8)
		sum = sum * f8 + (p[0] * f7 + p[1] * f6 + p[2] * f5 +
		    p[3] * f4 + p[4] * f3 + p[5] * f2 + p[6] * factor + p[7]);
	for (; len > 0; len--)
		sum = sum * factor + *p++;
	return sum;
}

int
block_sum_strong(const uint8_t seed[BLOCK_SUM_SEED], const uint8_t *p,
    size_t len, uint8_t out[BLOCK_SUM_STRONG])
{
	uint8_t whole[DIGEST_MAX_LEN];
	struct digest *d;
	int r = digest_new(&d, DIGEST_SHA256);

	if (r != 0)
		return r;
	r = digest_update(d, seed, BLOCK_SUM_SEED);
	if (r == 0)
		r = digest_update(d, p, len);
	if (r == 0)
		r = digest_final(d, whole);
	digest_free(d);
	if (r == 0)
		memcpy(out, whole, BLOCK_SUM_STRONG);
	return r;
}
