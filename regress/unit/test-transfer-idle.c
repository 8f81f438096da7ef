/* SPDX-License-Identifier: ISC */
/* Connections that idle: they take no more work, and none is lost by that. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regress/unit/transfer-host.h"

#define MEGABYTE ((uint64_t)1000000)

enum { TREE_FILES = 40, TREE_SIZE = 1200000 };

/* What a stream may still move when it is told to idle. */
struct idler {
	const struct xfer_stream *stream;
	uint64_t may_reach;
	unsigned handles;
};

static struct idler idlers[HOST_STREAMS];
static unsigned idler_count;
static uint64_t moved_by_idlers;
static uint64_t most_left; /* of a file, that goes to nobody else */
static bool told, lose_busy;

static void
see_idler(const struct xfer_stream *l)
{
	unsigned i = 0;

	while (i < idler_count && idlers[i].stream != l)
		i++;
	if (i == idler_count) {
		assert_true(idler_count < HOST_STREAMS);
		idlers[idler_count++] = (struct idler){ l,
			l->acked + l->in_flight + l->handles * most_left,
			l->handles };
		moved_by_idlers += l->acked;
	}
	assert_true(l->acked <= idlers[i].may_reach);
	assert_true(l->handles <= idlers[i].handles);
	idlers[i].handles = l->handles;
}

/* Four take work until some of it is done; then one does. */
static void
watch(struct host *h, struct xfer *x)
{
	struct xfer_growth *g = &x->grow.connections;
	struct xfer_stream *l, *busy = NULL;
	unsigned n = 0;

	x->measured.at_ms = 0; /* each turn is a time to decide */
	g->stopped = g->enough = told;
	g->use = told ? 1 : 4;
	TAILQ_FOREACH(l, &x->streams, entry) {
		n++;
		if (l->idle)
			see_idler(l);
		else
			busy = l;
	}
	if (told && idler_count > 0 && idler_count + 1 == n && lose_busy &&
	    x->measured.acked > 12 * MEGABYTE) {
		lose_busy = false;
		idler_count = 0; /* another one is busy from now on */
		host_lose(h, busy->s);
	}
	told |= x->measured.acked > 8 * MEGABYTE;
}

static void
copy(bool up, const char *from, const char *to)
{
	const struct xfer_opts opts = { .recursive = true, .files_max = 16 };
	struct host h = { .seed = 1, .watch = watch, .no_small = true };

	/* Far enough for others from the start. */
	h.path = (struct xfer_stream_stats){ .rtt_us = 60000,
		.sent_us = 60000, .received_us = 60000 };
	idler_count = 0;
	moved_by_idlers = 0;
	told = false;
	assert_int_equal(host_copy(&h, up, from, to, opts), 0);
	assert_true(told && h.opened == 4);
}

static void
test_file(void **state)
{
	(void)state;
	host_make_file("src", 40 * MEGABYTE, 1);
	for (int up = 0; up < 2; up++) {
		copy(up, "src", "copy");
		assert_true(host_same("src", "copy"));
		assert_int_equal(idler_count, 3);
		assert_true(moved_by_idlers > MEGABYTE);
		assert_int_equal(unlink("copy"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* The one that takes work is lost: those that idle do its work. */
static void
test_busy_is_lost(void **state)
{
	(void)state;
	host_make_file("src", 40 * MEGABYTE, 1);
	for (int up = 0; up < 2; up++) {
		lose_busy = true;
		copy(up, "src", "copy");
		assert_false(lose_busy);
		assert_true(host_same("src", "copy"));
		assert_int_equal(unlink("copy"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* Further files go to those that take work. */
static void
test_files(void **state)
{
	char name[32], copied[32];

	(void)state;
	assert_int_equal(mkdir("tree", 0700), 0);
	for (unsigned i = 0; i < TREE_FILES; i++) {
		(void)snprintf(name, sizeof name, "tree/%u", i);
		host_make_file(name, TREE_SIZE, i);
	}
	most_left = TREE_SIZE;
	copy(true, "tree", "copy");
	most_left = 0;
	assert_true(idler_count > 0);
	for (unsigned i = 0; i < TREE_FILES; i++) {
		(void)snprintf(name, sizeof name, "tree/%u", i);
		(void)snprintf(copied, sizeof copied, "copy/%u", i);
		assert_true(host_same(name, copied));
		assert_int_equal(unlink(name) | unlink(copied), 0);
	}
	assert_int_equal(rmdir("tree") | rmdir("copy"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_busy_is_lost),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
