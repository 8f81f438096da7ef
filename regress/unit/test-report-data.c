/* SPDX-License-Identifier: ISC */
/* What a report records is bounded, and thinning changes no sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/report/report-data.h"
#include "regress/unit/help.h"

/* An hour at 1 MB a 100 ms, and a connection from its 10th minute on. */
static void
test_thinning(void **state)
{
	struct report_data *d = report_data_new();
	struct report_link *l = NULL;
	uint64_t moved = 0, bytes = 0;

	(void)state;
	assert_non_null(d);
	for (uint64_t ms = 100; ms <= 3600000; ms += 100) {
		struct report_point *p = report_data_point(d, ms, false);

		moved += 1000000;
		bytes += l != NULL ? 1100000 : 0;
		if (p != NULL) {
			p->moved = moved;
			p->held_ms[WHY_SLOW_CPU] = ms / 2;
		}
		if (p != NULL && l != NULL) {
			l->points[d->n_points - 1].bytes = bytes;
			l->points[d->n_points - 1].rtt_us =
			    ms == 1800000 ? 9000 : 10;
		}
		if (ms == 600000)
			l = report_data_link(d, "host");
		assert_true(d->n_points <= REPORT_POINTS);
	}
	assert_true(d->n_points > REPORT_POINTS / 2);
	assert_int_equal(d->points[0].ms, 0);
	assert_int_equal(l->points[0].bytes, 0);
	for (size_t i = 1; i < d->n_points; i++) {
		const struct report_point *p = &d->points[i];

		assert_true(p->ms > p[-1].ms);
		assert_int_equal(p->moved, p->ms * 10000);
		assert_int_equal(p->held_ms[WHY_SLOW_CPU], p->ms / 2);
		assert_int_equal(l->points[i].bytes, p->ms <= 600000 ? 0 :
		    (p->ms - 600000) * 11000);
	}
	report_data_free(d);
}

/* The longest round trip stays when points are left out. */
static void
test_peaks_stay(void **state)
{
	struct report_data *d = report_data_new();
	struct report_link *l;
	uint32_t most = 0;

	(void)state;
	assert_non_null(d);
	l = report_data_link(d, "host");
	assert_non_null(l);
	for (uint64_t n = 1; n <= 5000; n++)
		if (report_data_point(d, n * 100, false) != NULL)
			l->points[d->n_points - 1].rtt_us =
			    d->n_points == 401 ? 9000 : 10;
	for (size_t i = 1; i < d->n_points; i++)
		most = MAX(most, l->points[i].rtt_us);
	assert_int_equal(most, 9000);
	report_data_free(d);
}

static void
test_times(void **state)
{
	struct report_data *d = report_data_new();

	(void)state;
	assert_non_null(d);
	assert_null(report_data_point(d, 0, true));
	assert_null(report_data_point(d, 99, false));
	assert_non_null(report_data_point(d, 100, false));
	assert_null(report_data_point(d, 150, false));
	assert_non_null(report_data_point(d, 150, true));
	assert_int_equal(d->n_points, 3);
	assert_null(report_data_point(d, 140, true));
	/* It is near the last one, which takes its time. */
	assert_ptr_equal(report_data_point(d, 160, true), &d->points[2]);
	assert_int_equal(d->n_points, 3);
	assert_int_equal(d->points[2].ms, 160);
	report_data_free(d);
}

/* Files in any order: the greatest are kept, in their order. */
static void
test_top(void **state)
{
	struct report_data *d = report_data_new();
	char name[16];

	(void)state;
	assert_non_null(d);
	for (unsigned i = 0; i < 1000; i++) {
		unsigned n = i * 617 % 1000; /* a permutation */

		snprintf(name, sizeof name, "f%u", n);
		report_data_file(d, name, n + 1, 0, 1000 - n);
	}
	report_data_file(d, "there", 5000, 5000, 5000);
	assert_int_equal(d->copied, 1000);
	assert_int_equal(d->there, 1);
	assert_int_equal(d->kept, 5000);
	assert_int_equal(d->largest.n, REPORT_TOP);
	assert_int_equal(d->slowest.n, REPORT_TOP);
	for (unsigned i = 0; i < REPORT_TOP; i++) {
		snprintf(name, sizeof name, "f%u", 999 - i);
		assert_string_equal(d->largest.v[i].name, name);
		snprintf(name, sizeof name, "f%u", i);
		assert_string_equal(d->slowest.v[i].name, name);
	}
	report_data_free(d);
}

static void
test_limits(void **state)
{
	static const uint8_t digest[32] = { 1 };
	struct report_data *d = report_data_new();

	(void)state;
	assert_non_null(d);
	for (unsigned i = 0; i < REPORT_CONNECTIONS; i++)
		assert_non_null(report_data_link(d, "host"));
	assert_null(report_data_link(d, "host"));
	assert_int_equal(d->links_left_out, 1);
	for (unsigned i = 0; i < REPORT_FAILURES + 5; i++)
		report_data_failure(d, "path", "text");
	assert_int_equal(d->n_failures, REPORT_FAILURES + 5);
	for (unsigned i = 0; i < REPORT_DIGESTS + 5; i++)
		report_data_digest(d, "name", digest, sizeof digest);
	assert_int_equal(d->n_digests, REPORT_DIGESTS + 5);
	assert_int_equal(strlen(d->digests[0].hex), 64);
	report_data_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thinning),
		cmocka_unit_test(test_peaks_stay),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
