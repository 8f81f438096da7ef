/* SPDX-License-Identifier: ISC */
/*
 * Test vectors are written in hexadecimal.
 */
#ifndef HPN_REGRESS_UNIT_HEX_H
#define HPN_REGRESS_UNIT_HEX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Decodes into out, at most max bytes; returns how many. */
static inline size_t
hex_decode(const char *hex, uint8_t *out, size_t max)
{
	size_t len = strlen(hex) / 2;

	assert_true(strlen(hex) % 2 == 0 && len <= max);
	for (size_t i = 0; i < len; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
	return len;
}

/* Fails unless the len bytes at p are those. */
static inline void
assert_hex(const void *p, size_t len, const char *hex)
{
	const uint8_t *byte = p;
	char digits[3];

	assert_int_equal(len, strlen(hex) / 2);
	for (size_t i = 0; i < len; i++) {
		snprintf(digits, sizeof digits, "%02x", byte[i]);
		if (strncasecmp(digits, hex + 2 * i, 2) != 0)
			fail_msg("byte %zu is %s, not %.2s", i, digits,
			    hex + 2 * i);
	}
}

#endif
