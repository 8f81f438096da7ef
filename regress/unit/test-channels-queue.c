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
	struct queue_pool pool = { NULL };
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
			assert_int_equal(queue_put(&q, &pool,
					     (struct span){ text, len }), 0);
			put += len;
		}
		front = queue_front(&q);
		front.len = MIN(front.len, (i * 104729u) % 40000);
		for (size_t k = 0; k < front.len; k++)
			if (front.p[k] != (got + k) % 251)
				fail_msg("wrong byte %zu", got + k);
		queue_consume(&q, &pool, front.len);
		got += front.len;
		most = MAX(most, q.len);
		assert_int_equal(q.len, put - got);
	}
	assert_true(most > 1000000);
	queue_clear(&q, &pool);
	assert_int_equal(queue_front(&q).len, 0);
	queue_pool_clear(&pool);
}

/* However much was in it, an empty queue keeps nothing; one piece waits for
 * whoever needs it. */
static void
test_empty_keeps_nothing(void **state)
{
	static uint8_t text[200000];
	struct queue_pool pool = { NULL };
	struct queue q[2] = { { 0 }, { 0 } };
	struct queue_piece *spare;
	struct span front;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(queue_put(&q[i], &pool,
				     (struct span){ text, sizeof text }), 0);
		while ((front = queue_front(&q[i])).len > 0)
			queue_consume(&q[i], &pool, front.len);
		assert_null(q[i].first);
		assert_null(q[i].last);
		assert_non_null(pool.spare);
	}
	spare = pool.spare;
	assert_int_equal(queue_put(&q[1], &pool, (struct span){ text, 1 }), 0);
	assert_ptr_equal(q[1].first, spare);
	assert_null(pool.spare);
	queue_clear(&q[1], &pool);
	assert_ptr_equal(pool.spare, spare);
	queue_pool_clear(&pool);
	assert_null(pool.spare);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_empty_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
