/* SPDX-License-Identifier: ISC */
/*
 * A list of records that is read from both ends: beside an array that is the
 * model of it, in memory and across the border to its file, and with files that
 * cannot be made, written or read.
 */
#include "regress/unit/dice.h"
#include "regress/unit/help.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sync/sync-spool.h"

enum { RECORDS = 4000, BIG = 12000 };

static struct sync_spool spool;
static uint8_t bytes[SYNC_SPOOL_RECORD_MAX + 1];

static int
set_up(void **state)
{
	(void)state;
	setenv("TMPDIR", temp_dir, 1);
	sync_spool_init(&spool);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	sync_spool_clear(&spool);
	return 0;
}

/* Record n has a length and bytes that follow from n. */
static size_t
make(uint32_t n, bool big)
{
	struct dice d = { .state = n };
	size_t len = dice_below(&d, big ? BIG : 40);

	fill_bytes(bytes, len, n);
	return len;
}

static void
put(uint32_t n, bool big)
{
	size_t len = make(n, big);

	assert_int_equal(sync_spool_put(&spool, bytes, len), 0);
}

static void
is_record(const uint8_t *p, size_t len, uint32_t n, bool big)
{
	size_t want = make(n, big);

	assert_int_equal(len, want);
	assert_memory_equal(p, bytes, want);
}

/* Written to its end, then taken from both ends as dice have it. */
static void
story(uint32_t seed, uint32_t records, bool big)
{
	struct dice d = { .state = seed };
	uint32_t first = 0, last = records;
	const uint8_t *p;
	size_t len;

	for (uint32_t n = 0; n < records; n++)
		put(n, big);
	assert_int_equal(spool.count, records);
	/* What is taken from the front stays where it is, so the last can be
	 * taken as long as there are others. */
	while (first < last) {
		if (dice_below(&d, 2) == 0) {
			assert_int_equal(sync_spool_take_first(&spool, &p,
			    &len), 1);
			is_record(p, len, first++, big);
		} else {
			assert_int_equal(sync_spool_take_last(&spool, &p,
			    &len), 1);
			is_record(p, len, --last, big);
		}
		assert_int_equal(spool.count, last - first);
	}
	assert_int_equal(sync_spool_take_first(&spool, &p, &len), 0);
	assert_int_equal(sync_spool_take_last(&spool, &p, &len), 0);
}

static void
test_in_memory(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 50; seed++) {
		story(seed, seed * 3, false);
		assert_int_equal(spool.fd, -1);
		sync_spool_clear(&spool);
		sync_spool_init(&spool);
	}
}

static void
test_in_a_file(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 3; seed++) {
		story(seed, RECORDS / 3, true);
		assert_true(spool.fd >= 0);
		sync_spool_clear(&spool);
		sync_spool_init(&spool);
	}
}

/* Taken from the end and written again, across the border to the file: what
 * was taken is written over. */
static void
test_written_again(void **state)
{
	struct dice d = { .state = 7 };
	uint32_t model[RECORDS], count = 0, next = 0;
	const uint8_t *p;
	size_t len;

	(void)state;
	for (int turn = 0; turn < 3 * RECORDS; turn++) {
		if (count < RECORDS && dice_below(&d, 3) != 0) {
			put(next, true);
			model[count++] = next++;
		} else if (count > 0) {
			assert_int_equal(sync_spool_take_last(&spool, &p,
			    &len), 1);
			is_record(p, len, model[--count], true);
		}
	}
	assert_true(spool.fd >= 0);
	while (count > 0) {
		assert_int_equal(sync_spool_take_last(&spool, &p, &len), 1);
		is_record(p, len, model[--count], true);
	}
	assert_int_equal(sync_spool_take_last(&spool, &p, &len), 0);
}

/* A record is found by the place that it was put to, in memory or not. */
static void
test_by_place(void **state)
{
	enum { N = 900 };
	uint64_t places[N];
	const uint8_t *p;
	size_t len;

	(void)state;
	for (uint32_t n = 0; n < N; n++) {
		places[n] = sync_spool_end(&spool);
		put(n, true);
	}
	assert_true(spool.fd >= 0 && buf_len(&spool.tail) > 0);
	for (uint32_t n = 0; n < N; n++) {
		uint32_t which = n * 7 % N;

		assert_int_equal(sync_spool_read(&spool, places[which], &p,
		    &len), 0);
		is_record(p, len, which, true);
	}
	assert_int_equal(spool.count, N);
}

static void
test_lengths(void **state)
{
	const uint8_t *p;
	size_t len;

	(void)state;
	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(sync_spool_put(&spool, bytes,
	    SYNC_SPOOL_RECORD_MAX + 1), ERR_LIMIT);
	assert_int_equal(sync_spool_put(&spool, bytes, 0), 0);
	assert_int_equal(sync_spool_put(&spool, bytes,
	    SYNC_SPOOL_RECORD_MAX), 0);
	assert_int_equal(spool.count, 2);
	assert_int_equal(sync_spool_take_last(&spool, &p, &len), 1);
	assert_int_equal(len, SYNC_SPOOL_RECORD_MAX);
	assert_int_equal(sync_spool_take_last(&spool, &p, &len), 1);
	assert_int_equal(len, 0);
}

/* Puts until there is no more memory for it; what that gives. */
static int
put_until_it_fails(void)
{
	int r = 0;

	memset(bytes, 'x', sizeof bytes);
	for (int i = 0; i < 2 * SYNC_SPOOL_MEMORY / BIG && r == 0; i++)
		r = sync_spool_put(&spool, bytes, BIG);
	return r;
}

static void
test_no_place(void **state)
{
	char *none;

	(void)state;
	none = temp_file("file", "");
	setenv("TMPDIR", none, 1); /* no directory */
	assert_int_equal(put_until_it_fails(), ERR_SYSTEM);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(spool.fd, -1);
	unlink(none);
	free(none);
	/* What is no absolute path does not count. */
	sync_spool_clear(&spool);
	sync_spool_init(&spool);
	setenv("TMPDIR", "file", 1);
	assert_int_equal(put_until_it_fails(), 0);
	assert_true(spool.fd >= 0);
}

/* Nothing is read of a file that has become shorter, and a length that cannot
 * be is not believed. */
static void
test_file_was_changed(void **state)
{
	static const uint8_t much[4] = { 0x7f, 0xff, 0xff, 0xff };
	const uint8_t *p;
	size_t len;

	(void)state;
	for (uint32_t n = 0; n < RECORDS / 4; n++)
		put(n, true);
	assert_true(spool.fd >= 0);
	assert_int_equal(fcntl(spool.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(pwrite(spool.fd, much, sizeof much, 0),
	    sizeof much);
	assert_int_equal(sync_spool_take_first(&spool, &p, &len), ERR_SYSTEM);
	assert_int_equal(ftruncate(spool.fd, 2), 0);
	assert_int_equal(sync_spool_take_first(&spool, &p, &len), ERR_SYSTEM);
	buf_reset(&spool.tail);
	assert_int_equal(sync_spool_take_last(&spool, &p, &len), ERR_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_memory, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_in_a_file, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_written_again, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_by_place, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_lengths, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_no_place, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_file_was_changed, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, temp_make_memory, temp_remove);
}
