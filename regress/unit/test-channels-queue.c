/* SPDX-License-Identifier: ISC */
/* The queue of a sink: bytes come out as they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "channels-internal.h"

static void
test_queue(void **state)
{
	static uint8_t text[70000];
	struct queue q = { 0 };
	size_t put = 0, got = 0, most = 0;
	struct span front;

	(void)state;
	for (unsigned i = 1; got < 8000000; i++) {
		size_t len = (i * 7919u) % sizeof text;

		/* More comes than goes, then the other way round. */
		if (put < 8000000) {
			for (size_t k = 0; k < len; k++)
				text[k] = (uint8_t)((put + k) % 251);
			assert_int_equal(queue_put(&q,
					     (struct span){ text, len }), 0);
			put += len;
		}
		front = queue_front(&q);
		front.len = MIN(front.len, (i * 104729u) % 40000);
		for (size_t k = 0; k < front.len; k++)
			if (front.p[k] != (got + k) % 251)
				fail_msg("wrong byte %zu", got + k);
		queue_consume(&q, front.len);
		got += front.len;
		most = MAX(most, q.len);
		assert_int_equal(q.len, put - got);
	}
	assert_true(most > 1000000);
	queue_clear(&q);
	assert_int_equal(queue_front(&q).len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
