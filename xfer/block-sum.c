/* SPDX-License-Identifier: ISC */
#include "xfer/block-sum.h"

#include "base/wire.h"

bool
block_sum_size_valid(uint32_t block)
{
	return block >= BLOCK_SUM_MIN && block <= BLOCK_SUM_MAX &&
	    (block & (block - 1)) == 0;
}

uint32_t
block_sum_factor(const uint8_t seed[BLOCK_SUM_SEED])
{
	return (wire_get_u32(seed + BLOCK_SUM_SEED - 4) & ~UINT32_C(7)) | 5;
}

enum {
	WIDE = 64,		 /* bytes */
	WORTH_POWERS = 4 * WIDE, /* bytes from which powers save time */
};

/* The powers of a factor for WIDE bytes. Each power is kept as two numbers of
 * 16 bits, lo + (hi << 16), of which lo is signed: a processor multiplies and
 * adds eight or more such numbers at once, and sums of WIDE products with bytes
 * fit into 32 bits. */
struct powers {
	int16_t lo[WIDE], hi[WIDE];
	uint32_t wide; /* the factor to the power WIDE */
};

static void
powers_make(struct powers *p, uint32_t factor)
{
	uint32_t power = 1;

	for (int i = WIDE; i-- > 0; power *= factor) {
		p->lo[i] = (int16_t)(uint16_t)power;
		p->hi[i] = (int16_t)(uint16_t)((power -
		    (uint32_t)(int32_t)p->lo[i]) >> 16);
	}
	p->wide = power;
}

static uint32_t
sum_wide(const struct powers *powers, const uint8_t *p)
{
	int16_t bytes[WIDE];
	int32_t lo = 0, hi = 0;

	for (int i = 0; i < WIDE; i++)
		bytes[i] = p[i];
	for (int i = 0; i < WIDE; i++)
		lo += bytes[i] * powers->lo[i];
	for (int i = 0; i < WIDE; i++)
		hi += bytes[i] * powers->hi[i];
	return (uint32_t)lo + ((uint32_t)hi << 16);
}

uint32_t
block_sum_weak(uint32_t factor, uint32_t before, const uint8_t *p, size_t len)
{
	uint32_t sum = before;
	struct powers powers;

	if (len >= WORTH_POWERS) {
		powers_make(&powers, factor);
		for (; len >= WIDE; len -= WIDE, p += WIDE)
			sum = sum * powers.wide + sum_wide(&powers, p);
	}
	for (; len > 0; len--)
		sum = sum * factor + *p++;
	return sum;
}

int
block_sum_strong(struct poly1305 *poly, const uint8_t seed[BLOCK_SUM_SEED],
    const uint8_t *p, size_t len, uint8_t out[BLOCK_SUM_STRONG])
{
	return poly1305_compute(poly, seed, p, len, out);
}
