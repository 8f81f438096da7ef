/* SPDX-License-Identifier: ISC */
/* Entries of a directory with extended attributes, in memory and in the file
 * of what does not fit there. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/sync/sync-scan-group.h"
#include "xfer/xattrs.h"

enum { ENTRIES = 300, RUN = 100 };

/* What the entry of that number has: nothing, little, or as much as there can
 * be. */
static size_t
set_len(unsigned n)
{
	return n % 50 == 7 ? XATTRS_BYTES_MAX : n % 3 == 0 ? 0 : n;
}

static void
fill_set(struct buf *set, unsigned n)
{
	buf_reset(set);
	for (size_t i = 0; i < set_len(n); i++)
		buf_put_u8(set, (uint8_t)(n + i));
}

static void
add(struct scan_group *g, unsigned n)
{
	const struct walk_item item = { .kind = WALK_FILE, .size = n };
	struct buf set = { 0 };
	char name[16];
	struct scan_entry *e;

	snprintf(name, sizeof name, "%06u", n);
	e = scan_group_add(g, name, strlen(name), &item);
	assert_non_null(e);
	fill_set(&set, n);
	scan_group_set_xattrs(g, e, n % 10 == 9 ? NULL : &set);
	buf_clear(&set);
}

/* Adds all in an order of runs that lie within each other. */
static void
add_all(struct scan_group *g, bool spills)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		add(g, i % RUN * (ENTRIES / RUN) + i / RUN);
		if (spills && i % RUN == RUN - 1)
			assert_int_equal(scan_group_spill(g), 0);
	}
	assert_int_equal(scan_group_sort(g), 0);
}

static void
check_all(struct scan_group *g)
{
	struct walk_item item;
	struct buf set = { 0 };

	for (unsigned n = 0; n < ENTRIES; n++) {
		assert_int_equal(scan_group_next(g, &item), 1);
		assert_int_equal(item.size, n);
		assert_int_equal(item.xattrs_unread, n % 10 == 9);
		fill_set(&set, n % 10 == 9 ? 0 : n);
		assert_int_equal(item.xattrs.len, buf_len(&set));
		if (item.xattrs.len > 0)
			assert_memory_equal(item.xattrs.p, buf_data(&set),
			    buf_len(&set));
	}
	assert_int_equal(scan_group_next(g, &item), 0);
	buf_clear(&set);
}

static void
test_attributes(void **state)
{
	for (int spills = 0; spills < 2; spills++) {
		struct scan_file file = { .open = false };
		struct scan_group g = { .file = &file };

		add_all(&g, spills);
		assert_int_equal(scan_group_bytes(&g) > 6 * XATTRS_BYTES_MAX,
		    !spills);
		check_all(&g);
		scan_group_clear(&g);
		scan_file_close(&file);
	}
	(void)state;
}

/* Attributes that are too much for memory count as such that cannot be read. */
static void
test_limit(void **state)
{
	const struct walk_item item = { .kind = WALK_FILE };
	struct scan_group g = { .file = NULL };
	struct buf set = { 0 };
	unsigned known = 0;

	fill_set(&set, 7);
	for (unsigned n = 0; n < 1100; n++) {
		struct scan_entry *e = scan_group_add(&g, "x", 1, &item);

		scan_group_set_xattrs(&g, e, &set);
		known += !e->item.xattrs_unread;
	}
	assert_int_equal(known, 1024);
	assert_true(scan_group_bytes(&g) < 130 << 20);
	scan_group_clear(&g);
	buf_clear(&set);
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
