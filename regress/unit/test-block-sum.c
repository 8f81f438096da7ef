/* SPDX-License-Identifier: ISC */
/* Weak and strong sums of blocks, beside the formulas of docs/SFTP.md. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "xfer/block-sum.h"

static void
fill(uint8_t *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

/* The sum as the page says it, byte by byte. */
static uint32_t
weak_by_page(uint32_t factor, const uint8_t *p, size_t len)
{
	uint32_t sum = 0, power = 1;

	for (size_t i = len; i-- > 0; power *= factor)
		sum += p[i] * power;
	return sum;
}

static void
test_weak(void **state)
{
	const uint8_t seed[BLOCK_SUM_SEED] = { [28] = 0xfe, 0xdc, 0xba, 0x98 };
	uint32_t factor = block_sum_factor(seed);
	uint8_t p[900];

	(void)state;
	assert_int_equal(factor, 0xfedcba9d);
	assert_int_equal(block_sum_weak(factor, 0, p, 0), 0);
	fill(p, sizeof p, 7);
	for (size_t len = 0; len < sizeof p; len++) {
		uint32_t sum = block_sum_weak(factor, 0, p, len);

		assert_int_equal(sum, weak_by_page(factor, p, len));
		/* in two pieces */
		sum = block_sum_weak(factor, 0, p, len / 3);
		sum = block_sum_weak(factor, sum, p + len / 3, len - len / 3);
		assert_int_equal(sum, weak_by_page(factor, p, len));
	}
}

/* The example of RFC 8439 section 2.5.2. */
static void
test_strong(void **state)
{
	static const char text[] = "Cryptographic Forum Research Group";
	uint8_t seed[BLOCK_SUM_SEED] = { 0x85, 0xd6, 0xbe, 0x78, 0x57, 0x55,
		0x6d, 0x33, 0x7f, 0x44, 0x52, 0xfe, 0x42, 0xd5, 0x06, 0xa8,
		0x01, 0x03, 0x80, 0x8a, 0xfb, 0x0d, 0xb2, 0xfd, 0x4a, 0xbf,
		0xf6, 0xaf, 0x41, 0x49, 0xf5, 0x1b };
	uint8_t sum[BLOCK_SUM_STRONG];
	struct poly1305 *poly;

	(void)state;
	assert_int_equal(poly1305_new(&poly), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(block_sum_strong(poly, seed,
		    (const uint8_t *)text, sizeof text - 1, sum), 0);
		assert_hex(sum, sizeof sum,
		    "a8061dc1305136c6c22b8baf0c0127a9");
	}
	poly1305_free(poly);
	poly1305_free(NULL);
}

static void
test_sizes(void **state)
{
	(void)state;
	assert_false(block_sum_size_valid(0));
	assert_false(block_sum_size_valid(1024));
	assert_true(block_sum_size_valid(2048));
	assert_false(block_sum_size_valid(2049));
	assert_false(block_sum_size_valid(6144));
	assert_true(block_sum_size_valid(1 << 20));
	assert_false(block_sum_size_valid(1 << 21));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weak),
		cmocka_unit_test(test_strong),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
